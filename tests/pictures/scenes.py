"""Reports to fold, and a scene in short."""

from __future__ import annotations

from tapetrace.model.graph import Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report
from tapetrace.model.words import Cause
from tapetrace.render.scene import Scene
from tests.unit.drawings import BREAK, LIVE, Drawing, report_of


def line(number: int, function: str = "train_step") -> Location:
    return Location.new("train.py", number, function, f"line {number}")


def boxes(scene: Scene) -> list[tuple[str, str, int, int]]:
    """(code or heading, status, ops, sources) of each box."""
    return [(n.code or n.heading, n.status.value, n.ops, n.sources) for n in scene.nodes]


def arrows(scene: Scene) -> set[tuple[str, str, str]]:
    name = {n.key: n.code or n.heading for n in scene.nodes}
    return {(name[e.tail], name[e.head], e.status.value) for e in scene.edges}


def chain(*ops: tuple[str, Status, int], source: Status = LIVE) -> Report:
    """A source v, then ops one after the other, each (name, status, line); the last one is the target."""
    d = Drawing()
    before = d.source("v", source)
    for i, (name, status, at) in enumerate(ops):
        role = Role.TARGET if i == len(ops) - 1 else Role.OP
        cause, number = (Cause.STOP_GRADIENT, 1) if status is BREAK else (None, 0)
        before = d.op(name, "Op", [before], status, line(at), role=role, cause=cause, number=number)
    return report_of(d)

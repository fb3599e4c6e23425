"""What opens inside each box of a picture, one level at a time: layers, then lines, then ops."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, isqrt

from tapetrace.model.graph import Status
from tapetrace.model.report import Report
from tapetrace.render import captions
from tapetrace.render.boxes import BoxWriter
from tapetrace.render.layers import common_scope
from tapetrace.render.panels import Panel
from tapetrace.render.scene import Kind, Scene, SceneGroup, SceneNode
from tapetrace.render.stretches import absorb_sources, fold_scopes, fold_to_budget
from tapetrace.render.units import Partition, split_into_units

LEVEL = 40
"""Boxes that one level holds; what has more is folded again."""
_DEEPEST = 12
"""Levels below which scopes are no longer followed: a report may nest them without end."""
_FEWEST = 4
"""A fold of a large level to fewer boxes than these says too little."""


@dataclass(frozen=True, slots=True)
class LevelBox:
    """One box of some level. ``parent`` is the position of the box that it opens from, -1 for none. A frame is open in the first picture.

    ``members`` are positions in the panel; a box with one or none does not open, and a frame has none of its own.
    """

    node: SceneNode
    parent: int
    members: tuple[int, ...] = ()
    is_frame: bool = False


@dataclass(frozen=True, slots=True)
class Levels:
    """All boxes of a picture and of what opens inside them, each after the one that it opens from. Every op is a member of exactly one box that
    does not open."""

    panel: Panel
    boxes: tuple[LevelBox, ...]


def levels_of(report: Report, scene: Scene, *, source: bool = True) -> Levels:
    """The levels of the scene of a report with a single gradient call (or none)."""
    call = next((c for n in report.drawing.nodes for c in n.calls), -1)
    panel = Panel.new(report.drawing, call, report.root_causes)
    position = {n.name: i for i, n in enumerate(panel.nodes)}
    boxes = [LevelBox(node, parent, is_frame=True) for node, parent in _frames(scene)]
    frames = {b.node.key: i for i, b in enumerate(boxes)}
    boxes += [
        LevelBox(n, frames.get(n.group or "", -1), tuple(sorted(position[name] for name in n.members if name in position))) for n in scene.nodes
    ]
    after: list[list[tuple[int, Status]]] = [[] for _ in panel.nodes]
    for a, b, status in panel.edges:
        after[a].append((b, status))
    writer = BoxWriter(report, panel, 0, "line", source)
    waiting = deque((i, 0) for i, b in enumerate(boxes) if len(b.members) > 1)
    while waiting:
        at, deep = waiting.popleft()
        for box in _open(writer, after, boxes[at], at, deep):
            if len(box.members) > 1:
                waiting.append((len(boxes), deep + 1))
            boxes.append(box)
    return Levels(panel, tuple(boxes))


def _open(writer: BoxWriter, after: Sequence[Sequence[tuple[int, Status]]], box: LevelBox, at: int, deep: int) -> Iterator[LevelBox]:
    """The boxes of the level inside one box."""
    panel = writer.panel
    place = {m: i for i, m in enumerate(box.members)}
    edges = tuple((place[a], place[b], status) for a in box.members for b, status in after[a] if b in place)
    nodes = tuple(panel.nodes[m] for m in box.members)
    # Inside one break, what it is made of is asked: its cause and number stand on the box that opens.
    one_break = box.node.status is Status.BREAK and len({(n.status, n.number) for n in nodes}) == 1
    if one_break:
        nodes = tuple(replace(n, status=Status.DEAD, cause=None, number=0) for n in nodes)
    part = replace(panel, nodes=nodes, edges=edges, layers=tuple(panel.layers[m] for m in box.members))
    partition, detail = _inner(part, deep)
    # What stands on one line need not repeat it: the box that opens shows it.
    on_one_line = len({n.location.key for n in part.nodes if n.location}) <= 1
    inner = writer.within(part, "layers" if detail == "line" and on_one_line else detail)
    inside = common_scope([layer for layer in part.layers if layer])
    for k, unit in enumerate(partition.units):
        node = inner.node(k, unit, None, inside)
        if not unit.is_break and (on_one_line or node.kind is Kind.OP):
            node = replace(node, code="", place="")
        if one_break:
            node = replace(node, status=Status.BREAK, causes=box.node.causes)
        yield LevelBox(replace(node, key=f"{box.node.key}.{k}"), at, tuple(box.members[m] for m in unit.members))


def _inner(part: Panel, deep: int) -> tuple[Partition, str]:
    """The coarsest split that shows more than the closed box does, and the detail that its boxes are written at."""
    for detail, partition in _splits(part, deep):
        ops = sum(not u.is_source for u in partition.units)
        if detail == "ops" or ops > 1 or (not ops and len(partition.units) > 1):
            return _within_level(part, partition, detail), detail
    raise AssertionError("the split into ops comes last and is always taken")


def _splits(part: Panel, deep: int) -> Iterator[tuple[str, Partition]]:
    scopes = [layer for layer in part.layers if layer]
    if deep < _DEEPEST and len(set(part.layers)) > 1:
        layered = split_into_units(part, "layers")
        outer = common_scope(scopes).count("/") + 1 if common_scope(scopes) else 0
        for depth in range(outer + 1, min(outer + _DEEPEST, max(s.count("/") + 1 for s in scopes)) + 1):
            yield "line", fold_scopes(layered, depth, set())
    yield "line", split_into_units(part, "line")
    yield "ops", split_into_units(part, "ops")


def _within_level(part: Panel, partition: Partition, detail: str) -> Partition:
    if len(partition.units) <= LEVEL:
        return partition
    folded = fold_to_budget(part, partition, LEVEL, detail)
    return folded if sum(not u.is_source for u in folded.units) >= _FEWEST else _in_stretches(partition)


def _in_stretches(partition: Partition) -> Partition:
    """Units that follow each other put together: as many stretches as there are units in each, or fewer if that is too much."""
    plain = [i for i, u in enumerate(partition.units) if not u.is_source] or list(range(len(partition.units)))
    most = min(isqrt(len(plain)), LEVEL // 2)
    while True:
        folded = absorb_sources(partition.merged(_stretch_keys(partition, plain, ceil(len(plain) / most))))
        sources: list[Hashable] = [("sources", u.status) if u.is_source and not u.is_break else i for i, u in enumerate(folded.units)]
        if len(folded.units) > LEVEL and len(set(sources)) > 1:
            folded = folded.merged(sources)
        if len(folded.units) <= LEVEL or most <= 2:
            return folded
        most //= 2


def _stretch_keys(partition: Partition, plain: Sequence[int], size: int) -> list[Hashable]:
    units = partition.units
    keys: list[Hashable] = [("unit", i) for i in range(len(units))]
    breaks_apart = sum(u.is_break for u in units) <= LEVEL // 4
    for n, i in enumerate(plain):
        if not (units[i].is_break and breaks_apart):
            keys[i] = ("stretch", n // size, units[i].status)
    return keys


def _frames(scene: Scene) -> Iterator[tuple[SceneNode, int]]:
    """The groups of the scene as boxes, for when they are closed, with the position of the one around each."""
    parents = {g.key: g.parent for g in scene.groups}
    inside: dict[str, list[SceneNode]] = {g.key: [] for g in scene.groups}
    for n in scene.nodes:
        around = n.group
        while around is not None:
            inside[around].append(n)
            around = parents[around]
    position = {g.key: i for i, g in enumerate(scene.groups)}
    for g in scene.groups:
        yield _closed(g, inside[g.key]), position.get(g.parent or "", -1)


def _closed(group: SceneGroup, inside: Sequence[SceneNode]) -> SceneNode:
    """A closed frame has the gravest status of what is in it, and the numbers of all breaks."""
    gravest = (Status.BREAK, Status.CONDITIONAL, Status.OPAQUE, Status.DEAD, Status.LIVE)
    statuses = [n.status for n in inside]
    status = next((s for s in gravest if s in statuses), Status.LIVE)
    ops, sources = sum(n.ops for n in inside), sum(n.sources for n in inside)
    words = [f"{len(inside):,} boxes"] + ([captions.count(sources, "source")] if sources else []) + [captions.count(ops, "op")]
    numbers = tuple(sorted({n for box in inside for n in box.numbers}))
    causes = tuple(dict.fromkeys(c for box in inside for c in box.causes))
    names = captions.lines_of([group.title, *(captions.clip(n.heading or n.code, 80) for n in inside[:8])])
    return SceneNode(
        group.key, Kind.LAYER, status, group.title, "", "", " · ".join(words), names, numbers, causes, any(n.is_target for n in inside),
        ops, sources, group.parent, tuple(m for n in inside for m in n.members),
    )  # fmt: skip

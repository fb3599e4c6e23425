"""Breaks grouped by their place in the code, ranked by what mending that place alone would bring to life."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.flat import Tensor
from tapetrace.analysis.liveness import reach_back
from tapetrace.analysis.sources import Answer
from tapetrace.analysis.ways import Passage, Way
from tapetrace.model.report import Break, RootCause
from tapetrace.model.words import Cause, Verdict

Place = tuple[str, str, int]
"""(cause, file, line); without a location, (cause, op or detail, 0)"""

_RECORDING = frozenset({Cause.OUTSIDE_TAPE, Cause.RECORDING_STOPPED})
_IN_THE_SOURCE = frozenset({Cause.NOT_WATCHED, Cause.NON_FLOAT_SOURCE})


def place_of(b: Break) -> Place:
    """What makes two breaks the same root cause."""
    if b.cause in (Cause.NEVER_READ, Cause.NON_FLOAT_SOURCE) and b.location is None:
        return (b.cause.value, b.detail, 0)
    if b.location is None:
        return (b.cause.value, b.op, 0)
    return (b.cause.value, *b.location.key)


@dataclass(slots=True)
class _Group:
    first: Break
    ops: dict[str, str] = field(default_factory=dict)
    blocks: list[Answer] = field(default_factory=list)
    leads: list[Answer] = field(default_factory=list)


def group_breaks(answers: Iterable[Answer]) -> dict[Place, _Group]:
    """The places of all breaks of broken sources, in the order in which they are met."""
    groups: dict[Place, _Group] = {}
    for answer in answers:
        if not answer.verdict.is_broken and answer.verdict is not Verdict.OPAQUE:
            continue
        seen: set[Place] = set()
        for b in answer.breaks:
            place = place_of(b)
            group = groups.setdefault(place, _Group(b))
            if b.op:
                group.ops[b.op] = b.type
            if place not in seen:
                seen.add(place)
                group.blocks.append(answer)
    return groups


def _reopened(connection: Connection, group: _Group) -> set[Tensor]:
    """The tensors that become live when this place alone lets gradient through."""
    names = set(group.ops)
    cause = group.first.cause
    nodes = connection.flat.nodes

    def accept(n: int, i: int, j: int, way: Way) -> bool:
        if way.passage is Passage.OPEN:
            return True
        if cause is Cause.VARIABLE_WRITE and way.passage is Passage.CARRIED and way.cause is Cause.VARIABLE_WRITE:
            return True
        if cause in _RECORDING:
            return way.cause is cause
        if cause is Cause.NON_FLOAT and way.passage is Passage.CARRIED:
            return True
        return nodes[n].name in names and way.cause is cause

    live = connection.live.possible
    if cause is Cause.NON_FLOAT:
        return reach_back(connection.flat, connection.targets, accept)
    found = set(live)
    frontier = [
        t
        for n, node in enumerate(nodes)
        for i, t in enumerate(node.inputs)
        for j in range(connection.flat.output_count(n))
        if t not in found and ((n, j) in live or (n, j) in connection.targets) and accept(n, i, j, node.way(i, j))
    ]
    return reach_back(connection.flat, frontier, accept, found)


def _reconnects(connection: Connection, group: _Group, answers: list[Answer]) -> tuple[str, ...]:
    cause = group.first.cause
    if cause in _IN_THE_SOURCE:
        alive = [a for a in group.blocks if len(a.breaks) == 1]
    elif cause is Cause.TAPE_REUSED:
        alive = [a for a in group.blocks if a.tensor in connection.live.possible]
    elif cause is Cause.NO_GRADIENT_REGISTERED:
        alive = [a for a in group.blocks if len({place_of(b) for b in a.breaks}) == 1]
    elif not group.ops or cause in (Cause.NEVER_READ, Cause.UNUSED_RESULT):
        alive = []
    else:
        reached = _reopened(connection, group)
        alive = [a for a in answers if a.tensor in reached and a.verdict.is_broken and not _barred(a)]
    return tuple(dict.fromkeys(a.source.path or a.source.name for a in alive))


def _barred(answer: Answer) -> bool:
    return any(b.cause in _IN_THE_SOURCE for b in answer.breaks)


def _dominates(connection: Connection, group: _Group) -> bool:
    """Whether every data path of every blocked source crosses an op of this place."""
    names = set(group.ops)
    nodes = connection.flat.nodes
    if not names:
        return False

    def around(n: int, i: int, j: int, way: Way) -> bool:
        return way.passage is not Passage.NO_DATA and nodes[n].name not in names

    spared = reach_back(connection.flat, connection.targets, around)
    return all(a.tensor is not None and a.tensor not in spared for a in group.blocks)


def find_root_causes(connection: Connection, answers: list[Answer], call: int) -> list[tuple[Place, RootCause]]:
    """The root causes of one call, those that reconnect most sources first; not numbered yet."""
    found = []
    for place, group in group_breaks(answers).items():
        blocks = tuple(dict.fromkeys(a.source.path or a.source.name for a in group.blocks))
        first = group.first
        found.append((place, RootCause(
            0, first.cause, first.location, tuple(sorted(group.ops.items())), blocks, _reconnects(connection, group, answers),
            first.remedy, first.detail, _dominates(connection, group), call,
        )))  # fmt: skip
    return sorted(found, key=lambda pair: (-len(pair[1].reconnects), -len(pair[1].blocks)))

"""Breaks grouped by their place in the code, ranked by what mending that place alone would bring to life."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.flat import Node, Tensor
from tapetrace.analysis.op_remedies import remedy_for_rounding
from tapetrace.analysis.sources import Answer
from tapetrace.analysis.ways import PREVENTS, Passage, Way
from tapetrace.model.locations import Location
from tapetrace.model.report import Break, RootCause
from tapetrace.model.words import Cause, Verdict

Place = tuple[str, str, int]
"""(cause, file, line); without a location, (cause, op or detail, 0)"""

_RECORDING = frozenset({Cause.OUTSIDE_TAPE, Cause.RECORDING_STOPPED})
_NO_PATH = frozenset({Cause.NEVER_READ, Cause.UNUSED_RESULT})
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


class _Reopening:
    """What mending one place alone would do."""

    def __init__(self, connection: Connection, answers: list[Answer], locate: Callable[[Node], Location | None]) -> None:
        self.connection = connection
        self.answers = answers
        self.locate = locate
        self.flat = connection.flat

    def reconnects(self, group: _Group) -> tuple[str, ...]:
        """The broken sources that gradient would come to."""
        cause, alive_now = group.first.cause, self.connection.live.possible
        if cause in _IN_THE_SOURCE:
            alive = [a for a in group.blocks if len(a.breaks) == 1]
        elif cause is Cause.TAPE_REUSED:
            alive = [a for a in group.blocks if a.tensor in alive_now]
        elif cause is Cause.NOT_PROBED and not self.connection.lacks_a_gradient:
            alive = [a for a in group.blocks if a.verdict is Verdict.ERROR]
        elif not group.ops or cause in _NO_PATH:
            alive = []
        else:
            reached = self._reached(group)
            alive = [a for a in self.answers if a.tensor in reached and a.verdict.is_broken and not _is_barred(a)]
            if cause is not Cause.NO_GRADIENT_REGISTERED and not self._prevents(group):
                alive = [] if self._begins_to_raise(reached) else [a for a in alive if a.tensor not in alive_now]
            elif self._still_raises(group, reached):
                alive = []
        return tuple(dict.fromkeys(_name(a) for a in alive))

    def _prevents(self, group: _Group) -> bool:
        """Whether the call raises here since an op forbids the gradient."""
        return any(node.type == PREVENTS and node.name in group.ops for node in self.flat.nodes)

    def _begins_to_raise(self, reached: set[Tensor]) -> bool:
        """Whether gradient would now come to an op without one, which lies before this place: then a call that hands back what it can would raise."""
        return not self.connection.raises and bool(self.connection.raising_among(reached))

    def _still_raises(self, group: _Group, reached: set[Tensor]) -> bool:
        """Whether the call would meet another op without a gradient."""
        return any(not self._belongs(self.flat.nodes[n], group) for n in self.connection.raising_among(reached | self.connection.zeros))

    def _belongs(self, node: Node, group: _Group) -> bool:
        """Whether an op without a gradient stands at this place: what mends the line mends it too, also when no path shown goes through it."""
        here, there = group.first.location, None if node.name in group.ops else self.locate(node)
        return node.name in group.ops or (here is not None and there is not None and here.key == there.key)

    def _reached(self, group: _Group) -> set[Tensor]:
        """The tensors that are live when this place alone lets gradient through."""
        cause = group.first.cause
        opened = {n for n, node in enumerate(self.flat.nodes) if node.name in group.ops}
        if cause in _RECORDING:
            opened = self._stretch(opened)
        carried = cause if cause in (Cause.NON_FLOAT, Cause.VARIABLE_WRITE) else None

        def accept(n: int, way: Way) -> bool:
            if way.passage is Passage.OPEN:
                return True
            if way.passage is Passage.CARRIED:
                return way.cause is carried
            return way.cause is cause and n in opened

        # An integer target would be a float one if what made it an integer were mended.
        return self._reach(self.connection.targets if cause is Cause.NON_FLOAT else self.connection.float_targets, accept)

    def _reach(self, targets: list[Tensor], accept: Callable[[int, Way], bool]) -> set[Tensor]:
        seen = set(targets)
        stack = list(seen)
        while stack:
            n, j = stack.pop()
            node = self.flat.nodes[n]
            for i, t in enumerate(node.inputs):
                if t not in seen and accept(n, node.way(i, j)):
                    seen.add(t)
                    stack.append(t)
        return seen

    def _stretch(self, begins: set[int]) -> set[int]:
        """The unrecorded nodes from these on, with the variables that they read: a line is moved into the tape together with what follows it."""
        nodes = self.flat.nodes
        found: set[int] = set()
        stack = list(begins)
        while stack:
            n = stack.pop()
            if n in found:
                continue
            found.add(n)
            node = nodes[n]
            readers = (m for j in range(node.output_count) for m, _ in self.flat.consumers.get((n, j), ()))
            stack.extend(m for m in readers if nodes[m].recording is node.recording)
            reads = (m for m, _ in node.inputs if nodes[m].recording is node.recording)
            found.update(m for m in reads if nodes[m].inputs and all(not nodes[k].inputs for k, _ in nodes[m].inputs))
        return found

    def dominates(self, group: _Group) -> bool:
        """Whether every data path of every blocked source crosses an op of this place."""
        if not group.ops or group.first.cause in _NO_PATH:
            return False
        nodes = self.flat.nodes
        spared = self._reach(self.connection.targets, lambda n, way: way.passage is not Passage.NO_DATA and nodes[n].name not in group.ops)
        return all(a.tensor is not None and a.tensor not in spared for a in group.blocks)


def _remedy(group: _Group) -> str:
    """That of the first break; of several ops that round, one that speaks of each."""
    types = sorted(set(group.ops.values()))
    shared = remedy_for_rounding(types) if len(types) > 1 else ""
    return shared if group.first.remedy == remedy_for_rounding([group.first.type]) and shared else group.first.remedy


def _name(answer: Answer) -> str:
    return answer.source.path or answer.source.name


def _is_barred(answer: Answer) -> bool:
    return any(b.cause in _IN_THE_SOURCE for b in answer.breaks)


def find_root_causes(
    connection: Connection, answers: list[Answer], call: int, locate: Callable[[Node], Location | None]
) -> list[tuple[Place, RootCause]]:
    """The root causes of one call, those that reconnect most sources first; not numbered yet."""
    reopening = _Reopening(connection, answers, locate)
    found = []
    for place, group in group_breaks(answers).items():
        first = group.first
        found.append((place, RootCause(
            0, first.cause, first.location, tuple(sorted(group.ops.items())), tuple(dict.fromkeys(_name(a) for a in group.blocks)),
            reopening.reconnects(group), _remedy(group), first.detail, first.reenters, reopening.dominates(group), call,
        )))  # fmt: skip
    return sorted(found, key=lambda pair: (-len(pair[1].reconnects), -len(pair[1].blocks)))

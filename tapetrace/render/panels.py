"""What matters to one gradient call, taken out of the graph of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import RootCause
from tapetrace.model.words import Cause
from tapetrace.render.control_flow import without_exits
from tapetrace.render.layers import layers_of, names_of

_FLOWING = (Status.LIVE, Status.CONDITIONAL, Status.OPAQUE)
_WHOLE_STRETCHES = (Cause.OUTSIDE_TAPE, Cause.RECORDING_STOPPED)


@dataclass(frozen=True, slots=True)
class Panel:
    """One gradient call's part of the graph (``call`` None: all of it). Edges are (tail, head, status) by position; every edge goes from a lower to
    a higher one."""

    call: int | None
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int, Status], ...]
    layers: tuple[str, ...]
    """For each node the scope of the Keras layer around it, empty if none."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the layer that opened a scope is called, without those around it, where a variable tells."""

    @classmethod
    def new(cls, graph: ReportGraph, call: int | None, causes: Sequence[RootCause] = ()) -> Panel:
        found = {n.name: n for n in graph.nodes if call is None or call in n.calls}
        edges = [e for e in graph.edges if e.tail in found and e.head in found]
        found = _with_breaks(found, edges, [c for c in causes if call is None or c.call == call])
        for name in _side_paths(found, edges):
            del found[name]
        found, edges = without_exits(found, [e for e in edges if e.tail in found and e.head in found])
        nodes = tuple(found.values())
        position = {name: i for i, name in enumerate(found)}
        kept = [(position[e.tail], position[e.head], _status(e, found[e.tail])) for e in edges]
        forward = tuple((a, b, s) for a, b, s in kept if a < b)
        return cls(call, nodes, forward, tuple(layers_of(nodes, forward)), names_of(nodes, forward))

    def named(self, scope: str, inside: str = "") -> str:
        """A scope as the layers in it are called, without those around it that it is ``inside`` of."""
        parts = scope.split("/") if scope else []
        levels = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
        names = (self.names.get(level, level.rpartition("/")[2]) for level in levels if not f"{inside}/".startswith(f"{level}/"))
        return "/".join(name for name in names if name)


def _status(edge: GraphEdge, tail: GraphNode) -> Status:
    """What gradient does on the way: none comes to a source that is dead, which it is where the gradient call raises."""
    is_dead = tail.role is Role.SOURCE and tail.status is Status.DEAD and edge.status is Status.LIVE
    return Status.DEAD if is_dead else edge.status


def _with_breaks(nodes: dict[str, GraphNode], edges: Sequence[GraphEdge], causes: Sequence[RootCause]) -> dict[str, GraphNode]:
    """Breaks that the picture shows as such, beyond the ops that the report names.

    A source that nobody reads, or nobody watches, has a root cause although no op breaks anything. Where a line breaks at each turn of a loop, the
    report names the op of one turn. And where a stretch of the program ran outside the tape, it names the first op of each path, but for a person the
    whole line is the break.
    """
    located = [c for c in causes if c.ops and c.location is not None]
    shut: dict[str, Cause] = {e.head: e.cause for e in edges if e.status is Status.BREAK and e.cause is not None} if located else {}
    bare = {label: c for c in causes if not c.ops for label in c.blocks}
    kept_from = {e.tail for e in edges if e.status not in _FLOWING}
    drawn: dict[str, GraphNode] = {}
    for name, n in nodes.items():
        if n.role is Role.SOURCE and not n.number and n.status is Status.DEAD and name not in kept_from and n.label in bare:
            n = replace(n, cause=bare[n.label].cause, number=bare[n.label].number)
        if n.number and n.status is not Status.BREAK:
            n = replace(n, status=Status.BREAK)
        elif n.status is not Status.BREAK and name in shut and n.role is Role.OP:
            cause = next((c for c in located if c.cause is shut[name] and _breaks(n.location, c)), None)
            if cause is not None:
                n = replace(n, status=Status.BREAK, cause=cause.cause, number=cause.number)
        drawn[name] = n
    return drawn


def _breaks(location: Location | None, cause: RootCause) -> bool:
    """Whether an op of this location that is shut for the same reason belongs to the root cause."""
    if cause.cause in _WHOLE_STRETCHES:
        return _passes(location, cause.location)
    return location is not None and cause.location is not None and location.key == cause.location.key


def _passes(location: Location | None, line: Location | None) -> bool:
    """Whether the program came through this line to the op."""
    if location is None or line is None:
        return False
    return any((f.file, f.line) == line.key for f in (location.frame, *location.called_from))


def _side_paths(nodes: dict[str, GraphNode], edges: Sequence[GraphEdge]) -> list[str]:
    """Dead ops that only live ones lead to: a comparison beside the loss, say. They keep nothing from any source. What alone leads to an op that
    stays does so too: the op would seem to begin there."""
    before: dict[str, list[str]] = {}
    for e in edges:
        before.setdefault(e.head, []).append(e.tail)
    beside: dict[str, None] = {}
    for name, n in nodes.items():
        is_dead = n.status is Status.DEAD and n.role is Role.OP
        if is_dead and name in before and all(nodes[t].status in (Status.LIVE, Status.CONDITIONAL) or t in beside for t in before[name]):
            beside[name] = None
    cut_off = [name for name in before if name not in beside and all(t in beside for t in before[name])]
    while cut_off:
        for tail in before[cut_off.pop()]:
            beside.pop(tail, None)
            if tail in before and all(t in beside for t in before[tail]):
                cut_off.append(tail)
    return list(beside)

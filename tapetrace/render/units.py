"""The first fold: the nodes of one gradient call are put together into units, one for each source line, layer or op.

Break ops of one root cause are one unit, sources of one layer and status are one unit, and no unit mixes statuses. The units form an acyclic
graph: a line that runs both before and after another (a Python loop, a call in the middle of a line) is split by its turn.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from tapetrace.model.graph import GraphNode, Role, Status
from tapetrace.render.layers import common_scope, owner_of
from tapetrace.render.panels import Panel

Details = ("line", "ops", "layers")


@dataclass(frozen=True, slots=True)
class Unit:
    """Nodes that share a box, by position in the panel; all of one status."""

    members: tuple[int, ...]
    status: Status
    is_source: bool
    is_target: bool
    scope: str
    line: tuple[str, int] | None

    @property
    def is_break(self) -> bool:
        return self.status is Status.BREAK


@dataclass(frozen=True, slots=True)
class Partition:
    """Units in a topological order, and the pairs of units between which data flows."""

    units: tuple[Unit, ...]
    edges: frozenset[tuple[int, int]]

    @property
    def neighbours(self) -> tuple[list[set[int]], list[set[int]]]:
        """Predecessors and successors of each unit."""
        before: list[set[int]] = [set() for _ in self.units]
        after: list[set[int]] = [set() for _ in self.units]
        for a, b in self.edges:
            before[b].add(a)
            after[a].add(b)
        return before, after

    def merged(self, keys: Sequence[Hashable], acyclic: bool = True) -> Partition:
        """The units with equal keys put together; where that would close a cycle and ``acyclic`` is asked for, they stay apart."""
        if len(set(keys)) == len(self.units):
            return self
        labels = split_cycles(len(self.units), self.edges, keys) if acyclic else _numbered(keys)
        gathered: dict[int, list[Unit]] = {}
        for label, unit in zip(labels, self.units, strict=True):
            gathered.setdefault(label, []).append(unit)
        units = [_join(gathered[label]) for label in range(len(gathered))]
        edges = {(labels[a], labels[b]) for a, b in self.edges if labels[a] != labels[b]}
        order = _topological(len(units), edges)
        rank = {old: new for new, old in enumerate(order)}
        return Partition(tuple(units[i] for i in order), frozenset((rank[a], rank[b]) for a, b in edges))


def split_into_units(panel: Panel, detail: str) -> Partition:
    """The units of a panel at the detail ``line``, ``ops`` or ``layers``."""
    own_function = _target_function(panel)
    single = Partition(
        tuple(
            Unit((i,), n.status, n.role is Role.SOURCE, n.role is Role.TARGET, panel.layers[i], n.location.key if n.location else None)
            for i, n in enumerate(panel.nodes)
        ),
        frozenset((a, b) for a, b, _ in panel.edges),
    )
    keys = [_key(n, i, panel.layers[i], detail, own_function) for i, n in enumerate(panel.nodes)]
    return _gather_sources(single.merged(keys))


def split_cycles(size: int, edges: frozenset[tuple[int, int]], keys: Sequence[Hashable]) -> list[int]:
    """A label for each of ``size`` topologically ordered things, equal only where the keys are, such that the labels form an acyclic graph.

    Inside a cycle a label is split by its turn: the largest number of changes of label on a way from the start of the cycle. Every edge between
    two labels then goes from a lower turn to a higher one. What comes early (the reading of a weight) joins a later turn of its label if it can.
    """
    labels = _numbered(keys)
    component = cyclic_labels(labels, edges)
    if not component:
        return labels
    inner = [(a, b) for a, b in edges if labels[a] in component and component.get(labels[b]) == component[labels[a]]]
    turn = [0] * size
    for a, b in sorted(inner, key=lambda e: e[1]):
        turn[b] = max(turn[b], turn[a] + (labels[a] != labels[b]))
    after: dict[int, list[int]] = {}
    for a, b in inner:
        after.setdefault(a, []).append(b)
    for a in sorted(after, reverse=True):
        later = min((turn[b] for b in after[a] if labels[b] == labels[a]), default=turn[a])
        if all(turn[b] > later for b in after[a] if labels[b] != labels[a]):
            turn[a] = later
    return _numbered([(labels[i], turn[i]) for i in range(size)])


def cyclic_labels(labels: Sequence[int], edges: frozenset[tuple[int, int]]) -> dict[int, int]:
    """The labels that lie on a cycle, each with the number of its strongly connected component."""
    import networkx as nx

    between: nx.DiGraph[int] = nx.DiGraph()
    between.add_edges_from((labels[a], labels[b]) for a, b in edges if labels[a] != labels[b])
    knots = [c for c in nx.strongly_connected_components(between) if len(c) > 1]
    return {label: i for i, knot in enumerate(knots) for label in knot}


def _key(node: GraphNode, position: int, layer: str, detail: str, own_function: tuple[str, str] | None) -> Hashable:
    if node.role is Role.SOURCE:
        if node.status is Status.BREAK:
            return ("source", node.status, node.cause, node.number)
        return ("source", position) if detail == "ops" else ("source", node.status, owner_of(node))
    if detail == "ops":
        return position
    if node.status is Status.BREAK:
        return ("break", node.number, None if node.number else (node.cause, node.location.key if node.location else layer))
    if detail == "line" and node.location is not None:
        return ("line", node.status, node.location.key)
    function = _function(node)
    return ("layer", node.status, layer, None if layer or function == own_function else function)


def _target_function(panel: Panel) -> tuple[str, str] | None:
    return next((_function(n) for n in panel.nodes if n.role is Role.TARGET and n.location), None)


def _function(node: GraphNode) -> tuple[str, str] | None:
    """The file and the name of the function whose line made the node."""
    return (node.location.file, node.location.function) if node.location else None


def _gather_sources(partition: Partition) -> Partition:
    """More than three boxes of sources that share their status and their only reader become one."""
    before, after = partition.neighbours
    keys: list[Hashable] = [("unit", i) for i in range(len(partition.units))]
    for reader in range(len(partition.units)):
        by_status: dict[Status, list[int]] = {}
        for i in sorted(before[reader]):
            if partition.units[i].is_source and not partition.units[i].is_break and after[i] == {reader}:
                by_status.setdefault(partition.units[i].status, []).append(i)
        for status, found in by_status.items():
            if len(found) > 3:
                for i in found:
                    keys[i] = ("sources", reader, status)
    return partition.merged(keys)


def _join(units: Sequence[Unit]) -> Unit:
    if len(units) == 1:
        return units[0]
    lines = {u.line for u in units if not u.is_source}
    statuses = {u.status for u in units}
    scopes = [u.scope for u in units if not u.is_source] or [u.scope for u in units]
    return Unit(
        tuple(sorted(m for u in units for m in u.members)),
        units[0].status if len(statuses) == 1 else Status.BREAK,
        all(u.is_source for u in units),
        any(u.is_target for u in units),
        common_scope(scopes),
        lines.pop() if len(lines) == 1 else None,
    )


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(k, len(seen)) for k in keys]


def _topological(size: int, edges: set[tuple[int, int]]) -> list[int]:
    """Positions in a topological order, lowest first where there is a choice; what is on a cycle comes last."""
    after: list[list[int]] = [[] for _ in range(size)]
    waiting = [0] * size
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    ready = [i for i in range(size) if not waiting[i]]
    heapify(ready)
    order: list[int] = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for b in after[i]:
            waiting[b] -= 1
            if not waiting[b]:
                heappush(ready, b)
    done = set(order)
    return order + [i for i in range(size) if i not in done]

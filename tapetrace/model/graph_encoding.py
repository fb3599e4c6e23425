"""The graph of a report as plain data and back, compact: what a node leaves out is the default, and equal locations are written once.

``{"locations": [{location, library_location}], "nodes": [{name, type, status, role, cause, number, scope, label, dtype, shape, at, calls,
reads}], "edges": [[tail, head, status, cause]]}``: ``at`` is a position in ``locations``, ``tail`` and ``head`` are positions in ``nodes``.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.locations_encoding import placed, read_placed
from tapetrace.model.reading import Reading
from tapetrace.model.words import Cause


def graph_to_dict(graph: ReportGraph) -> dict[str, Any]:
    at = {location: i for i, location in enumerate(dict.fromkeys(n.location for n in graph.nodes if n.location is not None))}
    position = {node.name: i for i, node in enumerate(graph.nodes)}
    return {
        "locations": [placed(location) for location in at],
        "nodes": [_node_to_dict(node, at) for node in graph.nodes],
        "edges": [[position[e.tail], position[e.head], e.status.value, *([e.cause.value] if e.cause else [])] for e in graph.edges],
    }


def _node_to_dict(node: GraphNode, at: dict[Location, int]) -> dict[str, Any]:
    data: dict[str, Any] = {"name": node.name, "type": node.type, "status": node.status.value}
    if node.role is not Role.OP:
        data["role"] = node.role.value
    if node.cause is not None:
        data["cause"] = node.cause.value
    if node.number:
        data["number"] = node.number
    for key, text in (("scope", node.scope), ("label", node.label), ("dtype", node.dtype)):
        if text:
            data[key] = text
    if node.shape is not None:
        data["shape"] = list(node.shape)
    if node.location is not None:
        data["at"] = at[node.location]
    if node.calls != (0,):
        data["calls"] = list(node.calls)
    if node.reads:
        data["reads"] = list(node.reads)
    return data


def read_graph(data: Reading) -> ReportGraph:
    """The graph that `graph_to_dict` wrote; raises ReportError when an index leads nowhere, a node stands twice, or edges run in a circle."""
    locations = [read_placed(item) for item in data.field("locations").items()]
    nodes: list[GraphNode] = []
    names: set[str] = set()
    for item in data.field("nodes").items():
        node = _read_node(item, locations)
        if node.name in names:
            raise item.field("name").complain(f"stands twice, {node.name[:40]!r}")
        names.add(node.name)
        nodes.append(node)
    edges = tuple(_read_edge(item, nodes) for item in data.field("edges").items())
    before: dict[str, set[str]] = {}
    for edge in edges:
        before.setdefault(edge.head, set()).add(edge.tail)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        raise data.field("edges").complain("run in a circle, and data cannot") from None
    return ReportGraph(tuple(nodes), edges)


def _read_node(data: Reading, locations: list[Location | None]) -> GraphNode:
    def text(key: str) -> str:
        found = data.optional(key)
        return found.text() if found else ""

    role, cause, number, at, calls, reads = (data.optional(key) for key in ("role", "cause", "number", "at", "calls", "reads"))
    return GraphNode(
        name=data.field("name").text(),
        type=data.field("type").text(),
        status=data.field("status").one_of(Status),
        role=role.one_of(Role) if role else Role.OP,
        cause=cause.one_of(Cause) if cause else None,
        number=number.integer() if number else 0,
        scope=text("scope"),
        label=text("label"),
        dtype=text("dtype"),
        shape=read_shape(data.optional("shape")),
        location=locations[_position(at, len(locations), "locations")] if at else None,
        calls=tuple(c.integer() for c in calls.items()) if calls else (0,),
        reads=tuple(path.text() for path in reads.items()) if reads else (),
    )


def _read_edge(data: Reading, nodes: list[GraphNode]) -> GraphEdge:
    parts = list(data.items())
    if len(parts) not in (3, 4):
        raise data.complain("should be [tail, head, status] or [tail, head, status, cause]")
    tail, head = (nodes[_position(part, len(nodes), "nodes")].name for part in parts[:2])
    return GraphEdge(tail, head, parts[2].one_of(Status), parts[3].one_of(Cause) if len(parts) == 4 else None)


def _position(data: Reading, count: int, of: str) -> int:
    position = data.integer()
    if position >= count:
        raise data.complain(f"is {position}, but there are {count} {of}")
    return position


def read_shape(data: Reading | None) -> tuple[int | None, ...] | None:
    """A static shape: None for an unknown rank, None elements for unknown sizes."""
    return None if data is None else tuple(None if n.value is None else n.integer() for n in data.items())

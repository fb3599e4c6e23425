"""The graph of a report after numbers were merged in: breaks where numbers are lost, and what lies before them dead."""

from __future__ import annotations

from dataclasses import replace

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.report import Break, Report, SourceResult
from tapetrace.model.words import Cause, Verdict

_STATUS = {Verdict.CONNECTED: Status.LIVE, Verdict.CONDITIONAL: Status.CONDITIONAL, Verdict.OPAQUE: Status.OPAQUE}


def redraw(before: Report, after: Report) -> ReportGraph:
    """The drawing of ``before`` with the verdicts, breaks and numbers of ``after``; the nodes and edges stay the same."""
    drawing = before.drawing
    sources: dict[str, SourceResult] = {}
    breaks: dict[str, Break] = {}
    dead: set[str] = set()
    alive: set[str] = set()
    for index, call in enumerate(after.calls):
        for source in call.sources:
            route = [_name(n, index) for n in source.route]
            found = {_name(b.op, index): b for b in source.breaks if b.op}
            breaks.update(found)
            if route:
                sources[route[0]] = source
            stops = [i for i, n in enumerate(route) if n in found]
            if source.verdict.is_broken:
                dead.update(route[: stops[-1] if stops else 0])
            else:
                alive.update(route)
    resolved = {_name(b.op, i) for i, c in enumerate(before.calls) for s in c.sources for b in s.breaks if b.op} - breaks.keys()
    dead -= alive
    nodes = tuple(_node(n, sources, breaks, resolved, dead) for n in drawing.nodes)
    return ReportGraph(nodes, tuple(_edge(e, breaks, resolved, dead, alive) for e in drawing.edges))


def _name(op: str, call: int) -> str:
    """The name of a node, which for a second and later call holds the number of the call."""
    return op if call == 0 else f"call {call + 1}: {op}"


def _node(n: GraphNode, sources: dict[str, SourceResult], breaks: dict[str, Break], resolved: set[str], dead: set[str]) -> GraphNode:
    found = breaks.get(n.name)
    if found is not None:
        return replace(n, status=Status.BREAK, cause=found.cause, number=found.root_cause)
    if n.name in resolved:
        return replace(n, status=Status.LIVE, cause=None, number=0)
    if n.role is Role.SOURCE and n.name in sources:
        source = sources[n.name]
        own = source.breaks[0] if source.breaks and not source.breaks[0].op else None
        status = Status.BREAK if n.status is Status.BREAK else _STATUS.get(source.verdict, Status.DEAD)
        return replace(n, status=status, number=own.root_cause if own else 0)
    return replace(n, status=Status.DEAD) if n.name in dead else n


def _edge(e: GraphEdge, breaks: dict[str, Break], resolved: set[str], dead: set[str], alive: set[str]) -> GraphEdge:
    found = breaks.get(e.head)
    if found is not None and found.cause is Cause.NUMERICALLY_ZERO and e.tail in dead:
        return replace(e, status=Status.BREAK, cause=found.cause)
    if e.status is Status.OPAQUE and e.tail in alive and (e.head in resolved or e.head in alive):
        return replace(e, status=Status.LIVE)
    return replace(e, status=Status.DEAD) if e.tail in dead and e.head in dead else e

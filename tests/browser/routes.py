"""Gives the reports that the pictures are tested with what a report from a trace has besides: the route of each source and its numbered breaks."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx

from tapetrace.model.graph import ReportGraph, Role
from tapetrace.model.report import Break, Report, SourceResult


def routed(report: Report) -> Report:
    """The report with the shortest way of each source to the target of its call, and the root causes on it as its breaks."""
    graph = report.graph
    causes = {c.number: c for c in report.root_causes}
    nodes = {n.name: n for n in report.drawing.nodes}
    targets = {c: n.name for n in report.drawing.nodes if n.role is Role.TARGET for c in n.calls}

    def answer(source: SourceResult, call: int) -> SourceResult:
        found = nx.has_path(graph, source.label, targets[call])
        route = tuple(nx.shortest_path(graph, source.label, targets[call])) if found else ()
        numbers = dict.fromkeys(nodes[name].number for name in (route or (source.label,)) if nodes[name].number)
        if not source.breaks:
            return replace(source, route=route)
        breaks = tuple(Break(causes[n].cause, location=causes[n].location, remedy=causes[n].remedy, root_cause=n) for n in numbers)
        return replace(source, route=route, breaks=breaks)

    calls = tuple(replace(c, sources=tuple(answer(s, i) for s in c.sources)) for i, c in enumerate(report.calls))
    drawing = _as_drawn(report.drawing)
    return replace(report, calls=calls, build_graph=lambda: drawing)


def _as_drawn(drawing: ReportGraph) -> ReportGraph:
    """The drawing with the names that nodes of a second and later call have."""
    names = {n.name: f"call {n.calls[0] + 1}: {n.name}" if n.calls[0] else n.name for n in drawing.nodes}
    nodes = tuple(replace(n, name=names[n.name]) for n in drawing.nodes)
    return ReportGraph(nodes, tuple(replace(e, tail=names[e.tail], head=names[e.head]) for e in drawing.edges))

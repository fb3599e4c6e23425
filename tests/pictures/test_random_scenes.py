"""Scenes of random graphs: counts that add up, edges one way, no box of two statuses."""

from __future__ import annotations

from collections import Counter

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.words import Cause
from tapetrace.render.folding import fold
from tapetrace.render.panels import Panel
from tapetrace.render.scene import Scene
from tapetrace.render.stretches import SMALLEST_BUDGET
from tapetrace.render.units import Details
from tests.unit import drawings
from tests.unit.drawings import BREAK


@st.composite
def graphs(draw: st.DrawFn) -> ReportGraph:
    """A random DAG in which any node may have any status, role, line, scope and calls."""
    size = draw(st.integers(0, 40))
    calls = draw(st.sampled_from([((0,),), ((0,), (1,), (0, 1))]))
    nodes = []
    for i in range(size):
        status, role = draw(st.sampled_from(Status)), draw(st.sampled_from(Role))
        number = draw(st.integers(0, 6)) if status is BREAK or (role is Role.SOURCE and draw(st.booleans())) else 0
        where = Location.new("f.py", draw(st.integers(1, 5)), draw(st.sampled_from("fg"))) if draw(st.booleans()) else None
        scope = "/".join(draw(st.lists(st.sampled_from(["m", "a", "b_1"]), max_size=3)))
        cause = Cause.NON_FLOAT if number else None
        nodes.append(
            GraphNode(f"n{i}", "Op", status, role, cause, number, scope, f"{scope}/l{i}", location=where, calls=draw(st.sampled_from(calls)))
        )
    pairs = draw(st.sets(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=80)) if size else set()
    edges = [(a, b) for a, b in sorted(pairs) if a < b < size and nodes[b].role is not Role.SOURCE]
    return ReportGraph(tuple(nodes), tuple(GraphEdge(f"n{a}", f"n{b}", draw(st.sampled_from(Status))) for a, b in edges))


def drawn_nodes(graph: ReportGraph, scene: Scene) -> list[GraphNode]:
    """The nodes that a scene has to account for, those of several calls once for each."""
    together = any("gradient calls are drawn as one" in note for note in scene.notes)
    calls = [None] if together else sorted({c for n in graph.nodes for c in n.calls})
    kept = [n for c in calls for n in Panel.new(graph, c).nodes]
    sources = [n for n in graph.nodes if n.role is Role.SOURCE]
    assert sum(n.role is Role.SOURCE for n in kept) == (len(sources) if together else sum(len(n.calls) for n in sources))
    return kept


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), detail=st.sampled_from(Details), budget=st.sampled_from([SMALLEST_BUDGET, 12, 120]))
def test_any_graph(graph: ReportGraph, detail: str, budget: int) -> None:
    scene = fold(drawings.report_on(graph), detail=detail, budget=budget)
    keys = [n.key for n in scene.nodes]
    assert len(keys) == len(set(keys)) <= budget
    assert all(e.tail in keys and e.head in keys and e.tail != e.head for e in scene.edges)
    assert {n for node in scene.nodes for n in node.numbers} == {n.number for n in graph.nodes} - {0}
    kept = drawn_nodes(graph, scene)
    assert sum(n.sources for n in scene.nodes) == sum(n.role is Role.SOURCE for n in kept)
    assert sum(n.ops for n in scene.nodes) == sum(n.role is not Role.SOURCE for n in kept)
    groups = {g.key for g in scene.groups}
    assert {n.group for n in scene.nodes} | {g.parent for g in scene.groups} <= groups | {None}
    assert fold(drawings.report_on(graph), detail=detail, budget=budget) == scene


@settings(max_examples=40, deadline=None)
@given(graph=graphs(), detail=st.sampled_from(Details))
def test_data_flows_one_way_unless_the_budget_forbids(graph: ReportGraph, detail: str) -> None:
    scene = fold(drawings.report_on(graph), detail=detail, budget=1000)
    assert nx.is_directed_acyclic_graph(nx.DiGraph([(e.tail, e.head) for e in scene.edges]))


@settings(max_examples=40, deadline=None)
@given(graph=graphs(), detail=st.sampled_from(Details), budget=st.sampled_from([SMALLEST_BUDGET, 12, 120]))
def test_no_box_mixes_statuses(graph: ReportGraph, detail: str, budget: int) -> None:
    scene = fold(drawings.report_on(graph), detail=detail, budget=budget)
    kept = Counter(n.status for n in drawn_nodes(graph, scene))

    def shown(status: Status) -> int:
        return sum(n.ops + n.sources for n in scene.nodes if n.status is status)

    assert {s: shown(s) for s in Status} == {s: kept[s] for s in Status}

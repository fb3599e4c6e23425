"""Report → Scene: what is put together, what never is, and counts that add up."""

from __future__ import annotations

import time
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report, RootCause
from tapetrace.model.words import Cause
from tapetrace.render.folding import fold
from tapetrace.render.scene import Kind, Scene
from tapetrace.render.stretches import SMALLEST_BUDGET
from tapetrace.render.units import Details

from . import drawings
from .drawings import BREAK, DEAD, LIVE, Drawing, report_of


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


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param(
            chain(("a", LIVE, 1), ("b", LIVE, 1), ("c", LIVE, 2)),
            [("v", "live", 0, 1), ("line 1", "live", 2, 0), ("line 2", "live", 1, 0)],
            id="the ops of a line are one box",
        ),
        pytest.param(
            chain(("a", DEAD, 1), ("b", BREAK, 1), ("c", LIVE, 1), ("d", LIVE, 2), source=DEAD),
            [("v", "dead", 0, 1), ("line 1", "dead", 1, 0), ("line 1", "break", 1, 0), ("line 1", "live", 1, 0), ("line 2", "live", 1, 0)],
            id="a line is split where its gradient status changes",
        ),
        pytest.param(
            chain(("a", LIVE, 1), ("b", LIVE, 2), ("c", LIVE, 1), ("d", LIVE, 3)),
            [("v", "live", 0, 1), ("line 1", "live", 1, 0), ("line 2", "live", 1, 0), ("line 1", "live", 1, 0), ("line 3", "live", 1, 0)],
            id="a line of a loop is split by its turn",
        ),
    ],
)
def test_lines(report: Report, expected: list[tuple[str, str, int, int]]) -> None:
    assert boxes(fold(report)) == expected


def test_details_of_one_report() -> None:
    report = drawings.vae()
    sizes = {detail: Counter(n.kind for n in fold(report, detail=detail).nodes) for detail in Details}
    assert sizes["ops"][Kind.OP] == 15
    assert sizes["ops"][Kind.SOURCES] == 8
    assert sizes["line"] == {Kind.SOURCES: 4, Kind.LINE: 6, Kind.BREAK: 2}
    assert sizes["layers"][Kind.LINE] == 0


def test_variables_of_a_layer_are_one_box_with_names_and_what_came_back() -> None:
    first = fold(drawings.vae()).nodes[0]
    assert (first.heading, first.footnote, first.sources) == ("vae/enc: kernel, bias", "2 variables · gradient is None", 2)


def test_break_shows_cause_line_number_and_what_it_blocks() -> None:
    found = [n for n in fold(drawings.vae()).nodes if n.kind is Kind.BREAK]
    assert {(n.heading, n.code, n.place, n.numbers) for n in found} == {
        ("outside_tape", "rec, mu, lv = vae(x, training=True)", "vae.py:33 in train_step", (1,))
    }
    assert "blocks 8 variables, reopening it reconnects 8" in found[0].footnote


def test_edges_say_what_gradient_does() -> None:
    assert arrows(fold(drawings.branches())) >= {
        ("logits = router(x)", "index = tf.argmax(logits, -1)", "break"),
        ("table/embeddings", "row = tf.gather(table, index)", "live"),
        ("odd = tf.py_function(weird, [x], tf.float32)", "loss = tf.reduce_sum(row + odd)", "opaque"),
    }


def test_gates_shut_behind_the_first_break_are_merely_dead() -> None:
    nodes = [GraphNode("v", "Variable", DEAD, Role.SOURCE, label="v"), GraphNode("a", "Op", DEAD), GraphNode("b", "Op", BREAK, number=1)]
    edges = (GraphEdge("a", "b", BREAK), GraphEdge("v", "a", BREAK))
    scene = fold(drawings.report_on(ReportGraph(tuple(nodes), edges)), detail="ops")
    assert [e.status for e in scene.edges] == [DEAD, BREAK]


def test_a_call_of_its_own_group_each() -> None:
    scene = fold(drawings.gan())
    assert [g.title for g in scene.groups if g.is_call] == [
        "gradient call 1  ·  gan.py:51 in train_step  ·  0 of 4 without gradient",
        "gradient call 2  ·  gan.py:52 in train_step  ·  7 of 7 without gradient",
    ]
    never_read = next(n for n in scene.nodes if n.numbers == (2,))
    assert (never_read.heading, never_read.kind, never_read.sources) == ("never_read", Kind.BREAK, 1)


def test_half_a_resnet_cut_off_is_told_in_a_few_boxes() -> None:
    scene = fold(drawings.resnet())
    assert len(scene.nodes) <= 40
    stretches = [n for n in scene.nodes if n.kind is Kind.STRETCH]
    assert [(n.status, n.footnote) for n in stretches] == [
        (DEAD, "38 layers · 3 lines · 76 variables · 1,348 ops"),
        (LIVE, "36 layers · 3 lines · 72 variables · 1,277 ops"),
    ]
    assert scene.notes == ("folded: 202 boxes of a line or a layer's variables are drawn as 15; counts are in the boxes",)


def test_a_functional_model_called_in_one_line_is_two_boxes_around_the_break() -> None:
    found = boxes(fold(drawings.resnet(in_one_line=True)))
    assert [(status, count) for _, status, ops, count in found if not ops] == [("dead", 80), ("live", 80)]
    assert [box for box in found if box[2]] == [
        ("logits = model(images)", "dead", 1420, 0),
        ("return tf.stop_gradient(x)", "break", 1, 0),
        ("logits = model(images)", "live", 1420, 0),
        ("loss = cross_entropy(labels, logits)", "live", 1, 0),
    ]


def test_without_source_no_code_is_left() -> None:
    shown = fold(drawings.vae(), source=False)
    assert not any("vae(x" in text or "self.enc" in text for n in shown.nodes for text in (n.code, n.heading, n.footnote, n.tooltip))


def test_a_root_cause_without_node_still_gets_its_box() -> None:
    report = report_of(Drawing(), causes=[RootCause(3, Cause.TAPE_REUSED, line(9), (), ("v",), ())])
    assert [(n.numbers, n.heading, n.code) for n in fold(report).nodes] == [((3,), "tape_reused", "line 9")]


def test_nothing_to_draw_is_said() -> None:
    assert fold(report_of(Drawing())).notes == ("nothing to draw",)


@pytest.mark.parametrize(
    ("scope", "owner", "expected"),
    [
        pytest.param("vae_1/enc_1/Cast", "vae/enc", "enc_1", id="reading opens a scope of its own"),
        pytest.param("vae/enc/MatMul", "vae/enc", "enc", id="below an op's name"),
        pytest.param("", "", "", id="no layer"),
    ],
)
def test_caption_names_the_layer_not_the_scopes_that_tensorflow_opens(scope: str, owner: str, expected: str) -> None:
    d = Drawing()
    d.source(f"{owner}/kernel", LIVE)
    d.op("read", "ReadVariableOp", [f"{owner}/kernel"], LIVE, line(1), scope=scope)
    d.op("loss", "Mean", ["read"], LIVE, line(2), role=Role.TARGET, scope="")
    assert fold(report_of(d)).nodes[1].heading.rpartition("/")[2] == expected


@pytest.mark.parametrize(("detail", "in_one_line"), [("line", True), ("layers", False), ("ops", False)])
def test_54_000_ops_fold_in_seconds(detail: str, in_one_line: bool) -> None:
    report = drawings.resnet(blocks=500, filler=42, in_one_line=in_one_line)
    assert len(report.drawing.nodes) > 54_000
    start = time.process_time()
    scene = fold(report, detail=detail)
    assert time.process_time() - start < 6  # about 1.5 s; a fold that is quadratic takes minutes
    assert len(scene.nodes) <= 40
    assert sum(n.sources for n in scene.nodes) == 2000


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


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), detail=st.sampled_from(Details), budget=st.sampled_from([SMALLEST_BUDGET, 12, 120]))
def test_any_graph(graph: ReportGraph, detail: str, budget: int) -> None:
    scene = fold(drawings.report_on(graph), detail=detail, budget=budget)
    keys = [n.key for n in scene.nodes]
    assert len(keys) == len(set(keys)) <= budget
    assert all(e.tail in keys and e.head in keys and e.tail != e.head for e in scene.edges)
    assert {n for node in scene.nodes for n in node.numbers} == {n.number for n in graph.nodes} - {0}
    drawn_as_one = any("gradient calls are drawn as one" in note for note in scene.notes)
    weight = {n.name: 1 if drawn_as_one else len(n.calls) for n in graph.nodes}
    assert sum(n.sources for n in scene.nodes) == sum(weight[n.name] for n in graph.nodes if n.role is Role.SOURCE)
    assert sum(n.ops for n in scene.nodes) == sum(weight[n.name] for n in graph.nodes if n.role is not Role.SOURCE)
    groups = {g.key for g in scene.groups}
    assert {n.group for n in scene.nodes} | {g.parent for g in scene.groups} <= groups | {None}
    assert fold(drawings.report_on(graph), detail=detail, budget=budget) == scene


@settings(max_examples=40, deadline=None)
@given(graph=graphs(), detail=st.sampled_from(Details))
def test_data_flows_one_way_unless_the_budget_forbids(graph: ReportGraph, detail: str) -> None:
    scene = fold(drawings.report_on(graph), detail=detail, budget=1000)
    assert nx.is_directed_acyclic_graph(nx.DiGraph([(e.tail, e.head) for e in scene.edges]))


@settings(max_examples=40, deadline=None)
@given(graph=graphs(), detail=st.sampled_from(Details), budget=st.sampled_from([SMALLEST_BUDGET, 120]))
def test_no_box_mixes_statuses(graph: ReportGraph, detail: str, budget: int) -> None:
    scene = fold(drawings.report_on(graph), detail=detail, budget=budget)
    drawn_as_one = any("gradient calls are drawn as one" in note for note in scene.notes)

    def counted(status: Status) -> int:
        found = [n for n in graph.nodes if (BREAK if n.number else n.status) is status]
        return len(found) if drawn_as_one else sum(len(n.calls) for n in found)

    def shown(status: Status) -> int:
        return sum(n.ops + n.sources for n in scene.nodes if n.status is status)

    assert {s: shown(s) for s in Status} == {s: counted(s) for s in Status}

"""The graph behind the picture: the ops that matter, each with its status."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx

from tapetrace.analysis.analyse import analyse
from tapetrace.model.graph import ReportGraph, Role, Status
from tapetrace.model.report import Report
from tapetrace.model.trace import Gate, TensorSpec
from tapetrace.model.words import Cause
from tests.unit.graphs import Graph, body, call, report, trace

NONE, INT, LACKS = Gate.NONE, Gate.NON_FLOAT_INPUT, Gate.UNREGISTERED


def check_well_formed(found: Report) -> ReportGraph:
    """What holds of every drawing."""
    drawing = found.drawing
    names = [n.name for n in drawing.nodes]
    assert len(names) == len(set(names))
    assert {e.tail for e in drawing.edges} | {e.head for e in drawing.edges} <= set(names)
    assert len({(e.tail, e.head) for e in drawing.edges}) == len(drawing.edges)
    assert nx.is_directed_acyclic_graph(found.graph)
    for index, answered in enumerate(found.calls):
        here = [n for n in drawing.nodes if index in n.calls]
        labels = [n.label for n in here if n.role is Role.SOURCE]
        assert sorted(labels) == sorted(s.label for s in answered.sources)
        prefix = f"call {index + 1}: " if index else ""
        by_name = {n.name.removeprefix(prefix): n for n in here}
        breaks = [b for s in answered.sources for b in s.breaks if s.verdict.is_broken and b.op]
        for b in breaks:
            assert by_name[b.op].status is Status.BREAK
            assert by_name[b.op].number == min(other.root_cause for other in breaks if other.op == b.op) > 0
    return drawing


def statuses(drawing: ReportGraph) -> dict[str, str]:
    return {n.name: n.status.value for n in drawing.nodes}


def edges(drawing: ReportGraph) -> dict[str, str]:
    return {f"{e.tail} {e.head}": e.status.value for e in drawing.edges}


def test_a_broken_and_a_live_source() -> None:
    graph = Graph().variables("w u").read("r", "w").op("stop", "r", NONE, type="StopGradient").read("s", "u").op("loss", "stop s").op("late", "loss")
    drawing = check_well_formed(report(graph, sources="w u"))
    assert statuses(drawing) == {"w": "dead", "u": "live", "r": "dead", "stop": "break", "s": "live", "loss": "live"}
    assert edges(drawing) == {"w r": "dead", "r stop": "break", "stop loss": "live", "u s": "live", "s loss": "live"}
    assert {n.name: (n.role.value, n.number) for n in drawing.nodes if n.role is not Role.OP or n.number} == {
        "w": ("source", 0), "u": ("source", 0), "stop": ("op", 1), "loss": ("target", 0),
    }  # fmt: skip


def test_what_lies_on_no_path_is_left_out_but_for_dead_ends() -> None:
    graph = Graph().variables("w u").tensors("x").read("r", "w").op("a", "r").op("side", "a").read("s", "u").op("loss", "s x").op("y", "x")
    drawing = check_well_formed(report(graph, sources="w u"))
    assert set(statuses(drawing)) == {"w", "u", "r", "a", "side", "s", "loss"}
    assert statuses(drawing)["side"] == "break"


def test_a_source_that_nothing_reads_stands_alone() -> None:
    graph = Graph().variables("u").read("s", "u").op("loss", "s")
    drawing = check_well_formed(report(graph, sources="u w"))
    assert statuses(drawing)["w (never read)"] == "dead"


def test_a_variable_holds_what_its_source_does() -> None:
    drawing = report(Graph().variables("w").read("r", "w").op("loss", "r"), facts={"spec": TensorSpec("float16", (3,))}).drawing
    assert [(n.dtype, n.shape) for n in drawing.nodes if n.role is Role.SOURCE] == [("float16", (3,))]


def test_ops_name_the_variables_that_they_read_and_that_are_not_drawn() -> None:
    inside = body("inside", "p", handles="q").read("weight", "q").op("mix", "p weight").returns("mix")
    graph = Graph().variables("w n/a n/b n/c").tensors("x").read("r", "w").read("n/s", "n/a").op("n/t", "n/s").op("n/mul", "r n/t")
    graph.read("n/u", "n/b").op("n/other", "n/u x").op("n/add", "n/mul n/other").call("f", inside, "n/add n/c").op("loss", "f")
    drawing = check_well_formed(report([graph, inside]))
    assert {n.name: n.reads for n in drawing.nodes if n.reads} == {"n/mul": ("n/a",), "f/mix": ("n/c",)}


def test_sources_of_one_name_that_the_graph_never_mentions_are_two_nodes() -> None:
    drawing = check_well_formed(report(Graph().tensors("loss"), sources="w w"))
    assert [n.name for n in drawing.nodes if n.role is Role.SOURCE] == ["w (never read)", "w (2, never read)"]


def test_a_loop_is_drawn_as_one_round() -> None:
    inside = body("inside", "p q").op("sum", "p q").returns("sum q")
    decide = body("decide", "p q").op("less", "p", dtypes="bool").returns("less")
    graph = Graph().variables("w u").read("r", "w").read("s", "u").loop("l", "r s", inside, decide).op("loss", "l:0")
    drawing = check_well_formed(report([graph, inside, decide], sources="w u"))
    assert {"l/variable:0 l/body/sum", "l/variable:1 l/body/sum", "l:0 loss"} <= set(edges(drawing))


def test_a_conditional_source() -> None:
    use, empty = body("use", "p").op("a", "p").returns("a"), body("empty", "p").op("zero").returns("zero")
    graph = Graph().variables("w").tensors("k", "int32").read("r", "w").cond("c", "k", "r", use, empty).op("loss", "c")
    drawing = check_well_formed(report([graph, use, empty]))
    found = statuses(drawing)
    assert (found["w"], found["r"], found["c/true/a"], found["loss"]) == ("conditional", "conditional", "conditional", "live")
    assert "c/false/zero" not in found


def test_what_runs_in_one_branch_is_conditional_though_both_lead_to_a_live_source() -> None:
    first, second = (body(key, "p").op(key, "p").returns(key) for key in "ab")
    graph = Graph().variables("w").tensors("k", "int32").read("r", "w").cond("c", "k", "r", first, second).op("loss", "c")
    found = edges(check_well_formed(report([graph, first, second])))
    assert {way for way, status in found.items() if status == "live"} == {"w r", "c:0 loss"}
    assert {way for way, status in found.items() if status == "conditional"} == {
        f"{tail} {head}" for b in ("true/a", "false/b") for tail, head in pairwise(("r", f"c/{b[:-2]}/input:0", f"c/{b}", "c:0"))
    }  # fmt: skip


def test_an_opaque_source() -> None:
    graph = Graph().variables("w").read("r", "w").op("p", "r", Gate.PYTHON, type="EagerPyFunc").op("loss", "p")
    assert statuses(check_well_formed(report(graph)))["w"] == "opaque"


def test_the_op_at_which_a_call_raises_is_drawn_though_no_source_leads_to_it() -> None:
    graph = Graph().variables("u").tensors("x").op("lacks", "x", LACKS).read("s", "u").op("loss", "s lacks")
    drawing = check_well_formed(report(graph, sources="u", watched="u x"))
    assert statuses(drawing)["lacks"] == "break"


def test_integers_are_dead_edges() -> None:
    graph = Graph().variables("w").read("r", "w").op("i", "r", dtypes="int32").op("back", "i", INT).op("loss", "back")
    assert edges(check_well_formed(report(graph))) == {"w r": "dead", "r i": "break", "i back": "dead", "back loss": "live"}


def test_an_integer_that_an_index_takes_in_is_a_shut_edge_where_the_report_has_a_break() -> None:
    graph = Graph().variables("w").read("r", "w").op("i", "r", dtypes="int32").op("rows").op("take", "rows i", integers="- indices")
    drawing = check_well_formed(report(graph.op("loss", "take")))
    assert edges(drawing) == {"w r": "dead", "r i": "break", "i take": "break", "take loss": "live"}
    assert {e.cause for e in drawing.edges if e.status is Status.BREAK} == {Cause.NON_FLOAT}


def test_a_second_call_has_nodes_of_its_own() -> None:
    graph = Graph().variables("w").read("r", "w").op("a", "r").op("b", "r", NONE)
    found = analyse(trace(graph, call(graph, "a", "w"), call(graph, "b", "w")))
    drawing = check_well_formed(found)
    assert statuses(drawing)["r"] == "live"
    assert statuses(drawing)["call 2: b"] == "break"


def test_an_op_that_is_closed_for_two_reasons_carries_the_first_number() -> None:
    graph = Graph().variables("w u v").read("r", "w").read("s", "u").read("t", "v")
    graph.op("a", "r s t", gates={(0, 0): NONE, (1, 0): Gate.ZERO, (2, 0): Gate.ZERO}).op("loss", "a")
    drawing = check_well_formed(report(graph, sources="w u v"))
    assert {n.name: (n.number, n.cause and n.cause.value) for n in drawing.nodes if n.number} == {"a": (1, "gradient_is_zero")}


def test_a_write_and_what_reads_it() -> None:
    graph = Graph().variables("w v").read("r", "w").assign("set", "v", "r").read("s", "v").op("loss", "s")
    drawing = check_well_formed(report(graph, sources="w v"))
    assert edges(drawing) == {"w r": "dead", "r set": "break", "set s": "live", "v s": "live", "s loss": "live"}
    assert statuses(drawing)["set"] == "break"

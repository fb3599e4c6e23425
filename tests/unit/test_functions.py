"""Function bodies: opened at each call site, or summarised past a budget with the same verdicts."""

from __future__ import annotations

import pytest

from tapetrace.analysis.flat import Node
from tapetrace.analysis.ways import OPEN, Passage, Way
from tapetrace.model.trace import Gate, Tape, Window
from tapetrace.model.words import Cause
from tests.unit.graphs import Graph, answers, body, causes, connection, ops, report, verdicts

NONE, ZERO, INT, LACKS = Gate.NONE, Gate.ZERO, Gate.NON_FLOAT_INPUT, Gate.UNREGISTERED
BUDGETS = [10_000, 10, 0]


def step(names: str = "w") -> Graph:
    graph = Graph().variables(names).tensors("k", "int32")
    for name in names.split():
        graph.read(f"r{name}", name)
    return graph


def test_names_are_hierarchical_and_a_body_called_twice_is_two_places() -> None:
    inside = body("f", "p").op("twice", "p").returns("twice")
    found = connection([step("u v").call("first", inside, "ru").call("second", inside, "rv").op("loss", "first second"), inside])
    assert {"first/twice", "second/twice"} <= names_of(found.flat.nodes)


def names_of(nodes: list[Node]) -> set[str]:
    return {n.name for n in nodes}


@pytest.mark.parametrize("budget", BUDGETS)
def test_each_call_has_its_own_arguments(budget: int) -> None:
    inside = body("f", "p q").op("stop", "q", NONE, type="StopGradient").op("sum", "p stop").returns("sum")
    graph = step("u v").call("first", inside, "ru rv").op("loss", "first")
    assert verdicts(report([graph, inside], sources="u v", budget=budget)) == {"u": "connected", "v": "none"}
    graph = step("u v").call("first", inside, "ru rv").call("second", inside, "rv ru").op("loss", "first second")
    assert verdicts(report([graph, inside], sources="u v", budget=budget)) == {"u": "connected", "v": "connected"}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("depth", [1, 5, 60])
def test_bodies_nested_to_any_depth(depth: int, budget: int) -> None:
    bodies = [body("f0", "p q").op("stop", "q", NONE, type="StopGradient").op("sum", "p stop").returns("sum")]
    for d in range(depth):
        bodies.append(body(f"f{d + 1}", "p q").call("inner", bodies[-1], "p q").returns("inner"))
    graph = step("u v").call("outer", bodies[-1], "ru rv").op("loss", "outer")
    found = report([graph, *bodies], sources="u v", budget=budget)
    assert verdicts(found) == {"u": "connected", "v": "none"}
    assert causes(found, "v") == ["stop_gradient"]
    if budget == BUDGETS[0]:
        assert ops(found, "v") == ["outer/" + "inner/" * depth + "stop"]


def test_a_body_that_a_graph_calls_but_the_trace_does_not_hold_is_not_claimed_about() -> None:
    inside = body("f", "p").op("twice", "p").returns("twice")
    found = report(step().call("f", inside, "rw").op("loss", "f"))
    assert (verdicts(found), causes(found)) == ({"w": "opaque"}, ["not_probed"])


def test_a_captured_tensor_is_that_of_the_graph_around() -> None:
    outer = Graph("outer").variables("w").read("r", "w").op("h", "r")
    inner = Graph("inner").captured("h", outer, "h").op("a", "h").op("loss", "a")
    inner.place["w"] = len(inner.ops)
    inner.add(outer.ops[0].__class__("w", "Variable", outputs=outer.ops[0].outputs, order=3, outer=("outer", (0, 0))))
    found = report([inner, outer], sources="w")
    assert verdicts(found) == {"w": "connected"}
    assert answers(found)["w"].route == ("w", "r", "h", "a", "loss")


def test_two_graphs_may_use_the_same_names() -> None:
    """The break stood at both ops, and reopening one reopened the other."""
    outer = Graph("outer").variables("w").read("r", "w").op("a", "r", NONE)
    inner = Graph("inner").captured("h", outer, "a").op("a", "h", NONE).op("loss", "a")
    inner.place["w"] = len(inner.ops)
    inner.add(outer.ops[0].__class__("w", "Variable", outputs=outer.ops[0].outputs, order=3, outer=("outer", (0, 0))))
    found = report([inner, outer], sources="w")
    assert ops(found) == ["a", "a (2)"]
    assert [r.reconnects for r in found.root_causes] == [(), ()]


def test_what_a_backward_function_reads_is_no_use_of_a_value() -> None:
    backward = body("b", "p").op("transpose", "p").returns("transpose")
    graph = step().tensors("x").op("a", "rw").call("back", backward, "rw", made_by=0).op("loss", "x")
    assert ops(report([graph, backward])) == ["a"]


# The tape sees a call as one op.


def test_all_results_of_a_recorded_call_are_on_the_tape() -> None:
    inside = body("f", "p q").op("a", "p").op("b", "q").returns("a b")
    graph = step().tensors("x").call("f", inside, "x rw").op("loss", "f:0")
    assert verdicts(report([graph, inside], sources="f", watched="w")) == {"f": "connected"}
    assert verdicts(report([graph, inside], sources="f x", watched="")) == {"f": "none", "x": "none"}


def test_a_call_hands_zeros_back_for_results_that_the_loss_does_not_use() -> None:
    inside = body("f", "p q").op("a", "p").op("b", "q").returns("a b")
    graph = step("u v").call("f", inside, "ru rv").op("loss", "f:0")
    found = report([graph, inside], sources="u v", watched="u v")
    assert verdicts(found) == {"u": "connected", "v": "zero"}
    assert causes(found, "v") == ["unused_result"]


def test_a_call_outside_the_tape_hands_nothing_on() -> None:
    inside = body("f", "p").op("a", "p").returns("a")
    graph = step().call("f", inside, "rw").op("loss", "f")
    for budget in BUDGETS:
        found = report([graph, inside], budget=budget, tape=Tape({"step": (Window(0, 3), Window(4))}))
        assert (verdicts(found), causes(found)) == ({"w": "none"}, ["outside_tape"])


# Summaries.


def summary_of(graph: Graph, *more: Graph) -> list[list[Way]]:
    """The ways through a body that is not opened: rows for its inputs and, after them, for what was written before."""
    names = " ".join(op.name for op in graph.ops if op.type == "Argument")
    caller = Graph().variables(names).call("f", graph, names)
    found = connection([caller.op("loss", "f:0"), graph, *more], sources="", budget=0)
    node = next(n for n in found.flat.nodes if n.kind == "body")
    return [list(row) for row in node.table]


@pytest.mark.parametrize(
    ("gate", "way"),
    [
        (Gate.OPEN, OPEN),
        (NONE, Way(Passage.CLOSED, Cause.GRADIENT_IS_NONE)),
        (ZERO, Way(Passage.CLOSED, Cause.GRADIENT_IS_ZERO, is_zero=True)),
        (Gate.PYTHON, Way(Passage.OPAQUE, Cause.PYTHON_FUNCTION)),
        (LACKS, Way(Passage.CLOSED, Cause.NO_GRADIENT_REGISTERED, raises=True, if_registered=True)),
    ],
)
def test_a_summary_says_what_the_body_does(gate: Gate, way: Way) -> None:
    assert summary_of(body("f", "p").op("a", "p", gate).op("b", "a").returns("b"))[0] == [way]


def test_a_summary_says_what_hangs_together_and_how() -> None:
    inside = body("f", "p q", "i").op("a", "p").op("b", "i", INT).op("c", "q").op("pair", "a b").returns("pair c")
    table = summary_of(inside)
    assert [[w.passage.value for w in row] for row in table[:3]] == [["open", "no_data"], ["no_data", "open"], ["carried", "no_data"]]


def test_a_summary_remembers_that_a_branch_decides() -> None:
    use, empty = body("use", "p").op("a", "p").returns("a"), body("empty", "p").op("zero").returns("zero")
    inside = body("f", "p", "k").cond("c", "k", "p", use, empty).returns("c")
    graph = step().call("f", inside, "rw k").op("loss", "f")
    for budget in BUDGETS:
        found = report([graph, inside, use, empty], budget=budget)
        assert (verdicts(found), causes(found)) == ({"w": "conditional"}, ["other_branch"])


BODIES = {
    "open": body("f", "p q").op("a", "p").op("b", "q").op("c", "a b").returns("c"),
    "half closed": body("f", "p q").op("a", "p", NONE).op("c", "a q").returns("c"),
    "zero": body("f", "p q").op("a", "p", ZERO).op("c", "a q").returns("c"),
    "python": body("f", "p q").op("a", "p", Gate.PYTHON, type="EagerPyFunc").op("c", "a q").returns("c"),
    "unregistered": body("f", "p q").op("a", "p", LACKS).op("c", "a q").returns("c"),
    "unregistered behind": body("f", "p q").op("a", "p", LACKS).op("s", "a", ZERO).op("c", "s q").returns("c"),
    "unregistered beside": body("f", "p q").op("a", "p", LACKS).op("c", "q").returns("c a"),
    "integer": body("f", "p q").op("i", "p", dtypes="int32").op("a", "i", INT).op("c", "a q").returns("c"),
    "unused": body("f", "p q").op("a", "p").op("c", "q").returns("c"),
    "beside": body("f", "p q").op("a", "p").op("c", "q").returns("c a"),
    "straight through": body("f", "p q").op("a", "q").returns("p"),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_verdicts_are_the_same_whether_a_body_is_opened_or_not(name: str) -> None:
    inside = BODIES[name]
    around = body("g", "p q").call("f", inside, "p q").op("d", "f:0").returns("d")
    graph = step("u v").call("g", around, "ru rv").op("loss", "g")
    said = [report([graph, around, inside], sources="u v", watched="u v", budget=budget) for budget in BUDGETS]
    assert verdicts(said[1]) == verdicts(said[0])
    assert verdicts(said[2]) == verdicts(said[0])
    assert [causes(r, n)[:1] for r in said for n in "uv"] == 3 * [causes(said[0], n)[:1] for n in "uv"], "a summary keeps the first cause"


@pytest.mark.parametrize("budget", BUDGETS)
def test_conditionals_and_loops_keep_their_joints_when_their_bodies_are_summarised(budget: int) -> None:
    use, empty = body("use", "p").op("a", "p").returns("a"), body("empty", "p").op("zero").returns("zero")
    inside = body("inside", "p q").op("sum", "p q").returns("sum q")
    decide = body("decide", "p q").op("less", "p", dtypes="bool").returns("less")
    graph = step("u v").cond("c", "k", "ru", use, empty).loop("l", "c rv", inside, decide).op("loss", "l:0")
    found = report([graph, use, empty, inside, decide], sources="u v", budget=budget)
    assert verdicts(found) == {"u": "conditional", "v": "connected"}
    assert [b.detail.split(",")[0] for b in answers(found)["u"].breaks] == ["live only in branch true of If"]

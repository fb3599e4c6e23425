"""Variables as a way for data: written, read back, and no gradient passes."""

from __future__ import annotations

import pytest

from tapetrace.model.trace import Gate, Tape, Window
from tests.unit.graphs import Graph, answers, body, causes, ops, report, verdicts

NONE, INT = Gate.NONE, Gate.NON_FLOAT_INPUT
BUDGETS = [10_000, 0]


def step(names: str = "w v") -> Graph:
    """Reads the variable w; v is there to be written."""
    return Graph().variables(names).tensors("k", "int32").read("r", "w")


def test_a_value_written_and_read_back() -> None:
    found = report(step().assign("set", "v", "r").read("s", "v").op("loss", "s"), sources="w v")
    assert verdicts(found) == {"w": "none", "v": "connected"}
    assert [(b.cause.value, b.op, b.detail) for b in answers(found)["w"].breaks] == [("variable_write", "set", "written into v and read back")]
    assert answers(found)["w"].route == ("w", "r", "set", "s", "loss")


def test_the_variable_is_named_that_a_branch_of_a_branch_writes() -> None:
    inner, other = (body(key, "p", handles="q").assign(f"set_{key}", "q", "p").returns("p") for key in "ab")
    outer = body("outer", "p", "k", "q").cond("deep", "k", "p q", inner, other).returns("deep")
    graph = step().cond("c", "k", "r k v", outer, outer).read("s", "v").op("loss", "s")
    assert {b.detail for b in answers(report([graph, outer, inner, other]))["w"].breaks} == {"written into v and read back"}


def test_a_write_after_the_read_does_not_matter() -> None:
    found = report(step().read("s", "v").assign("set", "v", "r").op("loss", "s"), sources="w v")
    assert verdicts(found) == {"w": "none", "v": "connected"}
    assert causes(found) == ["unused_result"]


def test_an_overwritten_value_is_gone() -> None:
    graph = step("w v u").read("t", "u").assign("set", "v", "r").assign("again", "v", "t").read("s", "v").op("loss", "s")
    found = report(graph, sources="w u")
    assert causes(found, "w") == ["unused_result"]
    assert causes(found, "u") == ["variable_write"]


def test_additions_add_up() -> None:
    graph = step("w v u").read("t", "u").assign("set", "v", "r").assign_add("add", "v", "t").assign_add("more", "v", "t").read("s", "v")
    found = report(graph.op("loss", "s"), sources="w u")
    assert [(b.cause.value, b.op) for n in "wu" for b in answers(found)[n].breaks] == [("variable_write", "set"), ("variable_write", "more")]
    assert answers(found)["w"].route == ("w", "r", "set", "add", "more", "s", "loss")


def test_two_variables_in_a_row_are_two_breaks() -> None:
    graph = step("w v u").assign("set", "v", "r").read("s", "v").assign("next", "u", "s").read("t", "u").op("loss", "t")
    assert ops(report(graph)) == ["set", "next"]


def test_a_write_is_a_break_even_of_an_integer() -> None:
    graph = step().op("argmax", "r", dtypes="int32").assign("set", "v", "argmax").op("s", "v", gates={(0, 0): INT}, dtypes="int32")
    assert causes(report(graph.op("loss", "s", INT))) == ["non_float", "variable_write"]


def test_a_shape_shows_nothing_of_what_was_written() -> None:
    graph = step().assign("set", "v", "r").op("n", "v", type="VariableShape", dtypes="int32").op("loss", "n", INT)
    assert causes(report(graph)) == ["unused_result"]


def test_a_read_outside_the_tape_is_a_second_break() -> None:
    graph = step().assign("set", "v", "r").read("s", "v").op("loss", "s")
    found = report(graph, tape=Tape({"step": (Window(0, 5), Window(6))}))
    assert causes(found) == ["variable_write", "outside_tape"]


def test_a_handle_by_another_name_is_the_same_variable() -> None:
    graph = step().op("same", "v", type="Identity", dtypes="resource").assign("set", "same", "r").read("s", "v").op("loss", "s")
    assert causes(report(graph)) == ["variable_write"]


# Writes inside bodies.


@pytest.mark.parametrize("budget", BUDGETS)
def test_written_in_a_function_and_read_outside(budget: int) -> None:
    inside = body("f", "p", handles="h").assign("set", "h", "p").returns("p")
    graph = step("w v u").call("f", inside, "r v").read("s", "v").read("t", "u").op("loss", "s")
    found = report([graph, inside], budget=budget)
    assert (verdicts(found), causes(found)) == ({"w": "none"}, ["variable_write"])
    assert causes(report([graph.op("other", "t"), inside], "other", budget=budget)) == ["unused_result"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_written_outside_and_read_in_a_function(budget: int) -> None:
    inside = body("f", handles="h").read("s", "h").returns("s")
    found = report([step().assign("set", "v", "r").call("f", inside, "v").op("loss", "f"), inside], sources="w v", budget=budget)
    assert verdicts(found) == {"w": "none", "v": "connected"}
    assert [(b.cause.value, b.op) for b in answers(found)["w"].breaks] == [("variable_write", "set")]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("kind", "cause"), [("assign", "unused_result"), ("assign_add", "variable_write")])
def test_a_function_overwrites_or_adds(kind: str, cause: str, budget: int) -> None:
    inside = body("f", "p", handles="h")
    getattr(inside, kind)("set", "h", "p")
    graph = step("w v u").read("t", "u").assign("first", "v", "r").call("f", inside.returns("p"), "t v").read("s", "v").op("loss", "s")
    found = report([graph, inside], sources="w u", budget=budget)
    assert causes(found, "w") == [cause]
    assert causes(found, "u") == ["variable_write"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_written_two_functions_deep_and_read_in_a_third(budget: int) -> None:
    inner = body("inner", "p", handles="h").assign("set", "h", "p").returns("p")
    outer = body("outer", "p", handles="h").call("i", inner, "p h").returns("i")
    reader = body("reader", handles="h").read("s", "h").returns("s")
    graph = step().call("o", outer, "r v").call("q", reader, "v").op("loss", "q")
    assert causes(report([graph, inner, outer, reader], budget=budget)) == ["variable_write"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_written_in_one_branch_both_values_may_be_there(budget: int) -> None:
    write = body("write", "p", handles="h").assign("set", "h", "p").returns("p")
    leave = body("leave", "p", handles="h").returns("p")
    graph = step("w v u").read("t", "u").assign("first", "v", "t").cond("c", "k", "r v", write, leave).read("s", "v").op("loss", "s")
    found = report([graph, write, leave], sources="w u", budget=budget)
    assert causes(found, "w") == causes(found, "u") == ["variable_write"]
    both = step("w v u").read("t", "u").assign("first", "v", "t").cond("c", "k", "r v", write, write).read("s", "v").op("loss", "s")
    assert causes(report([both, write], sources="u", budget=budget), "u") == ["unused_result"]


def test_a_branch_does_not_see_what_the_other_wrote() -> None:
    write = body("write", "p", handles="h").assign("set", "h", "p").op("zero").returns("zero")
    read = body("read", "p", handles="h").read("s", "h").returns("s")
    graph = step().cond("c", "k", "r v", write, read).op("loss", "c")
    assert causes(report([graph, write, read])) == ["unused_result"]


def loop(inside: Graph, graph: Graph, budget: int = 10_000, target: str = "l:0", sources: str = "w") -> list[str]:
    decide = body("decide", "p q", handles="h").op("less", "p", dtypes="bool").returns("less")
    graph.loop("l", "r r v", inside, decide).read("after", "v").op("loss", target)
    return causes(report([graph, inside, decide], sources=sources, budget=budget), sources)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_variable_that_a_loop_writes_and_reads_is_connected_by_the_reading(budget: int) -> None:
    inside = body("inside", "p q", handles="h").read("s", "h").assign("set", "h", "q").op("next", "s").returns("next q h")
    assert loop(inside, step(), budget, sources="v") == []


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("written_before", [False, True])
def test_a_value_goes_round_through_a_variable(written_before: bool, budget: int) -> None:
    """A write before the loop hid that a later round reads what an earlier one wrote."""
    graph = Graph().variables("w v").tensors("k x").read("rw", "w").op("r", "x")
    if written_before:
        graph.assign("first", "v", "x")
    inside = body("inside", "p q", handles="h").read("s", "h").assign("set", "h", "q").op("next", "p s").returns("next q h")
    decide = body("decide", "p q", handles="h").op("less", "p", dtypes="bool").returns("less")
    graph.loop("l", "x rw v", inside, decide).op("loss", "l:0")
    found = report([graph, inside, decide], budget=budget, watched="w")
    assert causes(found) == ["variable_write"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_a_loop_wrote_or_left_is_read_after_it(budget: int) -> None:
    """The loop may run no round, so what was there before may still be there."""
    inside = body("inside", "p q", handles="h").op("new").assign("set", "h", "new").returns("p q h")
    assert loop(inside, step().assign("first", "v", "r"), budget, "after") == ["variable_write"]
    wrote = body("inside", "p q", handles="h").assign("set", "h", "q").returns("p q h")
    assert loop(wrote, step(), budget, "after") == ["variable_write"]


def test_a_round_that_writes_first_does_not_read_the_round_before() -> None:
    inside = body("inside", "p q", handles="h").op("new").assign("set", "h", "new").read("s", "h").assign("late", "h", "q").returns("s q h")
    graph = Graph().variables("w v").tensors("x").read("rw", "w")
    decide = body("decide", "p q", handles="h").op("less", "p", dtypes="bool").returns("less")
    graph.loop("l", "x rw v", inside, decide).op("loss", "l:0")
    assert causes(report([graph, inside, decide])) == ["unused_result"]


def test_loops_in_loops_hand_writes_round_both() -> None:
    inner = body("inner", "p q", handles="h").read("s", "h").op("next", "p s").returns("next q h")
    outer_decide = body("decide", "p q", handles="h").op("less", "p", dtypes="bool").returns("less")
    outer = body("outer", "p q", handles="h").loop("i", "p q h", inner, outer_decide).assign("set", "h", "q").returns("i:0 q h")
    graph = Graph().variables("w v").tensors("x").read("rw", "w").loop("l", "x rw v", outer, outer_decide).op("loss", "l:0")
    assert causes(report([graph, inner, outer, outer_decide])) == ["variable_write"]

"""Conditionals: live in some branch or in all."""

from __future__ import annotations

import pytest

from tapetrace.analysis.choices import ALWAYS, NEVER, Choices, TooManyChoices
from tapetrace.model.report import Report
from tapetrace.model.trace import Gate
from tests.unit.graphs import Graph, answers, body, connection, names, report, verdicts

NONE = Gate.NONE
USE = body("use", "p").op("twice", "p").returns("twice")
DROP = body("drop", "p").op("stop", "p", NONE, type="StopGradient").returns("stop")
EMPTY = body("empty", "p").op("zero").returns("zero")


def step(names: str = "w") -> Graph:
    graph = Graph().variables(names).tensors("k l", "int32")
    for name in names.split():
        graph.read(f"r{name}", name)
    return graph


def branches(found: Report, name: str = "w") -> list[str]:
    """Conditional and branch of each break."""
    return [f"{b.op} {b.detail.split()[4]}" for b in answers(found)[name].breaks if b.cause.value == "other_branch"]


@pytest.mark.parametrize(
    ("true", "false", "verdict", "taken"),
    [
        (USE, USE, "connected", []),
        (USE, EMPTY, "conditional", ["c true"]),
        (DROP, USE, "conditional", ["c false"]),
        (DROP, EMPTY, "none", []),
    ],
)
def test_two_branches(true: Graph, false: Graph, verdict: str, taken: list[str]) -> None:
    found = report([step().cond("c", "k", "rw", true, false).op("loss", "c"), USE, DROP, EMPTY])
    assert verdicts(found) == {"w": verdict}
    assert branches(found) == taken
    assert found.ok == (verdict != "none")


@pytest.mark.parametrize(("used", "verdict"), [("000", "none"), ("010", "conditional"), ("110", "conditional"), ("111", "connected")])
def test_three_branches(used: str, verdict: str) -> None:
    parts = [USE if u == "1" else EMPTY for u in used]
    found = report([step().cond("c", "k", "rw", *parts).op("loss", "c"), USE, EMPTY])
    assert verdicts(found) == {"w": verdict}
    assert branches(found) == ([f"c {used.index('1')}"] if verdict == "conditional" else [])


def test_the_detail_says_what_decides() -> None:
    graph = step().op("greater", "rw", dtypes="bool", line=4).cond("c", "greater", "rw", USE, EMPTY, line=5).op("loss", "c")
    found = answers(report([graph, USE, EMPTY]))["w"].breaks[0]
    assert (found.op, found.type, found.location and found.location.line) == ("c", "If", 5)
    assert found.detail == "live only in branch true of If, decided by Op at step.py:4"


def test_the_condition_itself_is_a_data_path_without_gradient() -> None:
    graph = step("w u").op("greater", "rw", dtypes="bool").cond("c", "greater", "ru", USE, USE).op("loss", "c")
    found = report([graph, USE], sources="w u")
    assert verdicts(found) == {"w": "none", "u": "connected"}
    assert [(b.cause.value, b.op) for b in answers(found)["w"].breaks] == [("non_float", "greater")]
    assert answers(found)["w"].route == ("w", "rw", "greater", "c:0", "loss")


def test_a_way_around_the_conditional_connects() -> None:
    found = report([step().cond("c", "k", "rw", USE, EMPTY).op("loss", "c rw"), USE, EMPTY])
    assert verdicts(found) == {"w": "connected"}


def test_each_branch_may_use_another_tensor_of_the_variable() -> None:
    """Each tensor alone is live in one branch only; the variable is live in both."""
    first, second = body("first", "p q").op("f", "p").returns("f"), body("second", "p q").op("g", "q").returns("g")
    graph = step().op("a", "rw").op("b", "rw").cond("c", "k", "a b", first, second).op("loss", "c")
    found = connection([graph, first, second])
    assert names(found, found.live.possible - found.live.always) == {"a", "b"}
    assert verdicts(report([graph, first, second])) == {"w": "connected"}


def test_each_branch_may_use_another_output() -> None:
    first = body("first", "p").op("f", "p").op("zero").returns("f zero")
    second = body("second", "p").op("g", "p").op("zero").returns("zero g")
    graph = step().cond("c", "k", "rw", first, second).op("loss", "c:0 c:1").op("half", "c:0")
    assert verdicts(report([graph, first, second])) == {"w": "connected"}
    assert verdicts(report([graph, first, second], "half")) == {"w": "conditional"}


def test_two_conditionals_in_a_row_are_two_choices() -> None:
    graph = step().cond("c", "k", "rw", USE, EMPTY).cond("d", "l", "c", EMPTY, USE).op("loss", "d")
    assert branches(report([graph, USE, EMPTY])) == ["c true", "d false"]


def test_two_conditionals_side_by_side_may_both_miss() -> None:
    graph = step().cond("c", "k", "rw", USE, EMPTY).cond("d", "l", "rw", EMPTY, USE).op("loss", "c d")
    found = report([graph, USE, EMPTY])
    assert verdicts(found) == {"w": "conditional"}
    assert len(branches(found)) == 1


def nested(inner_true: Graph, inner_false: Graph, outer_false: Graph) -> Report:
    inside = body("inside", "p", "k").cond("d", "k", "p", inner_true, inner_false).returns("d")
    other = body("other", "p", "k").call("f", outer_false, "p").returns("f")
    graph = step().cond("c", "k", "rw k", inside, other).op("loss", "c")
    return report([graph, inside, other, inner_true, inner_false, outer_false])


@pytest.mark.parametrize(
    ("inner_true", "inner_false", "outer_false", "verdict", "taken"),
    [
        (USE, USE, USE, "connected", []),
        (USE, EMPTY, EMPTY, "conditional", ["c true", "c/true/d true"]),
        (EMPTY, USE, EMPTY, "conditional", ["c true", "c/true/d false"]),
        (USE, USE, EMPTY, "conditional", ["c true"]),
        (EMPTY, EMPTY, USE, "conditional", ["c false"]),
        (EMPTY, EMPTY, EMPTY, "none", []),
    ],
)
def test_nested(inner_true: Graph, inner_false: Graph, outer_false: Graph, verdict: str, taken: list[str]) -> None:
    found = nested(inner_true, inner_false, outer_false)
    assert verdicts(found) == {"w": verdict}
    assert branches(found) == taken


def test_the_branch_that_suffices_is_named_when_another_needs_a_second_choice() -> None:
    """Both outer branches let gradient through, one of them only sometimes: the report named no branch at all."""
    found = nested(USE, EMPTY, USE)
    assert verdicts(found) == {"w": "conditional"}
    assert branches(found) == ["c false"]


def test_a_conditional_inside_a_loop() -> None:
    inside = body("inside", "v w", "i k").cond("c", "k", "w", USE, EMPTY).op("sum", "v c").op("more", "i", dtypes="int32").returns("sum w more k")
    decide = body("decide", "v w", "i k").op("less", "i", dtypes="bool").returns("less")
    graph = step("w u").loop("l", "ru rw k l", inside, decide).op("loss", "l:0")
    found = report([graph, inside, decide, USE, EMPTY], sources="w u")
    assert verdicts(found) == {"w": "conditional", "u": "connected"}
    assert branches(found) == ["l/body/c true"]


def test_a_loop_inside_a_conditional() -> None:
    inside = body("inside", "v").op("half", "v").returns("half")
    decide = body("decide", "v").op("less", "v", dtypes="bool").returns("less")
    looped = body("looped", "p").loop("l", "p", inside, decide).returns("l")
    graph = step().cond("c", "k", "rw", looped, EMPTY).op("loss", "c")
    assert branches(report([graph, looped, inside, decide, EMPTY])) == ["c true"]


def test_past_too_many_conditionals_each_is_judged_alone() -> None:
    """The coarser answer may call a connected source conditional, never the other way round."""
    first, second = body("first", "p q").op("f", "p").returns("f"), body("second", "p q").op("g", "q").returns("g")
    graph = step("w u").op("a", "rw").op("b", "rw").cond("c", "k", "a b", first, second)
    last = "c"
    for n in range(200):
        graph.cond(f"d{n}", "l", f"{last} ru", first, second)
        last = f"d{n}"
    found = report([graph.op("loss", f"{last} c"), first, second], sources="w u")
    assert verdicts(found) == {"w": "conditional", "u": "conditional"}


# Decision diagrams.


def test_a_diagram_is_known_by_what_it_says() -> None:
    choices = Choices()
    yes, no = choices.taken(0, 0, 2), choices.taken(0, 1, 2)
    other = choices.taken(1, 0, 3)
    assert choices.either(yes, no) == ALWAYS
    assert choices.both(yes, no) == NEVER
    assert choices.both(yes, choices.either(no, other)) == choices.both(yes, other)
    assert choices.either(choices.both(yes, other), choices.both(no, other)) == other
    assert choices.either(choices.taken(1, 1, 3), choices.either(other, choices.taken(1, 2, 3))) == ALWAYS


def test_diagrams_that_grow_too_large_are_given_up() -> None:
    choices = Choices(limit=4)
    first, second = choices.taken(0, 0, 2), choices.taken(1, 0, 2)
    with pytest.raises(TooManyChoices):
        choices.both(first, second)

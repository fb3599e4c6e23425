"""What the tape recorded, and what it watched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.analysis.analyse import analyse
from tapetrace.model.locations import Frame
from tapetrace.model.trace import Gate, Tape, Window
from tests.unit.graphs import Graph, answers, body, call, causes, ops, report, trace, verdicts

NONE = Gate.NONE


def step() -> Graph:
    """w is op 0, then r, a, b, c and loss are 1 to 5."""
    return Graph().variables("w").read("r", "w").op("a", "r").op("b", "a").op("c", "b").op("loss", "c")


def tape(*windows: Window, **facts: object) -> Tape:
    return Tape({"step": windows}, **facts)  # type: ignore[arg-type]


WINDOWS = [
    (tape(Window(0)), [], []),
    (tape(Window(0, 6)), [], []),
    (tape(Window(3)), ["outside_tape"], ["r"]),
    (tape(Window(0, 5)), ["outside_tape"], ["loss"]),
    (tape(Window(2, 4)), ["outside_tape", "outside_tape"], ["r", "c"]),
    (tape(Window(0, 2), Window(2, 4, stopped=True), Window(4)), ["recording_stopped"], ["a"]),
    (tape(Window(0, 2), Window(2, 4, stopped=True), Window(5)), ["recording_stopped", "outside_tape"], ["a", "c"]),
    (tape(), ["outside_tape"], ["r"]),
    (Tape({"elsewhere": ()}), [], []),
]


@pytest.mark.parametrize(("recorded", "expected", "at"), WINDOWS)
def test_windows(recorded: Tape, expected: list[str], at: list[str]) -> None:
    found = report(step(), tape=recorded)
    assert (causes(found), ops(found)) == (expected, at)
    assert verdicts(found) == {"w": "none" if expected else "connected"}


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (tape(Window(3)), "before"),
        (tape(Window(0, 4)), "after"),
        (tape(Window(4), was_reset=True), "reset"),
    ],
)
def test_the_remedy_knows_on_which_side_of_the_tape_a_line_runs(recorded: Tape, words: str) -> None:
    opened = replace(recorded, opened=Frame("step.py", 3, "step"))
    assert words in answers(report(step(), tape=opened))["w"].breaks[0].remedy


def test_an_op_outside_that_is_closed_anyway_is_named_for_what_it_is() -> None:
    graph = Graph().variables("w").read("r", "w").op("a", "r", NONE, type="StopGradient").op("loss", "a")
    assert causes(report(graph, tape=tape(Window(0, 2), Window(3)))) == ["stop_gradient"]


def test_a_variable_that_is_read_outside_only() -> None:
    graph = Graph().variables("w u").read("r", "w").read("s", "u").op("loss", "r s")
    found = report(graph, sources="w u", watched="u", tape=tape(Window(3)))
    assert verdicts(found) == {"w": "none", "u": "connected"}
    assert causes(found) == ["outside_tape"]


# Watching.


def tensors() -> Graph:
    """x is op 0, then a, b and loss are 1 to 3."""
    return Graph().tensors("x").op("a", "x").op("b", "a").op("loss", "b a")


def test_a_tensor_must_be_watched() -> None:
    found = report(tensors(), sources="x", watched="")
    assert (verdicts(found), causes(found, "x")) == ({"x": "none"}, ["not_watched"])
    assert verdicts(report(tensors(), sources="x", watched="x")) == {"x": "connected"}
    assert verdicts(report(tensors(), sources="x")) == {"x": "connected"}, "tf.gradients has no tape"


def test_what_is_computed_from_a_watched_tensor_is_on_the_tape() -> None:
    assert verdicts(report(tensors(), sources="a b", watched="x")) == {"a": "connected", "b": "connected"}
    assert verdicts(report(tensors(), sources="a b", watched="b")) == {"a": "none", "b": "connected"}


def test_an_integer_in_between_takes_what_follows_off_the_tape() -> None:
    graph = Graph().tensors("x").op("i", "x", dtypes="int32").op("f", "i").op("loss", "f x")
    found = report(graph, sources="f", watched="x")
    assert (verdicts(found), causes(found, "f")) == ({"f": "none"}, ["not_watched"])


def test_what_an_op_without_gradient_returns_is_on_the_tape_all_the_same() -> None:
    graph = Graph().tensors("x").op("floor", "x", NONE).op("loss", "floor x")
    assert verdicts(report(graph, sources="floor", watched="x")) == {"floor": "connected"}


def test_stop_gradient_takes_its_result_off_the_tape() -> None:
    """`tf.stop_gradient` stops the tapes while it adds its op; inside a function that is one op to them it does not."""
    graph = Graph().tensors("x").op("stop", "x", NONE, type="StopGradient").op("loss", "stop x")
    assert verdicts(report(graph, sources="stop", watched="x")) == {"stop": "none"}
    inside = body("f", "p").op("stop", "p", NONE, type="StopGradient").returns("stop")
    graph = Graph().tensors("x").call("f", inside, "x").op("loss", "f x")
    assert verdicts(report([graph, inside], sources="f", watched="x")) == {"f": "connected"}


def test_what_is_computed_outside_the_tape_is_not_on_it() -> None:
    found = report(tensors(), sources="a", watched="x", tape=tape(Window(2)))
    assert causes(found, "a") == ["not_watched"]


def test_a_tensor_that_is_watched_after_its_last_use() -> None:
    found = report(tensors(), sources="x", watched={"x": 3})
    assert (verdicts(found), causes(found, "x")) == ({"x": "none"}, ["not_watched"])
    assert [r.reconnects for r in found.root_causes] == [("x",)]


def test_a_use_after_watching_is_enough() -> None:
    graph = Graph().tensors("x").op("early", "x").op("late", "x").op("loss", "early late")
    assert verdicts(report(graph, sources="x", watched={"x": 2})) == {"x": "connected"}
    stopped = Graph().tensors("x").op("early", "x").op("late", "x", NONE).op("loss", "early late")
    assert verdicts(report(stopped, sources="x", watched={"x": 2})) == {"x": "none"}


def test_watching_twice_counts_from_the_first_time() -> None:
    once = call(tensors(), sources="x", watched={"x": 0})
    for orders in ((0, 3), (3, 0)):
        twice = replace(once, watched=tuple(((0, 0), order) for order in orders))
        assert verdicts(analyse(trace(tensors(), twice))) == {"x": "connected"}


def test_a_tensor_on_the_tape_already_may_be_watched_late() -> None:
    assert verdicts(report(tensors(), sources="a", watched={"x": 0, "a": 3})) == {"a": "connected"}


def test_a_late_watch_does_not_cut_what_is_recorded_upstream() -> None:
    found = report(tensors(), sources="x", watched={"x": 0, "a": 3})
    assert verdicts(found) == {"x": "connected"}


# Variables.


def test_a_variable_that_is_not_trainable_is_not_watched_by_itself() -> None:
    found = report(step(), watched="", facts={"trainable": False})
    assert (verdicts(found), causes(found)) == ({"w": "none"}, ["not_watched"])
    assert verdicts(report(step(), watched="w", facts={"trainable": False})) == {"w": "connected"}


def test_a_tape_that_watches_nothing_by_itself() -> None:
    silent = Tape(watches_variables=False)
    assert causes(report(step(), watched="", tape=silent)) == ["not_watched"]
    assert verdicts(report(step(), watched="w", tape=silent)) == {"w": "connected"}


@pytest.mark.parametrize(
    ("watches", "trainable", "verdict"), [(True, True, "connected"), (False, True, "none"), (True, False, "none")]
)  # fmt: skip
def test_a_variable_watched_by_hand_after_it_was_read(watches: bool, trainable: bool, verdict: str) -> None:
    """Every watched variable is listed with rank 0 too; only what the tape watches by itself counts from there."""
    once = call(step(), watched="w", tape=Tape(watches_variables=watches), facts={"trainable": trainable})
    found = analyse(trace(step(), replace(once, watched=(((0, 0), 3), ((0, 0), 0)))))
    assert verdicts(found) == {"w": verdict}


def test_not_watched_comes_before_the_breaks_on_the_way() -> None:
    graph = Graph().tensors("x").op("stop", "x", NONE, type="StopGradient").op("loss", "stop")
    assert causes(report(graph, sources="x", watched=""), "x") == ["not_watched", "stop_gradient"]


def test_a_tape_opened_around_a_function_records_the_whole_call() -> None:
    inside = body("f", "p").op("a", "p").returns("a")
    graph = Graph().variables("w").read("r", "w").call("f", inside, "r").op("loss", "f")
    assert verdicts(report([graph, inside], tape=tape(Window(0)))) == {"w": "connected"}
    assert ops(report([graph, inside], tape=tape(Window(0, 2), Window(3)))) == ["f/a"]


def test_a_conditional_outside_the_tape_hands_nothing_on_even_straight_through() -> None:
    straight = body("straight", "p").returns("p")
    graph = Graph().variables("w").tensors("k", "int32").read("r", "w").cond("c", "k", "r", straight, straight).op("loss", "c")
    found = report([graph, straight], tape=tape(Window(0, 3), Window(4)))
    assert (verdicts(found), causes(found)) == ({"w": "none"}, ["outside_tape"])

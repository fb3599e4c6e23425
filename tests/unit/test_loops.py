"""Loops: a loop variable may have come round any number of times, but once at least. A loop that gets gradient for one result hands zeros back
for the others."""

from __future__ import annotations

from tapetrace.model.report import Report
from tapetrace.model.trace import Gate, Tape, Window
from tests.unit.graphs import Graph, answers, body, causes, connection, names, report, verdicts

NONE, INT = Gate.NONE, Gate.NON_FLOAT_INPUT


def looped(results: str, inside: Graph, start: str = "ra rb rc", target: str = "l:0", **more: object) -> Report:
    """Loop variables p, q, r start as the variables a, b, c; ``inside`` makes the next round's."""
    decide = body("decide", "p q r").op("less", "p", dtypes="bool").returns("less")
    graph = Graph().variables("a b c").read("ra", "a").read("rb", "b").read("rc", "c")
    graph.loop("l", start, inside.returns(results), decide).op("loss", target)
    return report([graph, inside, decide], sources="a b c", **more)  # type: ignore[arg-type]


def rounds() -> Graph:
    return body("rounds", "p q r")


def test_a_source_that_reaches_the_output_after_two_rounds_only() -> None:
    """p takes q, q takes r: c comes to p in the second round, and a never comes out."""
    assert verdicts(looped("q r r", rounds())) == {"a": "zero", "b": "connected", "c": "connected"}


def test_a_start_that_the_first_round_replaces_is_unused() -> None:
    found = looped("p new r", rounds().op("new"), target="l:1")
    assert verdicts(found) == {"a": "zero", "b": "zero", "c": "zero"}
    first = answers(found)["b"].breaks[0]
    assert (first.cause.value, first.op) == ("unused_result", "l/body/new")
    assert first.detail == "each round of the loop puts this in its place, without using it"


def test_a_state_that_each_round_stops_is_stopped_there() -> None:
    found = looped("p stop r", rounds().op("more", "q").op("stop", "more", NONE, type="StopGradient"), target="l:1")
    assert verdicts(found) == {"a": "zero", "b": "zero", "c": "zero"}
    assert causes(found, "b") == ["stop_gradient"]
    assert ("b",) in [r.reconnects for r in found.root_causes]


def test_what_never_comes_to_the_output_is_unused() -> None:
    found = looped("more q r", rounds().op("more", "p").op("side", "q"))
    assert verdicts(found) == {"a": "connected", "b": "zero", "c": "zero"}
    assert (causes(found, "b"), answers(found)["b"].breaks[0].op) == (["unused_result"], "l/body/side")


def test_a_loop_invariant_is_live_through_the_body() -> None:
    assert verdicts(looped("sum q r", rounds().op("sum", "p q"))) == {"a": "connected", "b": "connected", "c": "zero"}


def test_a_break_inside_the_body_is_met_on_the_way_round() -> None:
    found = looped("sum stop r", rounds().op("stop", "r", NONE, type="StopGradient").op("sum", "p q"))
    assert verdicts(found) == {"a": "connected", "b": "connected", "c": "zero"}
    assert causes(found, "c") == ["stop_gradient"]
    assert answers(found)["c"].route == ("c", "rc", "l/variable:2", "l/body/stop", "l/variable:1", "l/body/sum", "l:0", "loss")


def test_what_decides_about_another_round_carries_no_gradient() -> None:
    decide = body("decide", "p q").op("less", "q", dtypes="bool").returns("less")
    inside = body("inside", "p q").op("more", "p").returns("more q")
    graph = Graph().variables("a b").read("ra", "a").read("rb", "b").loop("l", "ra rb", inside, decide).op("loss", "l:0")
    found = report([graph, inside, decide], sources="a b")
    assert verdicts(found) == {"a": "connected", "b": "zero"}
    assert [(b.cause.value, b.op) for b in answers(found)["b"].breaks] == [("non_float", "l/cond/less")]


def test_a_loop_that_the_tape_did_not_record_hands_nothing_on() -> None:
    """Not even what comes out unchanged after no round: the start seemed to go straight through."""
    found = looped("more q r", rounds().op("more", "p"), tape=Tape({"step": (Window(0, 6), Window(7))}), target="l:0 l:1")
    assert set(verdicts(found).values()) == {"none"}
    assert causes(found, "a") == ["outside_tape"]


def test_an_integer_counter_is_handed_on_and_no_break() -> None:
    inside = body("inside", "p", "i").op("one", "i", dtypes="int32").op("scale", "i", INT).op("more", "p scale").returns("more one")
    decide = body("decide", "p", "i").op("less", "i", dtypes="bool").returns("less")
    graph = Graph().variables("a b").read("ra", "a").read("rb", "b").op("start", "rb", dtypes="int32")
    graph.loop("l", "ra start", inside, decide).op("loss", "l:0")
    found = report([graph, inside, decide], sources="a b")
    assert verdicts(found) == {"a": "connected", "b": "none"}
    assert [(b.cause.value, b.op) for b in answers(found)["b"].breaks] == [("non_float", "start")]


def test_a_loop_in_a_loop() -> None:
    inner = body("inner", "p q").op("sum", "p q").returns("sum q")
    decide = body("decide", "p q").op("less", "p", dtypes="bool").returns("less")
    outer = body("outer", "p q").loop("i", "p q", inner, decide).op("next", "i:1").returns("i:0 next")
    graph = Graph().variables("a b").read("ra", "a").read("rb", "b").loop("o", "ra rb", outer, decide).op("loss", "o:0")
    found = connection([graph, inner, outer, decide], sources="a b")
    assert {"a", "b", "o/body/next", "o/body/i/body/sum"} <= names(found, found.live.always)


def test_a_loop_is_one_op_to_the_tape() -> None:
    """What comes out of it is on the tape as soon as any loop variable is."""
    inside = body("inside", "p q").op("more", "p").op("product", "q").returns("more product")
    decide = body("decide", "p q").op("less", "p", dtypes="bool").returns("less")
    graph = Graph().variables("w").tensors("x").read("r", "w").loop("l", "x r", inside, decide).op("loss", "l:0")
    found = report([graph, inside, decide], sources="l", watched="w")
    assert verdicts(found) == {"l": "connected"}
    assert verdicts(report([graph, inside, decide], sources="l", watched="")) == {"l": "none"}


def test_an_op_without_gradient_on_an_unwatched_loop_variable_does_not_raise() -> None:
    inside = body("inside", "p q", handles="w").op("x", "q", Gate.UNREGISTERED).read("r", "w").op("sum", "p x r").returns("sum q w")
    decide = body("decide", "p q", handles="w").op("less", "p", dtypes="bool").returns("less")
    graph = Graph().variables("w").tensors("x y").loop("l", "x y w", inside, decide).op("loss", "l:0")
    assert verdicts(report([graph, inside, decide], watched="w")) == {"w": "connected"}
    assert verdicts(report([graph, inside, decide], watched="w y")) == {"w": "error"}

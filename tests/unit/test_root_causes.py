"""Breaks grouped by place, ranked by what mending that place alone brings to life."""

from __future__ import annotations

from tapetrace.analysis.analyse import analyse
from tapetrace.model.report import Report
from tapetrace.model.trace import Gate, Tape, Window
from tests.unit.graphs import Graph, answers, body, call, report, trace, verdicts

OPEN, NONE, ZERO, INT, LACKS = Gate.OPEN, Gate.NONE, Gate.ZERO, Gate.NON_FLOAT_INPUT, Gate.UNREGISTERED


def roots(found: Report) -> list[tuple[str, str, str]]:
    """(ops, sources blocked, sources reconnected) of each root cause, in order."""
    return [(" ".join(n for n, _ in r.ops), " ".join(r.blocks), " ".join(r.reconnects)) for r in found.root_causes]


def read_all(graph: Graph, names: str) -> Graph:
    graph.variables(names)
    for name in names.split():
        graph.read(f"r{name}", name)
    return graph


def test_breaks_of_one_line_are_one_place() -> None:
    graph = read_all(Graph(), "u v w").op("a", "ru", NONE, line=7).op("b", "rv", NONE, line=7).op("c", "rw", NONE, line=8).op("loss", "a b c")
    found = report(graph, sources="u v w")
    assert roots(found) == [("a b", "u v", "u v"), ("c", "w", "w")]
    assert [r.number for r in found.root_causes] == [1, 2]
    assert [answers(found)[n].breaks[0].root_cause for n in "uvw"] == [1, 1, 2]


def test_one_line_with_two_causes_is_two_places() -> None:
    graph = read_all(Graph(), "u v").op("a", "ru", NONE, line=7).op("b", "rv", NONE, type="StopGradient", line=7).op("loss", "a b")
    assert [r.cause.value for r in report(graph, sources="u v").root_causes] == ["gradient_is_none", "stop_gradient"]


def test_what_reconnects_most_comes_first_then_what_blocks_most() -> None:
    graph = read_all(Graph(), "s t u v w").op("a", "rs rt", NONE).op("b", "a", NONE).op("c", "ru", NONE).op("d", "rv rw", NONE).op("loss", "b c d")
    assert roots(report(graph, sources="s t u v w")) == [("d", "v w", "v w"), ("c", "u", "u"), ("a", "s t", ""), ("b", "s t", "")]


def test_reopening_reconnects_whatever_it_alone_blocks() -> None:
    """Two places in a row: mending the one nearer to the target frees what enters between them."""
    graph = read_all(Graph(), "u v").op("a", "ru", NONE).op("m", "a rv").op("b", "m", NONE).op("loss", "b")
    assert roots(report(graph, sources="u v")) == [("b", "u v", "v"), ("a", "u", "")]


def test_an_integer_that_becomes_an_index_is_cut_twice() -> None:
    """Kept float, it would not go in as an index; both at one line are mended there."""
    for line, expected in ((2, [("cast", "w", ""), ("take", "w", "")]), (1, [("cast take", "w", "w")])):
        graph = read_all(Graph(), "w").op("cast", "rw", dtypes="int32", line=1).op("next", "cast", dtypes="int32", line=1).op("rows")
        found = report(graph.op("take", "rows next", type="Gather", integers="- indices", line=line).op("loss", "take"), sources="w")
        assert roots(found) == expected
        assert [b.detail for b in answers(found)["w"].breaks] == ["the value is int32 from here on", "`indices` takes integers only"]


def test_an_integer_that_becomes_a_float_again_is_cut_once() -> None:
    graph = read_all(Graph(), "w").op("cast", "rw", dtypes="int32").op("back", "cast").op("rows").op("take", "rows cast", integers="- indices")
    assert roots(report(graph.op("loss", "take back"), sources="w")) == [("cast", "w", "w")]


def test_ops_that_round_on_one_line_share_a_remedy() -> None:
    graph = read_all(Graph(), "u v").op("a", "ru", NONE, type="Floor", line=1).op("b", "rv", NONE, type="Round", line=1).op("loss", "a b")
    assert report(graph, sources="u v").root_causes[0].remedy.startswith("`tf.floor` and `tf.round` are flat")


def test_a_source_that_another_way_leads_past_is_reconnected_by_either() -> None:
    graph = read_all(Graph(), "w").op("a", "rw", NONE).op("b", "rw", NONE).op("loss", "a b")
    found = report(graph)
    assert roots(found) == [("a", "w", "w")]
    assert not found.root_causes[0].dominates


def test_a_place_that_every_path_crosses_dominates() -> None:
    graph = read_all(Graph(), "u v").op("a", "ru").op("b", "a ru rv").op("stop", "b", NONE, type="StopGradient").op("loss", "stop")
    assert [r.dominates for r in report(graph, sources="u v").root_causes] == [True]


def test_a_shape_beside_it_takes_nothing_from_a_dominator() -> None:
    graph = read_all(Graph(), "w").op("stop", "rw", NONE, type="StopGradient").op("n", "rw", type="Size", dtypes="int32").op("loss", "stop n")
    assert report(graph).root_causes[0].dominates


def test_what_has_no_path_is_dominated_by_nothing() -> None:
    found = report(read_all(Graph(), "u w").op("end", "rw").op("loss", "ru"), sources="w u")
    assert [(r.cause.value, r.dominates, r.reconnects) for r in found.root_causes] == [("unused_result", False, ())]


def test_mending_an_integer_mends_what_hands_it_on() -> None:
    graph = read_all(Graph(), "u v").op("argmax", "ru", dtypes="int32").op("k", "rv", dtypes="int32").op("sum", "argmax k", INT, dtypes="int32")
    assert roots(report(graph.op("loss", "sum", INT), sources="u v")) == [("argmax", "u", "u"), ("k", "v", "v")]


def test_an_integer_target_becomes_a_float_one() -> None:
    graph = read_all(Graph(), "w").op("loss", "rw", dtypes="int32")
    assert roots(report(graph, float_target=False)) == [("loss", "w", "w")]


def test_a_break_before_an_integer_target_is_not_mended_by_opening_it() -> None:
    graph = read_all(Graph(), "w").op("floor", "rw", NONE).op("loss", "floor", dtypes="int32")
    assert roots(report(graph, float_target=False)) == [("floor", "w", ""), ("loss", "w", "")]


# Stretches outside the tape.


def test_moving_the_first_line_into_the_tape_takes_what_follows_along() -> None:
    """Either line claimed to reconnect everything."""
    graph = Graph().variables("u v").read("ru", "u", line=1).op("f", "ru", line=1).read("rv", "v", line=2).op("g", "f rv", line=2).op("loss", "g")
    found = report(graph, sources="u v", tape=Tape({"step": (Window(6),)}))
    assert roots(found) == [("ru", "u", "u v"), ("rv", "v", "v")]


def test_moving_a_later_line_leaves_the_earlier_outside() -> None:
    graph = Graph().variables("u v").read("ru", "u", line=1).op("f", "ru", line=1).op("inside", "f")
    graph.read("rv", "v", line=2).op("g", "inside rv", line=2).op("loss", "g")
    found = report(graph, sources="u v", tape=Tape({"step": (Window(4, 5), Window(7))}))
    assert roots(found) == [("g rv", "u v", "v"), ("ru", "u", "")]


# Sources that are not even looked at by the tape.


def test_watching_reconnects_a_source_with_no_other_break() -> None:
    graph = Graph().tensors("x y z").op("stop", "y", NONE, type="StopGradient").op("loss", "x stop")
    found = report(graph, sources="x y z", watched="")
    assert verdicts(found) == {"x": "none", "y": "none", "z": "none"}
    watching = [r for r in found.root_causes if r.cause.value == "not_watched"]
    assert [n for r in watching for n in r.reconnects] == ["x"]


def test_a_watched_nothing_is_still_never_read() -> None:
    """`watch` alone seemed to reconnect a tensor that nothing reads."""
    found = report(Graph().tensors("x z").op("loss", "x"), sources="z", watched="")
    assert [b.cause.value for b in answers(found)["z"].breaks] == ["not_watched", "never_read"]
    assert [r.reconnects for r in found.root_causes] == [(), ()]


def test_mending_an_op_does_not_make_an_integer_variable_a_float() -> None:
    graph = read_all(Graph(), "w").tensors("k", "int32").op("kf", "k", INT).op("stop", "kf rw", NONE, gates={(0, 0): NONE}, type="StopGradient")
    found = report(graph.op("loss", "stop"), sources="w k")
    assert ("stop", "w k", "w") in roots(found)


# Calls that raise.


def test_mending_the_op_that_lacks_a_gradient_reconnects_all() -> None:
    graph = read_all(Graph(), "u v w").op("x", "rw", LACKS).op("stop", "rv", NONE, type="StopGradient").op("loss", "x ru stop")
    found = report(graph, sources="u v w", watched="u v w")
    assert roots(found) == [("x", "u w", "u w"), ("stop", "v", "v")]


def test_mending_one_of_two_such_ops_reconnects_nothing() -> None:
    graph = read_all(Graph(), "u w").op("x", "rw", LACKS).op("y", "ru", LACKS).op("loss", "x y")
    assert [(ops, again) for ops, _, again in roots(report(graph, sources="u w", watched="u w"))] == [("y", ""), ("x", "")]


def test_two_such_ops_beside_each_other_on_one_line_are_mended_together() -> None:
    for line, expected in ((1, ["w"]), (2, [""])):
        graph = read_all(Graph(), "w").op("a", "rw", LACKS, line=1).op("b", "rw", LACKS, line=line).op("loss", "a b")
        assert [reconnected for _, _, reconnected in roots(report(graph, sources="w"))] == expected


def test_behind_such_an_op_there_may_be_another() -> None:
    graph = read_all(Graph(), "w u").op("x", "rw", LACKS).op("m", "x ru").op("y", "m", LACKS).op("loss", "y")
    found = report(graph, sources="w u", watched="w u")
    assert [(ops, again) for ops, _, again in roots(found)] == [("y", ""), ("x", "")]


def test_mending_a_place_behind_which_the_call_would_raise_reconnects_nothing() -> None:
    graph = read_all(Graph(), "w v u").op("x", "rw", LACKS).op("m", "x rv").op("stop", "m", NONE, type="StopGradient").op("loss", "stop ru")
    found = report(graph, sources="w v u", watched="w v u")
    assert verdicts(found) == {"w": "none", "v": "none", "u": "connected"}
    assert {op: again for op, _, again in roots(found)} == {"x": "", "stop": ""}


def test_mending_another_place_does_not_take_credit_for_what_is_live_already() -> None:
    graph = read_all(Graph(), "u v w").op("x", "rw", LACKS).op("stop", "rv", NONE, type="StopGradient").op("loss", "x ru stop")
    stop = next(r for r in report(graph, sources="u v w", watched="u v w").root_causes if r.cause.value == "stop_gradient")
    assert stop.reconnects == ("v",)


def test_a_used_tape_reconnects_what_is_live() -> None:
    graph = read_all(Graph(), "u w").op("stop", "rw", NONE).op("loss", "ru stop")
    assert roots(report(graph, sources="u w", tape_reused=True)) == [("", "u w", "u")]


# Functions and several calls.


def test_a_body_called_twice_has_one_place_and_two_ops() -> None:
    inside = body("f", "p").op("stop", "p", NONE, type="StopGradient", line=3).returns("stop")
    graph = read_all(Graph(), "u v").call("first", inside, "ru").call("second", inside, "rv").op("loss", "first second")
    assert roots(report([graph, inside], sources="u v")) == [("first/stop second/stop", "u v", "u v")]


def test_the_numbers_go_on_from_call_to_call() -> None:
    graph = read_all(Graph(), "u w").op("a", "rw", NONE).op("b", "ru", NONE)
    found = analyse(trace(graph, call(graph, "a", "w"), call(graph, "b", "u")))
    assert [(r.number, r.call, r.blocks) for r in found.root_causes] == [(1, 0, ("w",)), (2, 1, ("u",))]
    assert [c.sources[0].breaks[0].root_cause for c in found.calls] == [1, 2]


def test_a_conditional_source_is_no_root_cause() -> None:
    empty = body("empty", "p").op("zero").returns("zero")
    full = body("full", "p").op("twice", "p").returns("twice")
    graph = read_all(Graph(), "w").tensors("k", "int32").cond("c", "k", "rw", full, empty).op("loss", "c")
    found = report([graph, full, empty])
    assert verdicts(found) == {"w": "conditional"}
    assert found.root_causes == ()
    assert answers(found)["w"].breaks[0].root_cause == 0

"""The path that is shown: the one that crosses the fewest breaks."""

from __future__ import annotations

import pytest

from tapetrace.analysis.paths import breaks_on
from tapetrace.model.trace import Gate, Tape, Window
from tests.unit.graphs import Graph, answers, causes, connection, ops, report

OPEN, NONE, INT = Gate.OPEN, Gate.NONE, Gate.NON_FLOAT_INPUT


def two_ways() -> Graph:
    """w → a ✗ → b ✗ → loss, and w → c ✗ → d → e → loss."""
    graph = Graph().variables("w").read("r", "w").op("a", "r", NONE).op("b", "a", NONE)
    return graph.op("c", "r", NONE).op("d", "c").op("e", "d").op("loss", "b e")


def test_fewest_breaks_come_before_fewest_ops() -> None:
    found = answers(report(two_ways()))["w"]
    assert found.route == ("w", "r", "c", "d", "e", "loss")
    assert [b.op for b in found.breaks] == ["c"]


def test_of_equal_paths_the_shorter_is_shown() -> None:
    graph = Graph().variables("w").read("r", "w").op("long", "r", NONE).op("more", "long").op("short", "r", NONE).op("loss", "more short")
    assert answers(report(graph))["w"].route == ("w", "r", "short", "loss")


def test_the_route_of_a_connected_source_takes_open_gates_only() -> None:
    graph = Graph().variables("w").read("r", "w").op("a", "r").op("b", "a").op("loss", "r b", gates={(0, 0): NONE})
    found = answers(report(graph))["w"]
    assert (found.route, found.breaks) == (("w", "r", "a", "b", "loss"), ())


def test_a_handed_on_integer_costs_nothing_and_is_no_break() -> None:
    graph = Graph().variables("w").read("r", "w").op("argmax", "r", dtypes="int64").op("plus", "argmax", INT, dtypes="int64")
    graph.op("back", "plus", INT).op("loss", "back")
    assert causes(report(graph)) == ["non_float"]
    assert ops(report(graph)) == ["argmax"]


def test_a_path_through_an_integer_is_one_break_and_beats_two() -> None:
    graph = Graph().variables("w").read("r", "w").op("argmax", "r", dtypes="int64").op("back", "argmax", INT)
    graph.op("a", "r", NONE).op("b", "a", NONE).op("loss", "back b")
    assert ops(report(graph)) == ["argmax"]


def test_a_shape_is_no_path() -> None:
    graph = Graph().variables("w").read("r", "w").op("shape", "r", type="Shape", dtypes="int32").op("loss", "shape", INT)
    found = answers(report(graph))["w"]
    assert (found.verdict.value, found.cause and found.cause.value, found.route) == ("none", "unused_result", ("w", "r"))


def outside(*ranges: tuple[int, int]) -> Tape:
    """A tape that records the step but for these ranks."""
    windows, start = [], 0
    for first, last in ranges:
        windows.append(Window(start, first))
        start = last
    return Tape({"step": (*windows, Window(start))})


# w is op 0, r op 1, then a, b, c, d are 2 to 5, and loss is 6
STRETCHES = [
    ((OPEN, OPEN, OPEN, OPEN), [(2, 5)], ["outside_tape"], ["a"]),
    ((OPEN, OPEN, OPEN, OPEN), [(2, 3), (4, 5)], ["outside_tape", "outside_tape"], ["a", "c"]),
    ((OPEN, NONE, OPEN, OPEN), [(2, 5)], ["outside_tape", "gradient_is_none"], ["a", "b"]),
    ((NONE, OPEN, OPEN, OPEN), [(2, 5)], ["gradient_is_none", "outside_tape"], ["a", "b"]),
    ((NONE, OPEN, OPEN, OPEN), [(2, 3)], ["gradient_is_none"], ["a"]),
    ((OPEN, NONE, OPEN, OPEN), [(2, 3)], ["outside_tape", "gradient_is_none"], ["a", "b"]),
]


@pytest.mark.parametrize(("gates", "ranges", "expected", "at"), STRETCHES)
def test_a_stretch_of_unrecorded_ops_is_one_break(
    gates: tuple[Gate, ...], ranges: list[tuple[int, int]], expected: list[str], at: list[str]
) -> None:  # fmt: skip
    graph = Graph().variables("w").read("r", "w")
    for name, gate, before in zip("abcd", gates, "rabc", strict=True):
        graph.op(name, before, gate)
    graph.op("loss", "d")
    found = connection(graph, tape=outside(*ranges))
    steps = found.paths.steps((0, 0))
    assert [s.way.cause.value for s in breaks_on(steps) if s.way.cause] == expected
    assert [found.flat.nodes[s.node].name for s in breaks_on(steps)] == at
    assert found.paths.cost[0, 0] == len(expected)


def test_what_a_stretch_costs_does_not_depend_on_where_it_is_entered() -> None:
    """A closed op at the beginning of a stretch hid the stretch behind it, so that two breaks seemed to be one."""
    graph = Graph().variables("w").read("r", "w").op("a", "r", NONE).op("b", "a").op("c", "r", NONE).op("d", "c", Gate.ZERO).op("loss", "b d")
    found = connection(graph, tape=outside((2, 4)))
    assert found.paths.cost[0, 0] == 2
    assert causes(report(graph, tape=outside((2, 4)))) == ["gradient_is_none", "outside_tape"]


def test_stopped_and_outside_are_two_stretches() -> None:
    graph = Graph().variables("w").read("r", "w").op("a", "r").op("b", "a").op("loss", "b")
    tape = Tape({"step": (Window(2, 3, stopped=True), Window(0, 2), Window(4))})
    assert causes(report(graph, tape=tape)) == ["recording_stopped", "outside_tape"]


def test_no_path_has_no_steps() -> None:
    found = connection(Graph().variables("w").tensors("x").op("loss", "x"))
    assert found.paths.steps((0, 0)) == []
    assert found.paths.steps(found.targets[0]) == []


def test_a_write_of_a_result_of_the_backward_pass_is_a_last_resort() -> None:
    """An optimizer's update joins every weight to every other; a real way with more breaks is the better evidence."""
    graph = Graph().variables("w v").read("r", "w").op("gradient", "r", made_by=0).assign("update", "v", "gradient").read("s", "v")
    graph.op("a", "r", NONE).op("b", "a", NONE).op("c", "b", NONE).op("loss", "c s")
    assert ops(report(graph)) == ["a", "b", "c"]

"""Which tensors are live, and what the target has to do with it."""

from __future__ import annotations

import pytest

from tapetrace.model.trace import Gate
from tests.unit.graphs import Graph, connection, names, report, verdicts

OPEN, NONE, ZERO = Gate.OPEN, Gate.NONE, Gate.ZERO


def chain(*gates: Gate) -> Graph:
    """w → a → b → … → loss, one op a gate."""
    graph = Graph().variables("w").read("r", "w")
    last = "r"
    for name, gate in zip("abcdef", gates, strict=False):
        graph.op(name, last, gate)
        last = name
    return graph.op("loss", last)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (chain(OPEN, OPEN), {"w", "r", "a", "b", "loss"}),
        (chain(OPEN, NONE, OPEN), {"b", "c", "loss"}),
        (chain(ZERO), {"a", "loss"}),
        (chain(Gate.UNKNOWN, OPEN), {"a", "b", "loss"}),
        (chain(NONE).op("side", "r"), {"a", "loss"}),
    ],
)
def test_live_is_what_reaches_the_target_through_open_gates(graph: Graph, expected: set[str]) -> None:
    found = connection(graph)
    assert names(found, found.live.always) == expected
    assert found.live.always == found.live.possible


def test_each_way_through_an_op_has_its_own_gate() -> None:
    graph = Graph().variables("w u").read("rw", "w").read("ru", "u")
    graph.op("pair", "rw ru", gates={(0, 0): OPEN, (1, 0): NONE, (0, 1): NONE, (1, 1): OPEN}, dtypes="float32 float32")
    assert verdicts(report(graph.op("loss", "pair:0"), sources="w u")) == {"w": "connected", "u": "none"}
    assert verdicts(report(graph.op("other", "pair:1"), "other", "w u")) == {"w": "none", "u": "connected"}


def test_an_op_of_which_two_outputs_are_live_is_judged_for_both() -> None:
    graph = Graph().variables("w").read("r", "w").op("pair", "r", gates={(0, 0): NONE, (0, 1): OPEN}, dtypes="float32 float32")
    assert verdicts(report(graph.op("loss", "pair:0 pair:1"))) == {"w": "connected"}


def test_opaque_is_live_only_if_python_code_lets_it() -> None:
    graph = Graph().variables("w u").read("r", "w").read("s", "u").op("p", "r", Gate.PYTHON, type="EagerPyFunc").op("loss", "p s")
    found = connection(graph)
    assert names(found, found.live.possible) == {"u", "s", "p", "loss"}
    assert names(found, found.live.maybe_opaque) == {"w", "r", "u", "s", "p", "loss"}
    assert verdicts(report(graph, sources="w u")) == {"w": "opaque", "u": "connected"}


def test_a_target_that_is_no_float_makes_nothing_live() -> None:
    graph = Graph().variables("w").read("r", "w").op("loss", "r", dtypes="int32")
    found = report(graph, float_target=False)
    assert verdicts(found) == {"w": "none"}
    assert [b.cause.value for b in found.calls[0].sources[0].breaks] == ["non_float"]


def test_one_target_of_several_is_enough() -> None:
    graph = Graph().variables("w").read("r", "w").op("a", "r", NONE).op("b", "r")
    assert verdicts(report(graph, "a b")) == {"w": "connected"}
    assert verdicts(report(graph, "a a")) == {"w": "none"}


def test_a_source_that_is_the_target_is_connected_watched_or_not() -> None:
    graph = Graph().tensors("x").op("loss", "x")
    found = report(graph, "x", "x", watched="")
    assert verdicts(found) == {"x": "connected"}
    assert found.root_causes == ()


def test_what_comes_after_the_call_cannot_lie_on_a_path() -> None:
    graph = Graph().variables("w").tensors("x").op("loss", "x").read("r", "w").op("late", "r loss")
    assert verdicts(report(graph, order=3)) == {"w": "none"}


def test_zero_is_predicted_where_zeros_come_back() -> None:
    graph = Graph().variables("w u v").read("r", "w").read("s", "u").read("t", "v")
    graph.op("sign", "r", ZERO).op("floor", "s", NONE).op("custom", "t", Gate.CUSTOM_ZERO).op("loss", "sign floor custom")
    assert verdicts(report(graph, sources="w u v", watched="w u v")) == {"w": "zero", "u": "none", "v": "zero"}


def test_zeros_asked_for_are_zeros() -> None:
    assert verdicts(report(chain(NONE), unconnected_zero=True)) == {"w": "zero"}

"""What must stay quick and shallow however large a step is."""

from __future__ import annotations

from tapetrace.analysis.comparison import compare
from tapetrace.model.trace import Gate
from tests.unit import reports
from tests.unit.graphs import Graph, body, connection, report, verdicts
from tests.unit.test_comparison import D, made
from tests.unit.test_drawing import check_well_formed
from tests.unit.test_functions import NONE, step


def test_bodies_that_call_twice_grow_no_further_than_the_budget() -> None:
    """Thirty levels of two calls each are a thousand million ops when opened."""
    bodies = [body("f0", "p q").op("a", "p").op("stop", "q", NONE, type="StopGradient").op("sum", "a stop").returns("sum")]
    for d in range(30):
        bodies.append(body(f"f{d + 1}", "p q").call("x", bodies[-1], "p q").call("y", bodies[-1], "x q").returns("y"))
    graph = step("u v").call("outer", bodies[-1], "ru rv").op("loss", "outer")
    found = connection([graph, *bodies], sources="u v", budget=500)
    assert len(found.flat.nodes) < 1000
    assert found.flat.summarised > 0
    assert verdicts(report([graph, *bodies], sources="u v", budget=500)) == {"u": "connected", "v": "none"}


def test_a_deep_step_needs_no_recursion() -> None:
    """Five times what Python would allow, conditionals on the way."""
    use, empty = body("use", "p").op("a", "p").returns("a"), body("empty", "p").op("zero").returns("zero")
    graph = Graph().variables("w u").tensors("k", "int32").read("r", "w").read("s", "u")
    last = "r"
    for n in range(5_000):
        if n % 400 == 200:
            graph.cond(f"a{n}", "k", last, use, empty)
        else:
            graph.op(f"a{n}", last, NONE if n == 2_500 else Gate.OPEN)
        last = f"a{n}"
    found = report([graph.op("loss", f"{last} s"), use, empty], sources="w u", budget=100_000)
    assert [s.verdict.value for s in found.calls[0].sources] == ["none", "connected"]
    assert [r.reconnects for r in found.root_causes] == [("w",)]
    check_well_formed(found)


def test_many_calls_of_one_line_are_matched() -> None:
    many = reports.report(*(made("f", "c", 1, D) for _ in range(3000)))
    assert compare(many, many).is_same

"""Numbers merged into a report, and the place where a number is lost, on flows of a few ops built by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from tapetrace.analysis.numeric import add_numbers
from tapetrace.analysis.vanishing import Lost, Vanishing, find_not_finite
from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.measurements import CallNumbers, Flow, FlowInput, FlowOp, TensorKey, TensorNumbers
from tapetrace.model.report import Break, Numbers, Report, RootCause, SourceResult
from tapetrace.model.words import Cause, Verdict

from .reports import at, call, report, source

NAN, INF = float("nan"), float("inf")


def flow(*lines: str, gradients: dict[str, float], values: dict[str, float] | None = None, sizes: dict[str, int] | None = None) -> Flow:
    """``flow("w>a:Relu", "a,b>c:Add", gradients={…})``: ops in program order. ``c<a`` among the gradients is what comes to a through c alone."""
    ops = []
    for text in lines:
        names, _, type_ = text.partition(":")
        reads, _, output = names.partition(">")
        inputs = tuple(FlowInput((r, 0), gradients.get(f"{output}<{r}", gradients.get(r))) for r in reads.split(","))
        ops.append(FlowOp(output, type_, inputs, ((output, 0),)))
    tensors: dict[TensorKey, TensorNumbers] = {
        (name, 0): TensorNumbers(g, (values or {}).get(name, 1.0), (sizes or {}).get(name, 3)) for name, g in gradients.items() if "<" not in name
    }
    return Flow(tuple(ops), tensors, {0: ("w", 0)}, ((ops[-1].name, 0),))


FLOWS = {
    "dead in the middle": (flow("w>a:Mul", "a>b:Relu", "b>c:Sum", gradients={"w": 0, "a": 0, "b": 2.0, "c": 1.0}), "b"),
    "dead at the first op": (flow("w>a:Mul", "a>b:Exp", gradients={"w": 0, "a": 3.0, "b": 1.0}), "a"),
    "dead at the last op": (flow("w>a:Mul", "a>b:Clip", gradients={"w": 0, "a": 0, "b": 1.0}), "b"),
    "the earlier of two": (flow("w>a:Relu", "w>b:Clip", "a,b>c:Add", gradients={"w": 0, "a": 1.0, "b": 1.0, "c": 1.0}), "a"),
    "alive by another way": (
        flow("w>a:Relu", "w>b:Exp", "a,b>c:Add", gradients={"w": 2.0, "a<w": 0, "b<w": 2.0, "a": 1.0, "b": 1.0, "c": 1.0}),
        None,
    ),
    "an input that has no numbers": (flow("w>a:PartitionedCall", gradients={"a<w": 0, "a": 1.0}), "a"),
    "rounding alone": (flow("w>a:Softmax", "a>b:Sum", gradients={"w": 3e-8, "a": 1.7, "b": 1.0}), "a"),
    "small but not lost": (flow("w>a:Mul", "a>b:Sum", gradients={"w": 3e-5, "a": 1.7, "b": 1.0}), None),
    "small since the value is large": (flow("w>a:Mul", "a>b:Sum", gradients={"w": 1e-9, "a": 1.0, "b": 1.0}, values={"w": 1e9}), None),
    "cancels where it parts": (
        flow("w>m:Mul", "m>a:Add", "m>b:Sub", "a,b>c:Sub", gradients={"w": 0, "m": 0, "a<m": 2.0, "b<m": 2.0, "a": 2.0, "b": 2.0, "c": 1.0}),
        "a",
    ),
    "adds where it parts": (
        flow("w>m:Mul", "m>a:Add", "m>b:Sub", "a,b>c:Sub", gradients={"w": 4.0, "m": 4.0, "a<m": 2.0, "b<m": 2.0, "a": 2.0, "b": 2.0, "c": 1.0}),
        None,
    ),
    "nothing is left": (flow("w>a:Exp", "a>b:Gather", "b>c:Sum", gradients={"w": 0, "a": 0, "b": 0, "c": 1.0}, sizes={"b": 0}), "b"),
    "fades slowly": (flow("w>a:Tanh", "a>b:Tanh", "b>c:Sum", gradients={"w": 1e-12, "a": 1e-8, "b": 1e-4, "c": 1.0}, values={"w": 1e9}), None),
}


@pytest.mark.parametrize("name", FLOWS)
def test_where_the_gradient_is_lost(name: str) -> None:
    found, expected = FLOWS[name]
    loss = Vanishing(found).find_loss(0, exact=False)
    assert (loss.op.name if loss else None) == expected


def test_a_gradient_that_is_exactly_zero_has_a_place_even_if_it_fades() -> None:
    fading = flow("w>a:Tanh", "a>b:Tanh", "b>c:Sum", gradients={"w": 1e-4, "a": 1e-3, "b": 0.5, "c": 1.0})
    loss = Vanishing(fading).find_loss(0, exact=True)
    assert loss is not None
    assert (loss.op.name, loss.detail) == ("b", "the gradient fades on the way and is zero at the source")


NOT_FINITE = {
    "value": (
        flow("w>a:Log", "a>b:Sum", gradients={"w": NAN, "a": 1.0, "b": 1.0}, values={"a": NAN, "b": NAN}),
        ("a", "the value is NaN from here on"),
    ),
    "turns": (flow("w>a:Mul", "a>b:Sqrt", "b>c:Sum", gradients={"w": NAN, "a": INF, "b": 1.0, "c": 1.0}), ("b", "the gradient turns Inf here")),
    "only forward, on a way that is left": (
        flow("w>a:Log", "a>b:Select", gradients={"w": NAN, "a": 0.0, "b": 1.0}, values={"a": INF}),
        ("a", "the gradient turns NaN here"),
    ),
}


@pytest.mark.parametrize(
    ("name", "how"),
    [("dead at the first op", Lost.VANISHES), ("cancels where it parts", Lost.CANCELS), ("nothing is left", Lost.EMPTY)],
)
def test_how_the_gradient_is_lost(name: str, how: Lost) -> None:
    loss = Vanishing(FLOWS[name][0]).find_loss(0, exact=False)
    assert loss is not None
    assert loss.how is how


@pytest.mark.parametrize("name", NOT_FINITE)
def test_where_it_turns_nan(name: str) -> None:
    found, expected = NOT_FINITE[name]
    loss = find_not_finite(found, 0)
    assert loss is not None
    assert (loss.op.name, loss.detail, loss.how) == (*expected, Lost.NOT_FINITE)


# Merging.


@dataclass
class Told:
    """An experiment whose results are told beforehand."""

    calls: list[CallNumbers]
    flows: Flow | None = None
    generated: bool = False
    problem: str = ""
    asked: list[tuple[int, ...]] = field(default_factory=list)

    def numbers(self, call: int) -> CallNumbers:
        return self.calls[call]

    def flow(self, call: int, sources: Sequence[int]) -> Flow | None:
        self.asked.append(tuple(sources))
        return self.flows

    def locate(self, call: int, op: str) -> Location | None:
        return at(10 + ord(op[0]) - ord("a"), f"line of {op}")


ZERO, ONE, FAINT = Numbers(0.0, 3, 0, 0), Numbers(1.0, 0, 0, 0), Numbers(1e-9, 0, 0, 0)
BAD = Numbers(NAN, 0, 3, 0)
DEAD = FLOWS["dead in the middle"][0]
PYTHON = Break(Cause.PYTHON_FUNCTION, "b", "EagerPyFunc", at(7, "tf.py_function(f, [x], tf.float32)"), "write it with `tf.` functions", root_cause=1)


def opaque() -> Report:
    root = RootCause(1, Cause.PYTHON_FUNCTION, PYTHON.location, (("b", "EagerPyFunc"),), ("w",), (), PYTHON.remedy)
    return report(call(source("w", Verdict.OPAQUE, PYTHON), source("v")), root_causes=(root,))


def merged(
    before: Report, *runs: tuple[Numbers | None, ...], flows: Flow | None = DEAD, failed: dict[int, str] | None = None
) -> tuple[Report, SourceResult]:
    after = add_numbers(before, Told([CallNumbers(runs, failed or {})], flows))
    return after, after.calls[0].sources[0]


def test_numbers_of_what_is_healthy() -> None:
    told = Told([CallNumbers(((ONE, None),))])
    after = add_numbers(report(call(source("w"), source("v", Verdict.NONE))), told)
    assert [s.numbers for s in after.calls[0].sources] == [ONE, None]
    assert [s.verdict for s in after.calls[0].sources] == [Verdict.CONNECTED, Verdict.NONE]
    assert (told.asked, after.root_causes) == ([], ())


def test_zero_in_every_run() -> None:
    after, w = merged(report(call(source("w"), source("v"))), (ZERO, ONE), (ZERO, ONE))
    assert (w.verdict, w.cause, w.breaks[0].op, w.breaks[0].location) == (Verdict.ZERO, Cause.NUMERICALLY_ZERO, "b", at(11, "line of b"))
    assert [(r.number, r.cause, r.ops, r.blocks, r.reconnects) for r in after.root_causes] == [
        (1, Cause.NUMERICALLY_ZERO, (("b", "Relu"),), ("w",), ("w",))
    ]
    assert w.breaks[0].root_cause == 1
    assert not after.ok


def test_zero_in_one_run_of_two() -> None:
    _, w = merged(report(call(source("w"))), (ZERO,), (ONE,))
    assert (w.verdict, w.numbers, w.breaks) == (Verdict.CONNECTED, ONE, ())


def test_zero_without_a_place() -> None:
    _, w = merged(report(call(source("w"))), (ZERO,), flows=None)
    assert (w.verdict, w.breaks[0].op, w.breaks[0].location) == (Verdict.ZERO, "", report(call(source("w"))).calls[0].location)


def test_a_source_without_elements_is_not_zero() -> None:
    _, w = merged(report(call(source("w"))), (Numbers(0.0, 0, 0, 0),))
    assert w.verdict is Verdict.CONNECTED


def test_faint_is_zero_only_where_it_is_lost() -> None:
    rounding = FLOWS["rounding alone"][0]
    assert merged(report(call(source("w"), source("v"))), (FAINT, ONE), flows=rounding)[1].verdict is Verdict.ZERO
    assert (
        merged(report(call(source("w"), source("v"))), (FAINT, ONE), flows=FLOWS["small since the value is large"][0])[1].verdict is Verdict.CONNECTED
    )


def test_faint_beside_a_huge_neighbour() -> None:
    told = Told([CallNumbers(((ONE, Numbers(1e9, 0, 0, 0)),))], FLOWS["rounding alone"][0])
    add_numbers(report(call(source("w"), source("v"))), told)
    assert told.asked == [(0,)]


def test_what_is_broken_stays_as_it_is() -> None:
    b = Break(Cause.STOP_GRADIENT, "b", "StopGradient", at(5), root_cause=1)
    root = RootCause(1, Cause.STOP_GRADIENT, at(5), (("b", "StopGradient"),), ("w",), ("w",))
    after, w = merged(report(call(source("w", Verdict.ZERO, b)), root_causes=(root,)), (ZERO,))
    assert (w.verdict, w.breaks, w.numbers) == (Verdict.ZERO, (b,), ZERO)
    assert after.root_causes == (root,)


def test_nan_keeps_the_verdict() -> None:
    after, w = merged(report(call(source("w"))), (BAD,), flows=NOT_FINITE["turns"][0])
    assert (w.verdict, w.cause, w.breaks[0].op, w.breaks[0].detail) == (Verdict.CONNECTED, Cause.NUMERICALLY_ZERO, "b", "the gradient turns Inf here")
    assert [(r.blocks, r.reconnects) for r in after.root_causes] == [(("w",), ())]
    assert after.ok


def test_nan_without_a_place_is_not_called_zero() -> None:
    _, w = merged(report(call(source("w"))), (BAD,))
    assert w.breaks[0].detail.endswith("when the step ran")
    assert w.breaks[0].remedy.startswith("keep the values away from where it is not finite")


def test_a_branch_that_is_not_taken_stays_conditional() -> None:
    other = Break(Cause.OTHER_BRANCH, "b", "If", at(4), detail="live only in branch true of If")
    before = report(call(source("w", Verdict.CONDITIONAL, other)))
    untaken = flow("w>a:Mul", "a>b:If", "b>c:Sum", gradients={"w": 0, "a": 0, "b": 2.0, "c": 1.0})
    assert merged(before, (ZERO,), flows=untaken)[1].verdict is Verdict.CONDITIONAL
    assert merged(before, (ZERO,))[1].verdict is Verdict.ZERO


def test_opaque_and_alive() -> None:
    after, w = merged(opaque(), (ONE, ONE))
    assert (w.verdict, w.breaks, after.root_causes) == (Verdict.CONNECTED, (), ())


def test_opaque_and_zero() -> None:
    python = flow("w>a:Mul", "a>b:EagerPyFunc", "b>c:Sum", gradients={"w": 0, "a": 0, "b": 2.0, "c": 1.0})
    after, w = merged(opaque(), (ZERO, ONE), flows=python)
    assert (w.verdict, w.cause) == (Verdict.ZERO, Cause.PYTHON_FUNCTION)
    assert [(r.cause, r.blocks, r.reconnects) for r in after.root_causes] == [(Cause.PYTHON_FUNCTION, ("w",), ("w",))]


def test_opaque_and_zero_for_another_reason() -> None:
    after, w = merged(opaque(), (ZERO, ONE))
    assert (w.verdict, w.cause) == (Verdict.ZERO, Cause.NUMERICALLY_ZERO)
    assert [r.cause for r in after.root_causes] == [Cause.NUMERICALLY_ZERO]


def test_opaque_and_failing() -> None:
    after, w = merged(opaque(), (None, ONE), failed={0: "In[0] is not a matrix"})
    assert (w.verdict, w.cause) == (Verdict.ERROR, Cause.PYTHON_FUNCTION)
    assert "In[0] is not a matrix" in w.breaks[0].detail
    assert after.root_causes[0].reconnects == ("w",)


def test_root_causes_are_numbered_anew() -> None:
    stop = Break(Cause.STOP_GRADIENT, "s", "StopGradient", at(5), root_cause=1)
    root = RootCause(1, Cause.STOP_GRADIENT, at(5), (("s", "StopGradient"),), ("x",), ("x",))
    both = replace(DEAD, sources={0: ("w", 0), 1: ("w", 0)})
    after, _ = merged(report(call(source("w"), source("v"), source("x", Verdict.NONE, stop)), root_causes=(root,)), (ZERO, ZERO, None), flows=both)
    assert [(r.number, r.cause) for r in after.root_causes] == [(1, Cause.NUMERICALLY_ZERO), (2, Cause.STOP_GRADIENT)]
    assert [s.breaks[0].root_cause for s in after.calls[0].sources] == [1, 1, 2]


def test_problems_become_notes() -> None:
    before = report(call(source("w")))
    assert add_numbers(before, Told([], problem="the step was not run")).notes == ("the step was not run",)
    assert len(add_numbers(before, None).notes) == 1
    after = add_numbers(before, Told([CallNumbers(problem="it failed at step.py:3")]))
    assert (after.notes, after.calls) == (("it failed at step.py:3",), before.calls)


def test_generated_values_are_told() -> None:
    after = add_numbers(report(call(source("w"))), Told([CallNumbers(((ONE,), (ONE,)))], generated=True))
    assert "2 runs on generated values" in after.notes[0]


def test_the_drawing() -> None:
    nodes = (
        GraphNode("w", "Variable", Status.LIVE, Role.SOURCE, label="w"),
        *(GraphNode(n, t, Status.LIVE) for n, t in (("a", "Mul"), ("b", "Relu"))),
        GraphNode("loss", "Sum", Status.LIVE, Role.TARGET),
    )
    edges = (GraphEdge("w", "a"), GraphEdge("a", "b"), GraphEdge("b", "loss"))
    before = report(call(replace(source("w"), route=("w", "a", "b", "loss"))), graph=ReportGraph(nodes, edges))
    after, _ = merged(before, (ZERO,))
    assert {n.name: (n.status, n.number) for n in after.drawing.nodes} == {
        "w": (Status.DEAD, 0), "a": (Status.DEAD, 0), "b": (Status.BREAK, 1), "loss": (Status.LIVE, 0)
    }  # fmt: skip
    assert [e.status for e in after.drawing.edges] == [Status.DEAD, Status.BREAK, Status.LIVE]


def test_a_number_that_cannot_be_is_our_own_fault() -> None:
    before = report(call(source("w", Verdict.ZERO, Break(Cause.STOP_GRADIENT)), source("v", Verdict.NONE)))
    assert merged(before, (ZERO, None))[0].agreement.disagreed == ()
    after, _ = merged(before, (ONE, None))
    assert after.agreement.disagreed == (f"w: verdict zero, but its gradient had the norm {ONE.norm:.3g} when the step ran",)

"""Where a graph and an eager run return different things, and the reason that is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.analysis.modes import differences
from tapetrace.model.report import Break, SourceResult
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Returned, Verdict
from tests.unit.reports import at, call, report, source


def cut(cause: Cause, verdict: Verdict = Verdict.NONE) -> SourceResult:
    return source("w", verdict, Break(cause, location=at(12)))


FINE = source("w")
WHERE = "samples/step.py:12"
NONE, TENSOR = "returns None", "returns a tensor"


@pytest.mark.parametrize(
    ("graph", "eager", "what", "why"),
    [
        (cut(Cause.DATASET), FINE, (NONE, TENSOR), f"a loop over a dataset at {WHERE} is run by Python in an eager run"),
        (cut(Cause.CUSTOM_GRADIENT), FINE, (NONE, TENSOR), f"the custom gradient at {WHERE} by its arguments alone"),
        (cut(Cause.CAPTURED_VALUE), FINE, (NONE, TENSOR), f"the value was fixed when the step was traced at {WHERE}"),
        (FINE, cut(Cause.NUMPY_ESCAPE), (TENSOR, NONE), f"ops of the graph, while in an eager run the value leaves TensorFlow at {WHERE}"),
        (cut(Cause.OTHER_BRANCH, Verdict.CONDITIONAL), cut(Cause.NEVER_READ), (TENSOR, NONE), f"a graph holds both branches at {WHERE}"),
        (cut(Cause.STOP_GRADIENT, Verdict.ZERO), cut(Cause.STOP_GRADIENT), (TENSOR, NONE), f"cut in both at {WHERE}, and a graph returns zeros"),
        (cut(Cause.GRADIENT_IS_NONE), FINE, (NONE, TENSOR), f"the path is cut there by gradient_is_none at {WHERE}"),
    ],
)  # fmt: skip
def test_the_reason(graph: SourceResult, eager: SourceResult, what: tuple[str, str], why: str) -> None:
    (sentence,) = differences(report(call(graph, source("v"))), report(call(eager, source("v"))))
    assert sentence.startswith(f"w: a graph {what[0]}, an eager run {what[1]}: ")
    assert why in sentence


def test_a_call_that_raises_in_one_of_them() -> None:
    raised = replace(call(cut(Cause.NO_GRADIENT_REGISTERED, Verdict.ERROR)), error=TraceError("LookupError", "no entry for: Foo"))
    assert differences(report(raised), report(call(FINE))) == ("w: a graph raises, an eager run returns a tensor: the call raises LookupError there",)


def test_the_same() -> None:
    assert differences(report(call(FINE)), report(call(FINE))) == (
        "a graph and an eager run return the same: None, tensors and errors for the same sources",
    )


def test_what_was_not_asked_is_not_compared() -> None:
    silent = replace(cut(Cause.DATASET), returned=None)
    assert "return the same" in differences(report(call(silent)), report(call(FINE)))[0]
    assert Returned.NONE is cut(Cause.DATASET).returned


def test_another_number_of_calls() -> None:
    graph = report(call(cut(Cause.DATASET), line=5))
    eager = report(call(source("u"), line=9), call(FINE, line=5))
    assert differences(graph, eager)[0].startswith("w: a graph returns None, an eager run returns a tensor")
    assert differences(graph, eager)[1] == "a graph makes 1 gradient calls, an eager run 2: Python decides differently in the two"

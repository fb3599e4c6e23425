"""Verdicts held against what TensorFlow handed back."""

from __future__ import annotations

import pytest

from tapetrace.analysis.agreement import disagreement
from tapetrace.model.report import SourceResult
from tapetrace.model.trace import Gate, TraceError
from tapetrace.model.words import Returned, Verdict
from tests.unit.graphs import LOOKUP_ERROR, Graph, report

N, T, E = Returned.NONE, Returned.TENSOR, Returned.ERROR

POSSIBLE = {
    Verdict.CONNECTED: {T},
    Verdict.CONDITIONAL: {T},
    Verdict.ZERO: {T, E},
    Verdict.NONE: {N, E},
    Verdict.ERROR: {E},
    Verdict.OPAQUE: {N, T, E},
}


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("returned", [*Returned, None])
def test_which_verdicts_can_be_true(verdict: Verdict, returned: Returned | None) -> None:
    sentence = disagreement(SourceResult("k:0", "dense/k", "variable", "float32", (), verdict, returned))
    agrees = returned is None or returned in POSSIBLE[verdict]
    assert (sentence == "") == agrees
    if not agrees:
        said = {N: "returned None", T: "returned a tensor", E: "raised"}[returned]
        assert sentence == f"dense/k: tapetrace says {verdict.value}, TensorFlow {said}"


def step(gate: Gate = Gate.OPEN) -> Graph:
    return Graph().variables("w u").read("r", "w").op("a", "r", gate).read("s", "u").op("loss", "a s")


def test_counts_what_was_checked() -> None:
    found = report(step(), sources="w u", facts={"returned": T}).agreement
    assert (found.checked, found.disagreed) == (2, ())
    assert report(step(), sources="w u").agreement.checked == 0


def test_names_what_disagrees() -> None:
    found = report(step(), sources="w u", facts={"returned": N}).agreement
    assert found.checked == 2
    assert found.disagreed == ("w: tapetrace says connected, TensorFlow returned None", "u: tapetrace says connected, TensorFlow returned None")


def test_a_predicted_error_that_did_not_come_is_a_disagreement() -> None:
    found = report(step(Gate.UNREGISTERED), sources="w u", facts={"returned": T}).agreement
    assert len(found.disagreed) == 2


def test_a_predicted_error_that_came_is_none() -> None:
    found = report(step(Gate.UNREGISTERED), sources="w u", facts={"returned": E}, error=LOOKUP_ERROR).agreement
    assert (found.checked, found.disagreed) == (2, ())


def test_a_call_that_raised_for_another_reason_says_nothing() -> None:
    """Shapes that do not fit in `jacobian`, say."""
    found = report(step(), sources="w u", facts={"returned": E}, error=TraceError("ValueError", "shapes")).agreement
    assert (found.checked, found.disagreed) == (0, ())


def test_a_used_tape_agrees() -> None:
    found = report(step(), facts={"returned": E}, error=TraceError("RuntimeError", "used"), tape_reused=True).agreement
    assert (found.checked, found.disagreed) == (1, ())

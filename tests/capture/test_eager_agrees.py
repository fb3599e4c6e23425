"""The steps of the other files, run eagerly: each verdict is held against what TensorFlow returns in the run itself, and in one without us."""

from __future__ import annotations

import importlib

import pytest

import tapetrace
from tapetrace.capture.generated import fill_in
from tests.capture.cases import Case
from tests.capture.eager_oracle import run_unwatched
from tests.capture.oracle import LIVE, contradictions

FILES = (
    *"asking second_derivatives jacobians dtypes composites branches loops loops_over_elements".split(),
    *"custom_gradients custom_gradients_of_variables custom_gradients_in_bodies functions function_calls outside_tensorflow".split(),
    *"tape_windows tapes_across_borders meta_steps watching writes".split(),
)
CASES = [(file, case) for file in FILES for case in importlib.import_module(f"tests.capture.test_{file}").CASES]


@pytest.mark.filterwarnings("ignore:You are casting an input of type complex")
@pytest.mark.parametrize(("file", "case"), CASES, ids=[f"{file}-{case.name}" for file, case in CASES])
def test_agrees_with_an_eager_run(file: str, case: Case) -> None:
    step, args = case.build()
    truth = run_unwatched(step, fill_in(args, 0))
    step, args = case.build()
    if truth.raised is not None and not truth.calls and "tf.gradients" not in str(truth.raised):
        with pytest.raises(tapetrace.TapetraceError, match=type(truth.raised).__name__):
            tapetrace.check(step, *fill_in(args, 0), mode="eager")
        return
    report = tapetrace.check(step, *fill_in(args, 0), mode="eager")
    if "tf.gradients" in str(truth.raised):  # which TensorFlow does not have in an eager run
        assert report.error is not None
        assert report.error.type == "RuntimeError"
        assert report.agreement.checked == 0
        return
    assert contradictions(report, truth, may_vanish=LIVE if case.vanishing else frozenset()) == []

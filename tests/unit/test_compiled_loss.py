"""Calls and breaks of ``model.fit``, whose loss no line of the user's computes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.compiled_loss import is_compiled_loss, remedy_for_metric
from tapetrace.model.report import TargetResult
from tapetrace.render.outline import outline
from tests.unit.reports import at, call, report, source


@pytest.mark.parametrize(
    ("op", "metric"),
    [
        ("compile_loss/binary_accuracy/Equal", "binary_accuracy"),
        ("compile_loss/class/sparse_categorical_accuracy/ArgMax", "sparse_categorical_accuracy"),
        ("StatefulPartitionedCall/compile_loss/accuracy/Cast", "accuracy"),
        ("compile_loss/top_k_categorical_accuracy/InTopKV2", "top_k_categorical_accuracy"),
        ("compile_loss/mse/Mean", ""),
        ("accuracy/Equal", ""),
        ("compile_loss/accuracy", ""),
    ],
)
def test_a_metric_in_the_place_of_the_loss_is_told_by_the_name_scope(op: str, metric: str) -> None:
    assert remedy_for_metric(op).partition(" is a metric")[0] == (f"`{metric}`" if metric else "")


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ("compile_loss/mse/div_no_nan:0", 'model.compile("adam", "mse")', "model.fit: the loss that compile was given"),
        ("compile_loss/mse/div_no_nan:0", "", "model.fit: the loss that compile was given"),
        ("Sum_2:0", 'model.compile("adam", "mse")', "model.fit: the loss that compile was given"),
        ("Sum_2:0", "history = model.fit(x, y)", "model.fit: the loss that compile was given"),
        ("Sum_2:0", "outfit(x)", "tape.gradient(Sum_2:0, …)"),
        ("mse/div_no_nan:0", "", "tape.gradient(mse/div_no_nan:0, …)"),
    ],
)
def test_the_headline_of_fit_speaks_of_fit(target: str, code: str, said: str) -> None:
    made = replace(call(source("w")), targets=(TargetResult(target, "DivNoNan"),), location=at(1, code) if code else None)
    assert outline(report(made))[0].asked() == said
    assert is_compiled_loss(target) == target.startswith("compile_loss/")

"""Steps that are checked with numbers, and what is asked of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report, SourceResult

Step = Callable[..., Any]


BOTH = pytest.mark.parametrize("mode", ["graph", "eager"])
"""A step is measured as a graph and op by op, with the same answer."""


def run(step: Step, *args: Any, **options: Any) -> Report:
    return tapetrace.check(step, *args, numeric=True, **options)


def first(report: Report, name: str = "") -> SourceResult:
    return next(s for c in report.calls for s in c.sources if name in s.label)


def line(source: SourceResult) -> str:
    assert source.breaks
    assert source.breaks[0].location is not None
    return source.breaks[0].location.code


def variable(value: Any, name: str = "w") -> tf.Variable:
    return tf.Variable(tf.constant(value, tf.float32), name=name)


def asking(loss_of: Step, *variables: tf.Variable) -> Step:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(*variables)
        return loss, tape.gradient(loss, list(variables))

    return step

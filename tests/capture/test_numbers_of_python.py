"""Numbers decide where the graph cannot: Python functions, and branches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tapetrace.model.words import Cause, Verdict
from tests.capture.measured import BOTH, Step, first, line, run, variable


def through_python(function: Step, shaped: bool = True) -> tuple[Step, tf.Variable]:
    w = variable([[1.0, 2.0]], "w")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = tf.matmul(x, w)
            h = tf.py_function(function, [h], tf.float32)
            h = tf.reshape(h, [3, 2]) if shaped else tf.ensure_shape(h, [3, 2])
            loss = tf.reduce_sum(tf.square(h))
        return tape.gradient(loss, [w])

    return step, w


@BOTH
def test_python_of_tensorflow_ops_is_connected(mode: str) -> None:
    step, _ = through_python(lambda h: tf.square(h))
    report = run(step, tf.ones([3, 1]), mode=mode)
    found = first(report)
    assert (found.verdict, found.breaks) == (Verdict.CONNECTED, ())
    assert found.numbers is not None
    assert found.numbers.norm == pytest.approx(math.hypot(3 * 4 * 1.0, 3 * 4 * 8.0))
    assert report.root_causes == ()
    assert report.ok


@BOTH
def test_python_that_stops_gradient_is_zero(mode: str) -> None:
    step, _ = through_python(lambda h: tf.stop_gradient(h) + 0.0 * h)
    report = run(step, tf.ones([3, 1]), mode=mode)
    found = first(report)
    assert (found.verdict, found.cause) == (Verdict.ZERO, Cause.PYTHON_FUNCTION)
    assert "tf.py_function(function" in line(found)
    assert [(r.cause, r.blocks, r.reconnects) for r in report.root_causes] == [(Cause.PYTHON_FUNCTION, ("w",), ("w",))]


@BOTH
def test_python_over_numpy_fails_on_the_way_back(mode: str) -> None:
    step, _ = through_python(lambda h: np.square(h.numpy()))
    report = run(step, tf.ones([3, 1]), mode=mode)
    found = first(report)
    assert (found.verdict, found.cause) == (Verdict.ERROR, Cause.PYTHON_FUNCTION)
    assert "tf.py_function(function" in line(found)
    assert "fails when it runs" in found.breaks[0].detail


@BOTH
def test_a_relu_behind_python_is_the_break(mode: str) -> None:
    w = variable([1.0, 2.0], "w")

    def step() -> Any:
        with tf.GradientTape() as tape:
            h = tf.py_function(lambda t: tf.square(t), [w * 1.0], tf.float32)
            h = tf.nn.relu(-1.0 - tf.ensure_shape(h, [2]))
            loss = tf.reduce_sum(h)
        return tape.gradient(loss, [w])

    found = first(run(step, mode=mode))
    assert (found.verdict, found.cause) == (Verdict.ZERO, Cause.NUMERICALLY_ZERO)
    assert "tf.nn.relu" in line(found)


def test_a_branch_that_is_not_taken_stays_conditional() -> None:
    w, v = variable(2.0, "w"), variable(3.0, "v")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.cond(x > 0.0, lambda: w * x, lambda: v * x)
        return tape.gradient(loss, [w, v])

    taken, other = run(step, tf.constant(2.0)).calls[0].sources
    assert (taken.verdict, other.verdict) == (Verdict.CONDITIONAL, Verdict.CONDITIONAL)
    assert taken.numbers is not None
    assert other.numbers is not None
    assert (taken.numbers.norm, other.numbers.norm) == (2.0, 0.0)
    assert other.cause is Cause.OTHER_BRANCH

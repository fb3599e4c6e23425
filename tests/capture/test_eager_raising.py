"""Eager steps that raise before, inside and after their gradient call; what was seen until then is reported."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts

X = tf.constant([0.3, -0.7, 1.2])
W = tf.Variable(X, name="w")
V = tf.Variable(X, name="v")


def test_before_the_gradient_call() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.matmul(W * x, x)  # the line
        return tape.gradient(y, W)

    with pytest.raises(tapetrace.TapetraceError, match="could not be run") as raised:
        tapetrace.check(step, X, mode="eager")
    assert f"test_eager_raising.py:{step.__code__.co_firstlineno + 2}" in str(raised.value)
    assert raised.value.exit_code == 2


def test_inside_the_gradient_call() -> None:
    @tf.custom_gradient
    def bad(a: tf.Tensor) -> Any:
        def grad(upstream: tf.Tensor) -> Any:
            raise ValueError("no such thing")

        return a * 2.0, grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = bad(W * x)
        return tape.gradient(y, W)

    report = tapetrace.check(step, X, mode="eager")
    assert not report.ok
    assert report.error is not None
    assert (report.error.type, report.error.message) == ("ValueError", "no such thing")
    assert report.calls[0].error is not None


def test_after_the_gradient_call() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x + tf.round(V)
        dw, dv = tape.gradient(y, [W, V])
        return dw + dv

    report = tapetrace.check(step, X, mode="eager")
    assert verdicts(report) == "connected none"
    assert report.error is not None
    assert report.error.location is not None
    assert report.error.location.line == step.__code__.co_firstlineno + 4


def test_keras_finds_no_gradients() -> None:
    optimizer = keras.optimizers.SGD(0.1)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.round(W * x)
        optimizer.apply_gradients(zip(tape.gradient(y, [W]), [W], strict=True))

    report = tapetrace.check(step, X, mode="eager")
    assert verdicts(report) == "none"
    assert report.calls[0].sources[0].cause is Cause.GRADIENT_IS_NONE
    assert report.error is not None
    assert "No gradients provided" in report.error.message


def test_a_function_called_under_a_tape_that_has_no_gradient() -> None:
    @tf.function
    def counted(a: tf.Tensor) -> Any:
        return tf.math.bincount([0, 1, 1], weights=a)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = counted(W * x)
        return tape.gradient(y, W)

    with pytest.raises(LookupError):
        step(X)
    report = tapetrace.check(step, X, mode="eager")
    assert verdicts(report) == "error"
    assert not report.ok
    assert report.calls[0].sources[0].cause is Cause.NO_GRADIENT_REGISTERED


def test_a_traced_step_that_needs_values_is_run_instead() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            scale = (W * x).numpy().max()  # out
            y = V * scale
        return tape.gradient(y, [W, V])

    report = tapetrace.check(step, X)
    assert report.mode == "eager"
    assert verdicts(report) == "none connected"
    assert report.calls[0].sources[0].cause is Cause.NUMPY_ESCAPE
    assert "could not be traced" in report.notes[0]
    assert f":{step.__code__.co_firstlineno + 2}" in report.notes[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_handed_on(error: type[BaseException]) -> None:
    def step() -> Any:
        raise error

    with pytest.raises(error):
        tapetrace.check(step, mode="eager")


def test_an_op_without_a_gradient_of_what_came_in_from_python_is_not_recorded() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            a = tf.ensure_shape(tf.numpy_function(np.sin, [W * 2.0], tf.float32), [3])
            y = tf.raw_ops.Snapshot(input=a) * V
        return tape.gradient(y, [W, V])

    assert [g is None for g in step()] == [True, False]
    report = tapetrace.check(step, mode="eager")
    assert verdicts(report) == "none connected"
    assert report.calls[0].sources[0].breaks[0].cause is Cause.PYTHON_FUNCTION
    assert report.agreement.disagreed == ()

"""Gradient calls that raise since a gradient function does: nothing gets a gradient, and the op whose function it was is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts

W = tf.Variable([0.3, -0.7, 1.2], name="w")
V = tf.Variable([0.4, 0.5, -0.6], name="v")


@tf.custom_gradient
def refusing(x: Any) -> Any:
    def backward(dy: Any) -> Any:
        raise ValueError("not today")

    return x * 2.0, backward


@tf.custom_gradient
def too_few(x: Any, y: Any) -> Any:
    return x * y, lambda dy: dy


def switched(x: Any) -> Any:
    return tf.raw_ops.Switch(data=x, pred=True)[1]  # TensorFlow's own gradient function refuses this one


def full_svd(x: Any) -> Any:
    matrix = tf.linalg.svd(x[:2][None] * tf.ones([4, 1]), full_matrices=True)[1]
    return tf.reduce_sum(matrix) * tf.ones([3])


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize(
    ("function", "error"),
    [
        (refusing, "ValueError"),
        (lambda x: too_few(x, x), "ValueError InternalError"),
        (switched, "NotImplementedError"),
        (full_svd, "NotImplementedError"),
    ],
    ids=["custom", "custom_too_few", "switch", "svd"],
)
def test_the_line_of_the_op_whose_gradient_function_raises(function: Callable[[Any], Any], error: str, mode: str) -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            x = W * 1.5
            y = function(x)  # the line
            loss = tf.reduce_sum(y * V) + tf.reduce_sum(tf.stop_gradient(V))
        return tape.gradient(loss, [W, V])

    report = tapetrace.check(step, mode=mode)
    (call,) = report.calls
    assert verdicts(report) == "error error"
    assert call.error is not None
    assert call.error.type in error.split()
    assert report.error is not None
    assert report.error.type == call.error.type
    assert not report.ok
    (cause,) = report.root_causes
    assert cause.cause is Cause.NOT_PROBED
    assert cause.location is not None
    places = {(f.file, f.line) for f in (cause.location.frame, *cause.location.called_from)}
    assert (__file__, step.__code__.co_firstlineno + 3) in places
    assert call.error.type in report.calls[0].sources[0].breaks[0].detail
    assert set(cause.reconnects) == {"w", "v"}


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_what_a_break_cuts_off_is_dead_for_that_reason(mode: str) -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(refusing(W) + tf.round(V))
        return tape.gradient(loss, [W, V])

    report = tapetrace.check(step, mode=mode)
    w, v = report.calls[0].sources
    assert (w.verdict.value, v.verdict.value) == ("error", "none")
    assert v.breaks[0].cause is Cause.GRADIENT_IS_NONE
    assert "mend what it says" in w.breaks[0].remedy


def test_a_function_of_tensorflow_1_that_is_asked_the_same() -> None:
    @tf.function
    def step() -> Any:
        y = switched(W * 1.0)
        x = refusing(W)
        return tf.gradients(tf.reduce_sum(y * x), [W])

    report = tapetrace.check(step)
    assert verdicts(report) == "error"
    assert report.calls[0].sources[0].breaks[0].type in ("Switch", "IdentityN")

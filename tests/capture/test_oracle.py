"""The oracle itself: it must contradict a report on another step than the one that it ran."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tests.capture.oracle import ask_tensorflow, contradictions

X = tf.constant([0.3, -0.7, 1.2])


def squared(w: Any, x: Any) -> Any:
    return tf.square(w * x)


def stopped(w: Any, x: Any) -> Any:
    return tf.square(tf.stop_gradient(w) * x)


def signed(w: Any, x: Any) -> Any:
    return tf.sign(w * x)


def saturated(w: Any, x: Any) -> Any:
    return tf.nn.relu(w * x * 0.0 - 1.0)


def contrasted(w: Any, x: Any) -> Any:
    return tf.image.adjust_contrast(tf.reshape(w * x, [1, 1, 3]), 2.0)


def step_of(loss: Any) -> Any:
    w = tf.Variable(X, name="w")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = loss(w, x)
        return tape.gradient(y, w)

    return step


@pytest.mark.parametrize(
    ("told", "true", "complaint"),
    [
        (squared, stopped, "connected, but None came back"),
        (stopped, squared, "none, but a tensor came back"),
        (signed, squared, "zero, but the gradient is not zero"),
        (squared, saturated, "connected, but the gradient is zero in every draw"),
        (squared, contrasted, "connected, but the call raised"),
        (contrasted, squared, "error, but the call did not raise"),
    ],
)
def test_a_wrong_report_is_contradicted(told: Any, true: Any, complaint: str) -> None:
    report = tapetrace.check(step_of(told), X, mode="graph")
    found = contradictions(report, ask_tensorflow(step_of(true), (X,)))
    assert any(complaint in sentence for sentence in found), found


def test_a_call_that_was_missed_is_noticed() -> None:
    report = tapetrace.check(step_of(squared), X, mode="graph")
    w = tf.Variable(X)

    def two(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = w * x
        return tape.gradient(y, w), tape.gradient(y, w)

    assert contradictions(report, ask_tensorflow(two, (X,))) == ["1 gradient calls reported, 2 made"]


def test_the_numbers_are_those_of_the_run() -> None:
    truth = ask_tensorflow(step_of(squared), (X,), draws=4)
    assert truth.raised is None
    assert [call.kinds for call in truth.calls] == [("tensor",)]
    assert len(truth.calls[0].sizes) == 4
    assert truth.calls[0].was_nonzero(0)
    assert not truth.calls[0].was_always_zero(0)

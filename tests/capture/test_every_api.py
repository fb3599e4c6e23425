"""Every way to ask TensorFlow for derivatives."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tests.capture.cases import verdicts

X = tf.constant([1.0, 2.0])


def variables() -> tuple[tf.Variable, tf.Variable]:
    return tf.Variable([1.0, 2.0], name="w"), tf.Variable([3.0, 4.0], name="v")


def forward_mode(x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as accumulator:
        y = x * x
    return accumulator.jvp(y)


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_forward_mode_is_mentioned_and_not_taken_for_gradient_calls(mode: str) -> None:
    w, v = variables()

    def step(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(w, tf.ones([2])) as accumulator:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w**3 * x)
            gradients = tape.gradient(loss, [w, v])
        return gradients, accumulator.jvp(gradients[0])

    report = tapetrace.check(step, X, mode=mode)
    assert verdicts(report) == "connected none"
    (note,) = report.notes
    assert note.startswith("tf.autodiff.ForwardAccumulator at ")
    assert note.endswith("derivatives in forward mode are not analysed")


def test_forward_mode_alone() -> None:
    with pytest.raises(tapetrace.TapetraceError, match=r"makes no gradient call but uses tf\.autodiff\.ForwardAccumulator at"):
        tapetrace.check(forward_mode, X)


def test_forward_mode_under_watch() -> None:
    w, _ = variables()

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, w), forward_mode(x)

    with tapetrace.watch() as seen:
        step(X)
    assert verdicts(seen.report) == "connected"
    assert "ForwardAccumulator" in seen.report.notes[0]


def test_hessians_are_gradients_of_gradients() -> None:
    w, _ = variables()

    def step(x: Any) -> Any:
        z = x * w
        return tf.hessians(tf.reduce_sum(z**3), [z])

    def linear(x: Any) -> Any:
        z = x * w
        return tf.hessians(tf.reduce_sum(z), [z])

    assert verdicts(tapetrace.check(step, X)) == "connected | connected"
    report = tapetrace.check(linear, X)
    assert verdicts(report) == "connected | none"
    assert report.error is not None
    assert report.error.message == "None values not supported."


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_given_output_gradients(mode: str) -> None:
    w, v = variables()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            targets = [w * x, tf.round(v * x)]
        return tape.gradient(targets, [w, v], output_gradients=[tf.ones([2]), tf.zeros([2])], unconnected_gradients="zero")

    assert verdicts(tapetrace.check(step, X, mode=mode)) == "connected zero"


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_jacobians(method: str, mode: str) -> None:
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.round(x) * 2.0
        return getattr(tape, method)(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    report = tapetrace.check(step, tf.ones([2, 3]), mode=mode)
    assert verdicts(report) == "zero"
    assert report.calls[0].kind == method


def test_frozen_in_a_test_of_the_users() -> None:
    w, v = variables()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, [w, v])

    with pytest.raises(AssertionError, match="1 of 2 variables receives no gradient"):
        tapetrace.assert_connected(step, X)
    assert tapetrace.assert_connected(step, X, frozen=["v"]).ok
    assert tapetrace.assert_connected(step, X, frozen="v").ok
    with pytest.raises(AssertionError, match=r"should be frozen, and gets gradient \(unexpected\)"):
        tapetrace.assert_connected(step, X, frozen=["*"])

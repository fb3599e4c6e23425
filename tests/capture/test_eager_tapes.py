"""Tapes of eager steps: asked often, nested, persistent, reset, paused, and asked for jacobians."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.eager_oracle import EagerCase, EagerCases

CASES = case = EagerCases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected | connected | connected")
def several_calls_in_a_loop() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        found = []
        for power in (1, 2, 3):
            with tf.GradientTape() as tape:
                y = w**power * x
            found.append(tape.gradient(y, w))
        return found

    return step, (X,)


@case("connected none | connected")
def second_order() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x) + tf.reduce_sum(tf.stop_gradient(v))
            first = inner.gradient(y, [w, v])[0]
        return outer.gradient(first, w)

    return step, (X,)


@case("connected none | none connected")
def one_persistent_tape_two_losses() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            a, b = w * x, v * x
        return tape.gradient(a, [w, v]), tape.gradient(b, [w, v])

    return step, (X,)


@case("zero | connected none")
def zeros_of_an_inner_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.sin(x)
            zeros = inner.gradient(y, w, unconnected_gradients="zero")  # an eager tape makes them of the variable
            z = tf.cos(zeros)
            loss = z * x
        return outer.gradient(loss, [z, w])

    return step, (X,)


@case("connected connected")
def jacobian() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(w * x)
        return tape.jacobian(y, [w, x])

    return step, (X,)


@case("connected")
def batch_jacobian() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * x
        return tape.batch_jacobian(y, x)

    return step, (tf.ones([4, 3]) * X,)


@case("none connected none")
def forward_pass_before_the_tape_and_stopped_recording() -> Any:
    before, inside, stopped = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        early = before * x
        with tf.GradientTape() as tape:
            y = inside * early
            with tape.stop_recording():
                z = stopped * x
            y = y + z
        return tape.gradient(y, [before, inside, stopped])

    return step, (X,)


@case("none connected")
def reset_between() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
            tape.reset()
            y = y * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none none connected")
def not_watched() -> Any:
    frozen, w = tf.Variable(X, trainable=False), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = frozen * w * x
        return tape.gradient(y, [frozen, x, w])

    return step, (X,)


@case("error error none")
def op_without_a_gradient() -> Any:
    w, v, unused = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w * x) + tf.reduce_sum(tf.math.bincount([0, 1, 1], weights=v * x))
            tf.cumsum(unused)
        return tape.gradient(y, [w, v, unused])

    return step, (X,)


@case("connected | error")
def tape_asked_twice() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
            z = v * x
        return tape.gradient(y, w), tape.gradient(z, v)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: EagerCase) -> None:
    one.check()

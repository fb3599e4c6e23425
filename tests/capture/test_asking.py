"""How a gradient is asked for: structures, persistent tapes, tf.gradients, and sources and targets of every kind."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none connected")
def nested_structures() -> Any:
    a, b, c = (tf.Variable(X, name=n) for n in "abc")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            losses = {"one": [tf.reduce_sum(a * x)], "two": (tf.reduce_sum(c * c), tf.reduce_sum(tf.stop_gradient(b)))}
        return tape.gradient(losses, {"z": [c], "a": [a, b]})

    return step, (X,)


@case("connected | connected | connected none")
def persistent_tape_asked_three_times() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = w * x
            z = tf.square(y) + v
        return tape.gradient(z, y), tape.gradient(z, v), tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none | none connected")
def two_tapes_at_once() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as one, tf.GradientTape() as two:
            y, z = tf.sin(w * x), tf.cos(v * x)
        return one.gradient(y, [w, v]), two.gradient(z, [w, v])

    return step, (X,)


@case("connected zero")
def unconnected_zero() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, [w, v], unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return step, (X,)


@case("connected zero")
def unconnected_zero_as_a_string() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(target=y, sources=[w, v], unconnected_gradients="zero")

    return step, (X,)


@case("connected none")
def output_gradients() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y, z = w * x, tf.square(w)
        return tape.gradient([y, z], [w, v], output_gradients=[x, tf.ones_like(x)])

    return step, (X,)


@case("connected none")
def symbolic_gradients() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        y = tf.reduce_sum(tf.sin(w * x))
        z = tf.round(x)
        return tf.gradients(y + tf.reduce_sum(z), [x, z * 1.0])

    return step, (X,)


@case("none connected")
def symbolic_gradients_with_stops() -> Any:
    def step(x: tf.Tensor) -> Any:
        y = tf.sin(x)
        return tf.gradients(tf.reduce_sum(y * y), [x, y], stop_gradients=[y])

    return step, (X,)


@case("connected")
def target_is_the_source() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, y)

    return step, (X,)


@case("connected connected")
def the_same_source_twice() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, [w, w])

    return step, (X,)


@case("connected none")
def tensors_on_the_way() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.tanh(w * x)
            beside = tf.exp(hidden)
            y = tf.reduce_sum(hidden * hidden)
        return tape.gradient(y, [hidden, beside])

    return step, (X,)


@case("")
def no_sources() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, [])

    return step, (X,)


@case("none")
def no_targets() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _ = w * x
        return tape.gradient([], w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

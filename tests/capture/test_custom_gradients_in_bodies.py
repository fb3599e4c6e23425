"""`tf.custom_gradient` in functions and loops, `tf.recompute_grad` and `tf.grad_pass_through`."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def inside_a_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def product(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * b, lambda dy: (dy * b, None)

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        return product(w * x, v * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = layer(x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def inside_a_loop() -> Any:
    w = tf.Variable(X)

    @tf.custom_gradient
    def rounded(x: tf.Tensor) -> Any:
        return tf.round(x), lambda dy: dy

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = x
            for _ in tf.range(3):
                y = rounded(w * y)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected connected")
def recompute_grad() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.recompute_grad
    def block(a: tf.Tensor) -> tf.Tensor:
        return tf.sin(a * v)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = block(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected zero")
def recompute_grad_over_a_stop() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.recompute_grad
    def block(a: tf.Tensor) -> tf.Tensor:
        return tf.sin(a) * tf.stop_gradient(v)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = block(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def recompute_grad_in_a_function_under_a_persistent_tape() -> Any:
    """TensorFlow builds the backward pass when the function is called, and asks a tape of its own then."""
    w = tf.Variable(X)

    @tf.function
    def layer(a: tf.Tensor) -> Any:
        return tf.recompute_grad(lambda e: tf.sin(e) * 0.5)(a)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = layer(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def grad_pass_through() -> Any:
    w = tf.Variable(X)
    passing = tf.grad_pass_through(lambda x: tf.round(x))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = passing(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

"""`tf.custom_gradient` and `tf.recompute_grad` in eager steps."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.eager_oracle import EagerCase, EagerCases

CASES = case = EagerCases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def custom_gradient_with_a_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def scaled(x: tf.Tensor) -> Any:
        def grad(upstream: tf.Tensor, variables: Any = None) -> Any:
            return upstream * v, [None for _ in variables]

        return x * v, grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = scaled(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def custom_gradient_that_reads_values_in_python() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def clipped(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * b, lambda upstream: (upstream * float(upstream.numpy().max()), None)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = clipped(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def custom_gradient_in_custom_gradient() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def inner(a: tf.Tensor) -> Any:
        return a * 2.0, lambda upstream: None

    @tf.custom_gradient
    def outer(a: tf.Tensor, b: tf.Tensor) -> Any:
        def grad(upstream: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(b)
                z = inner(b)
            return upstream * b, tape.gradient(z, b)

        return a * inner(b), grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = outer(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def recomputed() -> Any:
    w = tf.Variable(X)
    block = tf.recompute_grad(lambda x: tf.sin(w * x))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = block(x)
        return tape.gradient(y, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: EagerCase) -> None:
    one.check()

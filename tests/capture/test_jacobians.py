"""Jacobians, batch jacobians and a hessian."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def jacobian() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x)
        return tape.jacobian(y, [w, v])

    return step, (X,)


@case("connected")
def jacobian_without_pfor() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = tf.sin(w * x)
        return tape.jacobian(y, w, experimental_use_pfor=False)

    return step, (X,)


@case("connected")
def batch_jacobian() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(w * x)
        return tape.batch_jacobian(y, x)

    return step, (tf.ones([2, 3]),)


@case("connected | connected")
def hessian() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x)
            first = inner.gradient(y, w)
        return outer.jacobian(first, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

"""Branches: tf.cond, tf.switch_case, tf.case, tf.where, and `if` by way of AutoGraph."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("conditional conditional connected")
def cond() -> Any:
    a, b, c = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > 0, lambda: tf.sin(a * c), lambda: tf.cos(b * c))
        return tape.gradient(y, [a, b, c])

    return step, (X,)


@case("none connected")
def cond_that_stops_in_both_branches() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > 0, lambda: tf.stop_gradient(a) * b, lambda: tf.round(a) * b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("conditional none")
def nested_cond() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > -9, lambda: tf.cond(x[1] > -9, lambda: tf.sin(a * x), lambda: x), lambda: x)
            y += tf.stop_gradient(b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("conditional conditional connected", vanishing=True)
def switch_case() -> Any:
    a, b, c = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.switch_case(tf.cast(tf.abs(x[0]), tf.int32), [lambda: a * c, lambda: b * c, lambda: tf.sin(c)])
        return tape.gradient(y, [a, b, c])

    return step, (X,)


@case("conditional conditional")
def case_with_predicates() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.case([(x[0] > 0, lambda: tf.sin(a)), (x[0] < 0, lambda: tf.sin(b))], default=lambda: x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("none")
def only_the_condition_depends() -> Any:
    a = tf.Variable(1.0)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(a > 0, lambda: tf.sin(x), lambda: x)
        return tape.gradient(y, a)

    return step, (X,)


@case("conditional connected")
def autograph_if() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = b * x
            if tf.reduce_sum(x) > -99.0:
                y = y + tf.sin(a)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("conditional conditional")
def autograph_early_return() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def loss(x: tf.Tensor) -> tf.Tensor:
        if x[0] > 0:
            return tf.sin(a * x)
        return tf.cos(b * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = loss(x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected none")
def where() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.where(b > x, a, tf.sin(a))
        return tape.gradient(y, [a, b])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

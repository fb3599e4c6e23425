"""Second derivatives by nested tapes, through functions, loops, branches and an LSTM."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected | connected")
def second_derivative() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | none")
def second_derivative_of_a_line() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w * x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | connected")
def second_derivative_through_a_function() -> Any:
    w = tf.Variable(X)

    @tf.function
    def cube(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(w**3 * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = cube(x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | connected")
def second_derivative_through_a_loop() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y * w)), [0, x])[1]
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("conditional | conditional")
def second_derivative_through_a_branch() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.cond(x[0] > -9.0, lambda: tf.exp(w * x), lambda: x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | connected connected")
def second_derivative_through_an_lstm() -> Any:
    import keras

    cell = keras.layers.LSTM(2)
    cell.build((2, 3, 2))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(cell(x))
            first = inner.gradient(y, x)
            penalty = tf.reduce_sum(tf.square(first))
        return outer.gradient(penalty, cell.trainable_variables[:2])

    return step, (tf.TensorSpec([2, 3, 2]),)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

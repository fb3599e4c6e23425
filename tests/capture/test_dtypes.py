"""Dtypes that carry a gradient and dtypes that carry none."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected")
def complex_dtypes() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            z = tf.signal.fft(tf.complex(w * x, x))
            y = tf.reduce_sum(tf.abs(z) ** 2)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def complex_source() -> Any:
    w = tf.Variable(tf.complex(X, X))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.math.real(w * tf.cast(x, tf.complex64))
        return tape.gradient(y, w)

    return step, (X,)


@case("none none")
def strings() -> Any:
    w, name = tf.Variable(X), tf.Variable("a")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.strings.to_number(tf.strings.as_string(w * x) + name)
        return tape.gradient(y, [w, name])

    return step, (X,)


@case("none none")
def integers() -> Any:
    w, n = tf.Variable(X), tf.Variable([1, 2, 3])

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cast(tf.cast(w * x, tf.int32) * n, tf.float32)
        return tape.gradient(y, [w, n])

    return step, (X,)


@case("none")
def integer_target() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.argmax(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

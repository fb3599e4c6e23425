"""What is made of loops: map_fn, vectorized_map, scan, foldl and foldr, TensorArray."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def map_fn() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.map_fn(lambda e: tf.sin(e * a), x) + tf.round(b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("zero")
def map_fn_over_a_stopped_value() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.map_fn(lambda e: tf.stop_gradient(e) * 2.0, a * x)
        return tape.gradient(y, a)

    return step, (X,)


@case("connected connected")
def vectorized_map() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.vectorized_map(lambda e: tf.sin(e * a), b * x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected")
def gradient_for_each_example() -> Any:
    a = tf.Variable(X)

    def one(e: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(e * a)
        return tape.gradient(y, a)

    def step(x: tf.Tensor) -> Any:
        return tf.vectorized_map(one, x)

    return step, (X,)


@case("connected connected")
def scan() -> Any:
    a, b = tf.Variable(1.5), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.scan(lambda s, e: tf.sin(s * a + e), b * x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected")
def foldl_and_foldr() -> Any:
    a, b = tf.Variable(1.5), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.foldl(lambda s, e: s * a + e, b * x) + tf.foldr(lambda s, e: s * a + e, b * x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected none")
def tensor_array() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            array = tf.TensorArray(tf.float32, size=3)
            for i in tf.range(3):
                array = array.write(i, tf.sin(a * x) + tf.stop_gradient(b))
            y = array.stack()
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected", vanishing=True)
def tensor_array_of_which_one_element_is_read() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            array = tf.TensorArray(tf.float32, size=2, clear_after_read=False)
            array = array.write(0, tf.sin(a)).write(1, tf.sin(b))
            y = array.read(0)
        return tape.gradient(y, [a, b])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

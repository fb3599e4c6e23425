"""Where the graph ends: datasets, numpy_function, py_function, values frozen before the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("none connected")
def numpy_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.numpy_function(lambda a: np.sin(a), [w * x], tf.float32) * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("opaque none")
def py_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.py_function(lambda a: tf.sin(a), [w * x], tf.float32) + tf.round(v)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def py_function_that_reads_a_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.py_function(lambda a: tf.sin(a) * w, [x], tf.float32) * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def loop_over_a_dataset() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            total = tf.zeros([])
            for row in tf.data.Dataset.from_tensor_slices(w * x):
                total += row
            y = total * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def variable_used_in_a_loop_over_a_dataset() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            total = tf.zeros([])
            for row in tf.data.Dataset.from_tensor_slices(x):
                total += tf.reduce_sum(row * w)
            y = total * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none")
def dataset_reduce() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.data.Dataset.from_tensor_slices(w * x).reduce(0.0, lambda s, e: s + tf.sin(e))
        return tape.gradient(y, w)

    return step, (X,)


@case("connected none")
def next_of_an_iterator() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)
    iterator = iter(tf.data.Dataset.from_tensors(X).repeat())

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            batch = iterator.get_next()
            y = w * batch + tf.stop_gradient(v)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def one_step_for_each_batch() -> Any:
    w = tf.Variable(X)
    data = tf.data.Dataset.from_tensors(X).repeat(3)

    def step(x: tf.Tensor) -> Any:
        last = x
        for batch in data:
            with tf.GradientTape() as tape:
                y = tf.sin(w * batch * x)
            last = tape.gradient(y, w)
        return last

    return step, (X,)


@case("none connected")
def frozen_before_the_step() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)
    frozen = w * 2.0

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = frozen * x * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def python_number() -> Any:
    w, v = tf.Variable(1.5), tf.Variable(X)
    number = float(w)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = number * x * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def printing_and_checking() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x)
            tf.debugging.assert_all_finite(y, "finite")
            tf.print("", end="", output_stream="file:///dev/null")
            with tf.control_dependencies([tf.debugging.assert_less(x, 99.0)]):
                z = tf.identity(y) + tf.stop_gradient(v)
            z = tf.ensure_shape(z, [3])
            z = tf.debugging.check_numerics(z, "numbers")
        return tape.gradient(z, [w, v])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

"""Calls of tf.functions: deep, often, with signatures, of concrete functions, and of those that XLA compiles."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def input_signature_inside() -> Any:
    w, v = tf.Variable(2.0), tf.Variable(X)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def layer(x: tf.Tensor) -> Any:
        return tf.sin(w * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(x)) + tf.reduce_sum(layer(tf.concat([x, x], 0))) + tf.round(v)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def ten_deep() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def deeper(inner: Any) -> Any:
        return tf.function(lambda x: tf.sin(inner(x)))

    function = tf.function(lambda x: tf.sin(w * x) + tf.stop_gradient(v))
    for _ in range(10):
        function = deeper(function)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = function(x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def called_many_times() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(w * x + tf.stop_gradient(v))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            for _ in range(20):
                x = layer(x)
        return tape.gradient(x, [w, v])

    return step, (X,)


@case("connected connected")
def called_with_other_shapes() -> Any:
    w, v = tf.Variable(1.5), tf.Variable(0.5)

    @tf.function
    def layer(x: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
        return tf.sin(factor * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(x, w)) + tf.reduce_sum(layer(x[:2], tf.convert_to_tensor(v)))
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def partial_and_keyword_arguments() -> Any:
    w = tf.Variable(X)

    @tf.function
    def scaled(x: tf.Tensor, *, factor: tf.Tensor, power: int = 2) -> tf.Tensor:
        return (factor * x) ** power

    half = functools.partial(scaled, power=3)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = half(x, factor=w)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def concrete_function_made_before() -> Any:
    w = tf.Variable(X)
    concrete = tf.function(lambda x: tf.sin(w * x)).get_concrete_function(tf.TensorSpec([3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = concrete(x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def concrete_function_made_inside() -> Any:
    w = tf.Variable(X)
    function = tf.function(lambda x: tf.sin(w * x))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = function.get_concrete_function(tf.TensorSpec([3]))(x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def recursive_python() -> Any:
    w = tf.Variable(X)

    @tf.function
    def power(x: tf.Tensor, n: int) -> tf.Tensor:
        return x if n == 0 else w * power(x, n - 1)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = power(x, 4)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def compiled_by_xla() -> Any:
    w = tf.Variable(X)

    @tf.function(jit_compile=True)
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(w * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = layer(x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected connected")
def variables_made_in_the_first_call() -> Any:
    made: dict[str, tf.Variable] = {}

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        if "v" not in made:
            made["v"] = tf.Variable(X)
        return tf.sin(made["v"] * x)

    def step(x: tf.Tensor) -> Any:
        if "w" not in made:
            made["w"] = tf.Variable(X)
        with tf.GradientTape() as tape:
            y = layer(made["w"] * x)
        return tape.gradient(y, [made["w"], made["v"]])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

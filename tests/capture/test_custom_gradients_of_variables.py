"""`tf.custom_gradient` around variables, and in the methods of layers and classes."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected connected")
def with_a_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def scaled(a: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor, variables: Any = None) -> Any:
            return dy * v, [dy * a]

        return a * v, grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = scaled(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def returns_none_for_its_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def scaled(a: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor, variables: Any = None) -> Any:
            return dy * v, [None]

        return a * v, grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = scaled(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected zero")
def returns_zeros_for_its_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def scaled(a: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor, variables: Any = None) -> Any:
            return dy * v, [tf.zeros_like(v) for v in variables]

        return a * v, grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = scaled(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def in_a_method_of_a_layer() -> Any:
    import keras

    class Scale(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.kernel = self.add_weight(shape=(3,), initializer="ones")
            self.offset = self.add_weight(shape=(3,), initializer="ones")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            @tf.custom_gradient
            def cut(a: tf.Tensor) -> Any:
                return tf.sign(a), lambda dy: None

            return x * self.kernel + cut(x * self.offset)

    layer = Scale()
    layer.build((2, 3))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = layer(x)
        return tape.gradient(y, [layer.kernel, layer.offset])

    return step, (tf.TensorSpec([2, 3]),)


class Clip:
    def clipped(self, x: tf.Tensor) -> tf.Tensor:
        @tf.custom_gradient
        def clip(a: tf.Tensor) -> Any:
            return tf.identity(a), lambda dy: tf.clip_by_norm(dy, self.norm)

        return clip(x)

    norm = 1.0

    @staticmethod
    @tf.custom_gradient
    def reversed(x: tf.Tensor) -> Any:
        return tf.identity(x), lambda dy: -dy


@case("connected")
def gradient_reversal_in_a_static_method() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = Clip.reversed(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def clipped_in_a_method() -> Any:
    w, clip = tf.Variable(X), Clip()

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = clip.clipped(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

"""Remedies that depend on what stands around the op: each is followed, and mends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace

X = tf.constant([[0.4, -0.6, 0.9]])
Z = tf.Variable([[0.2, 0.3, 0.4]], name="z")
BOOK = tf.Variable([[0.1, 0.5, 0.8]], name="book")
METRIC = keras.metrics.MeanSquaredError()


def straight_through(mended: bool) -> Any:
    q = Z + tf.stop_gradient(BOOK - Z)
    loss = tf.reduce_sum((q - X) ** 2)
    return loss + tf.reduce_mean((BOOK - tf.stop_gradient(Z)) ** 2) if mended else loss


def a_metric(mended: bool) -> Any:
    if mended:
        return tf.reduce_mean(keras.losses.mean_squared_error(X, Z * BOOK))
    METRIC.update_state(X, Z * BOOK)
    return METRIC.result()


def a_variable_of_a_custom_gradient(mended: bool) -> Any:
    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(upstream: Any, variables: Any = None) -> Any:
            return upstream * BOOK, [upstream * x if mended else None for _ in variables]

        return x * BOOK, grad

    return tf.reduce_sum(scaled(Z))


def an_accuracy(mended: bool) -> Any:
    y, p = tf.round(X), tf.sigmoid(Z + BOOK)
    return tf.reduce_mean(keras.losses.binary_crossentropy(y, p) if mended else keras.metrics.binary_accuracy(y, p))


def a_count(mended: bool) -> Any:
    x = tf.nn.relu(Z) - BOOK
    return tf.reduce_sum(1.0 - tf.exp(-2.0 * x**2)) if mended else tf.cast(tf.math.count_nonzero(x), tf.float32)


def a_length(mended: bool) -> Any:
    length = 3.0 * Z[0]
    if mended:
        mask = tf.sigmoid(2.0 * (length[:, None] - tf.range(3, dtype=length.dtype)))
    else:
        mask = tf.sequence_mask(length, 3, tf.float32)
    return tf.reduce_sum(mask @ tf.transpose(BOOK))


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (an_accuracy, "`binary_accuracy` is a metric and has no gradient: train on a smooth loss, such as `keras.losses.…(y, y_pred)`"),
        (a_count, "counting has no gradient: sum a smooth indicator, `tf.reduce_sum(1. - tf.exp(-k * x ** 2))`"),
        (a_length, "a length has no gradient: use a soft mask, `tf.sigmoid(k * (length[:, None] - tf.range(n, dtype=length.dtype)))`"),
        (straight_through, "keep it, and train what it stops by a term of its own, such as `tf.reduce_mean((q - tf.stop_gradient(z)) ** 2)`"),
        (a_metric, "compute the loss with a function, `keras.losses.…(y, y_pred)`"),
        (a_variable_of_a_custom_gradient, "must return a gradient for `book`"),
    ],
)
def test_the_mend_fits_and_mends(loss: Callable[[bool], Any], said: str) -> None:
    def step(mended: bool) -> Any:
        with tf.GradientTape() as tape:
            value = loss(mended)
        return tape.gradient(value, [Z, BOOK])

    broken = [s for s in tapetrace.check(step, False).calls[0].sources if s.verdict.value == "none"]
    assert said in broken[-1].breaks[0].remedy
    assert [s.verdict.value for s in tapetrace.check(step, True).calls[0].sources] == ["connected", "connected"]


def test_the_bias_of_keys_does_no_harm() -> None:
    queries, keys = (keras.layers.Dense(2, kernel_initializer=keras.initializers.GlorotUniform(seed)) for seed in (1, 2))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            weights = tf.nn.softmax(tf.matmul(queries(x), keys(x), transpose_b=True))
            loss = tf.reduce_sum(tf.matmul(weights, x) ** 2)
        return tape.gradient(loss, keys.trainable_variables)

    x = tf.random.stateless_normal([4, 3], [1, 2])
    step(x)
    kernel, bias = tapetrace.check(step, x, numeric=True).calls[0].sources
    assert kernel.verdict.value == "connected"
    assert "it does no harm" in bias.breaks[0].remedy


def cancelling(mended: bool) -> Any:
    drawn = Z + BOOK * X
    return tf.reduce_sum(((tf.stop_gradient(drawn) if mended else drawn) - Z) ** 2)


def a_root_of_zero(mended: bool) -> Any:
    square = (Z - tf.constant([[0.2, 0.1, 0.1]])) ** 2
    return tf.reduce_sum(tf.sqrt(tf.maximum(square, 1e-6) if mended else square) + BOOK)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (cancelling, "put `tf.stop_gradient` around the value on the others"),
        (a_root_of_zero, "keep the values of `Sqrt` away from where it is not finite, with `tf.maximum(x, 1e-6)`"),
    ],
)
def test_the_mend_of_a_number_fits_and_mends(loss: Callable[[bool], Any], said: str) -> None:
    def step(mended: bool) -> Any:
        with tf.GradientTape() as tape:
            value = loss(mended)
        return tape.gradient(value, [Z, BOOK])

    broken = tapetrace.check(step, False, numeric=True).calls[0].sources[0]
    assert broken.cause is tapetrace.Cause.NUMERICALLY_ZERO
    assert said in broken.breaks[0].remedy
    assert not tapetrace.check(step, True, numeric=True).calls[0].sources[0].breaks

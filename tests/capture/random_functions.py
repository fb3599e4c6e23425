"""Functions that random programs call."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


@tf.custom_gradient
def straight_through(a: Any) -> Any:
    return tf.floor(a) + 0.7, lambda dy: dy


@tf.custom_gradient
def one_sided(a: Any, b: Any) -> Any:
    return a * b, lambda dy: (dy * b, None)


@tf.custom_gradient
def without_gradient(a: Any) -> Any:
    return a * 1.5, lambda dy: None


@tf.custom_gradient
def with_zeros(a: Any) -> Any:
    return a * 1.5, lambda dy: tf.zeros_like(dy)


def as_numpy(a: Any) -> Any:
    return np.sin(a)


def in_an_array(a: Any) -> Any:
    array = tf.TensorArray(tf.float32, size=3)
    for i in tf.range(3):
        array = array.write(i, tf.sin(a[i]))
    return tf.ensure_shape(array.stack(), [3])


def until_small(a: Any) -> Any:
    rounds = tf.constant(0)
    while rounds < 4 and tf.reduce_max(tf.abs(a)) > 0.5:
        rounds += 1
        a = a * 0.4
        if a[0] > 0.9:
            break
    return a


def squash(a: Any) -> Any:
    return a / (1.0 + tf.reduce_mean(tf.square(a)))


def total(*gradients: Any) -> Any:
    return tf.add_n([tf.zeros([3])] + [tf.reduce_sum(g) * tf.ones([3]) for gs in gradients for g in gs if g is not None])

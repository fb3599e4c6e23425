"""Norms and counts of tensors, computed inside the graph so that nothing large leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

NORM, ZEROS, NAN, INF = range(4)
"""Columns of `statistics_of`: Euclidean norm, zeros, NaN, infinite elements."""


def statistics_of(tensors: Sequence[Any]) -> Any:
    """A float64 tensor with a row for each tensor, in double precision so that squares do not overflow."""
    return tf.stack([_statistics(t) for t in tensors])


def norms_of(tensors: Sequence[Any]) -> Any:
    """A float64 tensor with the norm and the number of elements of each tensor, in as few ops as there can be, since there may be thousands."""
    halves = [tf.nn.l2_loss(_real(t)) for t in tensors]
    sizes = [np.int64(n) if (n := t.shape.num_elements()) is not None else tf.size(t, tf.int64) for t in tensors]
    return tf.stack([tf.sqrt(2.0 * tf.stack(halves)), tf.cast(tf.stack(sizes), tf.float64)], axis=1)


def as_tensor(gradient: Any) -> Any:
    """A gradient as one tensor. Of ``IndexedSlices``: the rows that they touch, those of equal index summed, which is added to their graph."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    with gradient.values.graph.as_default():
        rows, place = tf.unique(tf.reshape(gradient.indices, [-1]))
        return tf.math.unsorted_segment_sum(gradient.values, place, tf.size(rows))


def _statistics(tensor: Any) -> Any:
    exact = tf.abs(_real(tensor))
    norm = tf.sqrt(tf.reduce_sum(tf.square(exact)))
    counts = (tf.equal(exact, 0.0), tf.math.is_nan(exact), tf.math.is_inf(exact))
    return tf.stack([norm, *(tf.reduce_sum(tf.cast(c, tf.float64)) for c in counts)])


def _real(tensor: Any) -> Any:
    return tf.abs(tf.cast(tensor, tf.complex128)) if tensor.dtype.is_complex else tf.cast(tensor, tf.float64)

"""Ragged, sparse and sliced tensors as sources and targets, and variables that are read in slices."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])
TABLE = tf.constant([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [0.7, 0.8]])


@case("connected none")
def gather_of_a_variable() -> Any:
    table, other = tf.Variable(TABLE), tf.Variable(TABLE)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(tf.gather(table, [0, 2])) + tf.stop_gradient(tf.gather(other, [1, 1]))
        return tape.gradient(y, [table, other])

    return step, (X,)


@case("connected")
def embedding_lookup() -> Any:
    table = tf.Variable(TABLE)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(tf.nn.embedding_lookup(table, [0, 2]))
        return tape.gradient(y, table)

    return step, (X,)


@case("none")
def indices_of_a_gather() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.gather(TABLE, tf.argmax(w * x))
        return tape.gradient(y, w)

    return step, (X,)


@case("connected connected")
def slices_of_a_variable_in_two_places() -> Any:
    table, w = tf.Variable(TABLE), tf.Variable(0.5)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, [0]) * w) + tf.reduce_sum(tf.nn.embedding_lookup(table, [3])) + tf.reduce_sum(table**2)
        return tape.gradient(y, [table, w])

    return step, (X,)


@case("connected none")
def slices_of_a_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w[1:] * x[1:] + tf.round(v[:2])
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def ragged_source() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            ragged = tf.RaggedTensor.from_row_lengths(x, [1, 2])
            tape.watch(ragged)
            y = ragged * ragged
        return tape.gradient(y, ragged)

    return step, (X,)


@case("connected none")
def ragged_target() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            ragged = tf.RaggedTensor.from_row_lengths(w * x, [1, 2])
            y = tf.sin(ragged)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def ragged_reduced() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            ragged = tf.RaggedTensor.from_row_lengths(w * x, [1, 2])
            y = tf.reduce_sum(tf.reduce_mean(ragged, axis=1)) + tf.reduce_sum(ragged.to_tensor() ** 2)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def sparse_values() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], w * x, [3, 2])
            y = tf.sparse.sparse_dense_matmul(sparse, tf.ones([2, 1])) + tf.sparse.reduce_sum(sparse)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def sparse_to_dense() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], w * x, [3, 2])
            y = tf.sparse.to_dense(sparse) ** 2
        return tape.gradient(y, w)

    return step, (X,)


@case("connected none")
def segments_and_scatters() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.math.segment_sum(w * x, [0, 0, 1])
            z = tf.tensor_scatter_nd_update(x, [[0]], tf.sin(w[:1]))
            u = tf.scatter_nd([[0], [1], [3]], tf.floor(v), [5])
        return tape.gradient([y, z, u], [w, v])

    return step, (X,)


@case("connected connected")
def stacked_and_split() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            a, b = tf.unstack(tf.stack([w * x, v * x]))
            c, _ = tf.split(tf.concat([a, b], 0), 2)
            y = c + b
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def einsum_and_linear_algebra() -> Any:
    w = tf.Variable(tf.eye(3) * 2.0 + 0.1)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.einsum("ij,j->i", tf.linalg.inv(w), x) + tf.linalg.logdet(tf.matmul(w, w, transpose_b=True))
        return tape.gradient(y, w)

    return step, (X,)


@case("connected | none")
def keras_sparse_embedding_gradient_used_again() -> Any:
    table = tf.Variable(TABLE)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.gather(table, [0, 2]))
            first = tape.gradient(y, table)
            z = tf.reduce_sum(tf.convert_to_tensor(first))
        return outer.gradient(z, table)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

"""Steps as people write them for eager mode: Python loops and branches, loops over datasets, rows of a table, a loss handed back."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.eager_oracle import EagerCase, EagerCases

CASES = case = EagerCases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected connected")
def loop_over_a_dataset_in_python() -> Any:
    w, v = tf.Variable(X), tf.Variable(2.0)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.zeros([])
            for row in tf.data.Dataset.from_tensor_slices([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]):
                loss += tf.reduce_sum(row * w) * v
        return tape.gradient(loss, [w, v])

    return step, ()


@case("none connected")
def a_dataset_made_from_the_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(2.0)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.zeros([])
            for value in tf.data.Dataset.from_tensor_slices(w * 1.0):
                loss += value * v
        return tape.gradient(loss, [w, v])

    return step, ()


@case("connected none none")
def branch_that_python_takes() -> Any:
    w, v, never = tf.Variable(X), tf.Variable(X), tf.Variable(1.0)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x) if x[0] > 0 else tf.reduce_sum(v * x)
        return tape.gradient(loss, [w, v, never])

    return step, (X,)


@case("connected none")
def loop_that_stops_by_value() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = x
            while tf.reduce_sum(y * y) < 5.0:
                y = y * 1.5 + w
            tf.reduce_sum(v * y)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none none connected")
def gather_with_sliced_gradient() -> Any:
    table, index, scale = tf.Variable(tf.ones([5, 3])), tf.Variable([1, 3]), tf.Variable(2.0)

    def step() -> Any:
        with tf.GradientTape() as tape:
            rows = tf.gather(tf.round(table), index)
            loss = tf.reduce_sum(rows * X) * scale
        return tape.gradient(loss, [table, index, scale])

    return step, ()


@case("connected")
def embedding_rows() -> Any:
    table = tf.Variable(tf.ones([5, 3]))

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3]) * X)
        return tape.gradient(loss, table)

    return step, ()


@case("connected")
def ragged_rows() -> Any:
    w = tf.Variable(X)

    def step() -> Any:
        with tf.GradientTape() as tape:
            rows = tf.RaggedTensor.from_row_lengths(w * X, [1, 0, 2])
            loss = tf.reduce_sum(tf.reduce_sum(rows, axis=1) ** 2)
        return tape.gradient(loss, w)

    return step, ()


@case("connected none connected")
def assigned_and_read_back() -> Any:
    w, v, slot = tf.Variable(X), tf.Variable(X), tf.Variable(tf.zeros([3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            slot.assign(v * x)
            y = slot * w
        return tape.gradient(y, [w, v, slot])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: EagerCase) -> None:
    one.check()


def test_a_step_that_returns_its_loss() -> None:
    w, v = tf.Variable(X, name="w"), tf.Variable(X, name="v")

    def loss(x: tf.Tensor) -> Any:
        return tf.reduce_sum(w * x + tf.round(v))

    report = tapetrace.check(loss, X, mode="eager")
    assert [(s.path, s.verdict.value) for s in report.calls[0].sources] == [("w", "connected"), ("v", "none")]
    assert report.calls[0].kind == "loss"
    assert report.calls[0].location is None


def test_a_step_that_returns_something_else() -> None:
    with pytest.raises(tapetrace.TapetraceError, match="return a scalar float loss"):
        tapetrace.check(lambda: tf.ones([2]), mode="eager")


def test_each_break_stands_on_its_line() -> None:
    early, rounded, unused, never = (tf.Variable(X, name=n) for n in ("early", "rounded", "unused", "never"))

    def step(x: tf.Tensor) -> Any:
        a = early * x
        with tf.GradientTape() as tape:
            y = a + tf.round(rounded)
            tf.sin(unused)
        return tape.gradient(y, [early, rounded, unused, never])

    report = tapetrace.check(step, X, mode="eager")
    first = step.__code__.co_firstlineno
    places = [(s.cause, s.breaks[0].location.line - first) for s in report.calls[0].sources if s.breaks[0].location]
    assert places == [(Cause.OUTSIDE_TAPE, 1), (Cause.GRADIENT_IS_NONE, 3), (Cause.UNUSED_RESULT, 4), (Cause.NEVER_READ, 5)]

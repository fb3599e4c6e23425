"""Functions that eager steps call: `tf.function`, warm, cold and with tapes of its own, and `tf.numpy_function`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause, Returned
from tests.capture.cases import verdicts
from tests.capture.eager_oracle import EagerCase, EagerCases

CASES = case = EagerCases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def cold_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def forward(x: tf.Tensor) -> Any:
        return tf.sin(w * x) + tf.round(v)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = forward(x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none | connected")
def function_with_a_tape_and_a_tape_around_it() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def penalty(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)
        return tape.gradient(y, [w, v])[0]

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = penalty(x)
        return tape.gradient(y, w)

    return step, (X,)


@case("none connected")
def numpy_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.numpy_function(np.sin, [w * x], tf.float32) * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: EagerCase) -> None:
    one.check()


def test_a_function_that_was_traced_before() -> None:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def inner(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)
        return tape.gradient(y, [w, v])[0]

    inner(X)
    report = tapetrace.check(lambda: inner(X), mode="eager")
    assert verdicts(report) == "connected none"
    assert report.calls[0].sources[1].cause is Cause.STOP_GRADIENT
    assert [s.returned for s in report.calls[0].sources] == [Returned.TENSOR, Returned.NONE]


def test_the_line_that_calls_a_numpy_function() -> None:
    w, v, kept = (tf.Variable(X, name=n) for n in ("w", "v", "kept"))

    def inside(a: np.ndarray) -> np.ndarray:
        return a * kept.numpy()

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.numpy_function(inside, [w * x], tf.float32) * v
        return tape.gradient(y, [w, kept, v])

    sources = tapetrace.check(step, X, mode="eager").calls[0].sources
    for source in sources[:2]:
        assert source.cause is Cause.PYTHON_FUNCTION
        assert source.breaks[0].location is not None
        assert source.breaks[0].location.line == step.__code__.co_firstlineno + 2


def test_a_function_that_is_traced_and_never_runs_says_nothing() -> None:
    w = tf.Variable(X)

    @tf.function
    def never(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.round(w * x)
        return tape.gradient(y, w)

    def step() -> Any:
        never.get_concrete_function(X)
        with tf.GradientTape() as tape:
            y = w * X
        return tape.gradient(y, w)

    assert verdicts(tapetrace.check(step, mode="eager")) == "connected"

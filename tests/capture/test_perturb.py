"""Does the loss move when a variable is changed that no gradient reaches?"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause

X = tf.constant([0.3, -0.7, 1.2])
MOVES = "the loss moves when it is changed: there is a dependency that the tape does not see"
UNUSED = "the loss does not move when it is changed: unused"
MUCH = "the loss moves only when it is changed by a lot: there is a dependency, in which the value is rounded or compared"


def variables(*names: str) -> list[tf.Variable]:
    return [tf.Variable(X, name=n) for n in names]


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_what_moves_and_what_does_not(mode: str) -> None:
    early, unused, never, rounded, w = variables("early", "unused", "never", "rounded", "w")
    count = tf.Variable([3, 4], name="count")

    def step(x: tf.Tensor) -> Any:
        value = early * x
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(value * w) + tf.reduce_sum(tf.round(rounded)) + tf.cast(tf.reduce_sum(count), tf.float32)
            tf.sin(unused)
        return tape.gradient(loss, [early, unused, never, rounded, count, w])

    before = [v.numpy().tolist() for v in (early, unused, never, rounded, count, w)]
    report = tapetrace.check(step, X, mode=mode, perturb=True)
    details = [s.breaks[0].detail if s.breaks else "" for s in report.calls[0].sources]
    assert [d.rpartition("; ")[2] for d in details] == [MOVES, UNUSED, UNUSED, MUCH, MOVES, ""]
    assert report.notes == (f"early, count: {MOVES}", f"unused, never: {UNUSED}", f"rounded: {MUCH}")
    assert [v.numpy().tolist() for v in (early, unused, never, rounded, count, w)] == before
    assert MOVES.split(":")[0] in tapetrace.api.render_text(report)
    assert report.to_dict()["calls"][0]["sources"][0]["breaks"][0]["detail"].endswith(MOVES)


def test_random_numbers_are_the_same_in_all_runs() -> None:
    never, w = variables("never", "w")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            h = tf.nn.dropout(w * x, 0.5) + tf.random.normal([3]) + np.random.rand()
            loss = tf.reduce_sum(h)
        return tape.gradient(loss, [never, w])

    report = tapetrace.check(step, X, perturb=True)
    assert report.notes == (f"never: {UNUSED}",)


def test_each_call_has_its_own_answer() -> None:
    first, second = variables("first", "second")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            a = tf.reduce_sum(tf.stop_gradient(first) * x)
            b = tf.reduce_sum(second * x)
        return tape.gradient(a, [first, second]), tape.gradient(b, [first, second])

    calls = tapetrace.check(step, X, perturb=True).calls
    details = [[s.breaks[0].detail.rpartition("; ")[2] if s.breaks else "" for s in c.sources] for c in calls]
    assert details == [[MOVES, UNUSED], [UNUSED, ""]]


def test_generated_arguments_and_models() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="on"), keras.layers.Dense(2, name="off")])
    on = model.layers[0]

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.stop_gradient(on(x)))
        return tape.gradient(loss, model.trainable_variables)

    report = tapetrace.check(step, specs=["float32[4,3]"], perturb=True)
    assert [s.breaks[0].detail.rpartition("; ")[2] for s in report.calls[0].sources] == [MOVES, MOVES, UNUSED, UNUSED]


def test_nothing_is_run_when_all_is_well() -> None:
    (w,) = variables("w")
    runs = []

    def step(x: tf.Tensor) -> Any:
        runs.append(tf.executing_eagerly())
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, w)

    assert tapetrace.check(step, X, perturb=True).notes == ()
    assert runs == [False]


def test_a_step_that_cannot_be_run() -> None:
    never, w = variables("never", "w")

    def step(x: tf.Tensor) -> Any:
        if tf.executing_eagerly():
            raise ValueError("only in a graph")
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, [never, w])

    report = tapetrace.check(step, X, perturb=True)
    assert report.calls[0].sources[0].cause is Cause.NEVER_READ
    assert report.notes == ("whether the loss moves was not tried, since the step raises ValueError when it runs eagerly",)

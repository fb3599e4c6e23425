"""Numbers wherever the gradient call stands, and what a run with numbers puts back."""

from __future__ import annotations

import math
import random
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Verdict
from tests.capture.measured import first, line, run, variable


def test_inside_a_function() -> None:
    w = variable([1.0, -2.0])

    @tf.function
    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = tf.nn.relu(-tf.square(w * x))
            loss = tf.reduce_sum(h)
        return tape.gradient(loss, w)

    @tf.function
    def step(x: Any) -> Any:
        return gradients(x * 2.0)

    found = first(run(step, tf.constant([1.0, 1.0])))
    assert found.verdict is Verdict.ZERO
    assert "tf.nn.relu(" in line(found)


def test_lost_inside_a_function_is_told_at_its_call() -> None:
    w = variable([1.0, -2.0])

    @tf.function
    def layer(h: Any) -> Any:
        return tf.nn.relu(-tf.square(h))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = layer(w * x)
            loss = tf.reduce_sum(h)
        return tape.gradient(loss, w)

    found = first(run(step, tf.constant([1.0, 1.0])))
    assert found.verdict is Verdict.ZERO
    assert line(found) == "h = layer(w * x)"


def test_a_loop_and_its_variable() -> None:
    w = variable(0.5)

    def step(n: Any) -> Any:
        with tf.GradientTape() as tape:
            h = w * 1.0
            for _ in tf.range(n):
                h = h * w
            loss = h
        return tape.gradient(loss, w)

    found = first(run(step, tf.constant(3)))
    assert found.verdict is Verdict.CONNECTED
    assert found.numbers is not None
    assert found.numbers.norm == pytest.approx(4 * 0.5**3)


def test_the_second_call_sees_what_the_first_update_wrote() -> None:
    w = variable(1.0)

    def step() -> Any:
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = tf.square(w)
            gradient = tape.gradient(loss, w)
            w.assign_sub(0.25 * gradient)
        return gradient

    calls = run(step).calls
    assert [c.sources[0].numbers.norm for c in calls if c.sources[0].numbers] == [2.0, 1.0]
    assert w.numpy() == 1.0


def test_a_step_that_only_returns_its_loss() -> None:
    w = variable(3.0)

    def step(x: Any) -> Any:
        return tf.square(w) * x

    found = first(run(step, tf.constant(2.0)))
    assert found.numbers is not None
    assert found.numbers.norm == 12.0


def test_jacobian() -> None:
    w = variable([1.0, 2.0])

    def step() -> Any:
        with tf.GradientTape() as tape:
            y = tf.square(w)
        return tape.jacobian(y, w)

    found = first(run(step))
    assert found.numbers is not None
    assert (found.numbers.norm, found.numbers.zeros) == (pytest.approx(math.sqrt(20.0)), 2)


def test_a_compiled_model() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1, activation=tf.nn.softmax)])
    model.compile(optimizer="adam", loss="mse")
    report = run(model, np.ones([5, 3], "float32"), np.zeros([5, 1], "float32"))
    assert {s.verdict for s in report.calls[0].sources} == {Verdict.ZERO}
    assert {s.breaks[0].type for s in report.calls[0].sources} == {"Softmax"}
    assert int(model.optimizer.iterations.numpy()) == 0


# Generated values, and failures.


def test_specs_are_filled_in_thrice() -> None:
    w = variable([[1.0], [2.0]])

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        return tape.gradient(loss, w)

    one = run(step, specs=["float32[?,2]", "float32[?,1]"])
    two = run(step, specs=["float32[?,2]", "float32[?,1]"])
    found = first(one)
    assert found.verdict is Verdict.CONNECTED
    assert found.numbers is not None
    assert found.numbers.norm > 0.0
    assert first(two).numbers == found.numbers
    assert any("3 runs on generated values" in n for n in one.notes)


def test_a_step_that_fails_keeps_the_structural_answer() -> None:
    w = variable([[1.0], [2.0]])

    def step(x: Any, ids: Any) -> Any:
        with tf.GradientTape() as tape:
            rows = tf.gather(x, ids + 100)
            loss = tf.reduce_mean(tf.matmul(rows, w))
        return tape.gradient(loss, w)

    report = run(step, specs=["float32[?,2]", "int32[?]"])
    found = first(report)
    assert (found.verdict, found.numbers) == (Verdict.CONNECTED, None)
    assert report.ok
    note = next(n for n in report.notes if "failed" in n)
    assert "rows = tf.gather(x, ids + 100)" in note
    assert "--args" in note


def test_an_iterator_is_not_consumed() -> None:
    w = variable(2.0)
    batches = iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]))

    def step(batches: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = w * next(batches)
        return tape.gradient(loss, w)

    report = run(step, batches)
    assert first(report).numbers is None
    assert any("iterator" in n for n in report.notes)
    assert next(batches).numpy() == 1.0


def test_a_call_that_raises_has_no_numbers() -> None:
    w = variable([1.0, 2.0])

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.bitcast(tf.bitcast(w, tf.int32), tf.float32)) + tf.reduce_sum(tf.raw_ops.Igammac(a=w, x=w))
            loss += tf.reduce_sum(tf.image.adjust_contrast(tf.reshape(w, [1, 2, 1]), 0.5))
        return tape.gradient(loss, w)

    report = run(step)
    assert first(report).verdict is Verdict.ERROR
    assert first(report).numbers is None


# Nothing is disturbed.


def test_nothing_is_disturbed() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5)])
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build(model.trainable_variables)
    numbers = tf.random.Generator.from_seed(7)
    calls: list[int] = []

    def noise(h: Any) -> Any:
        calls.append(1)
        numbers.normal([2])
        return h + np.random.normal() + random.random() + tf.random.normal([])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = model(x, training=True) + numbers.normal([])
            loss = tf.reduce_mean(tf.ensure_shape(tf.py_function(noise, [h], tf.float32), h.shape))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def state() -> list[bytes]:
        held = [*model.variables, *optimizer.variables, numbers.state]
        return [tf.convert_to_tensor(v).numpy().tobytes() for v in held]

    tf.random.set_seed(5)
    np.random.seed(6)
    random.seed(7)
    tapetrace.check(step, tf.ones([2, 3]))
    before, python, numpy = state(), random.getstate(), np.random.get_state()[1].tobytes()
    seed = tapetrace.capture.private.eager_context()._rng.getstate()
    assert calls == []
    run(step, tf.ones([2, 3]))
    assert len(calls) > 0
    assert state() == before
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == (python, numpy)
    assert tapetrace.capture.private.eager_context()._rng.getstate() == seed


def test_variables_are_put_back_after_an_error() -> None:
    w = variable(1.0)

    def step(ids: Any) -> Any:
        w.assign_add(1.0)
        with tf.GradientTape() as tape:
            loss = w * tf.gather(tf.ones([2]), ids)
        return tape.gradient(loss, w)

    report = run(step, tf.constant(9))
    assert any("failed" in n for n in report.notes)
    assert w.numpy() == 1.0

"""``watch``: the first executions of eager steps, while a program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.capture.observer import observer
from tapetrace.model.report import Report
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts

X = tf.constant([1.0, 2.0])


def watched(step: Callable[[int], Any], times: int = 4) -> Report:
    with tapetrace.watch() as seen:
        for i in range(times):
            step(i)
    return seen.report


def variables() -> tuple[tf.Variable, tf.Variable]:
    return tf.Variable([1.0, 2.0], name="w"), tf.Variable([3.0, 4.0], name="v")


def code(report: Report) -> list[str]:
    return [r.location.code if r.location else "" for r in report.root_causes]


def test_a_loop_is_told_of_once() -> None:
    w, v = variables()

    def step(i: int) -> None:
        scaled = v * X
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * scaled)
        gradients = tape.gradient(loss, [w, v])
        w.assign_sub(0.1 * gradients[0])

    report = watched(step)
    assert verdicts(report) == "connected none"
    assert [r.cause for r in report.root_causes] == [Cause.OUTSIDE_TAPE]
    assert code(report) == ["scaled = v * X"]
    assert report.mode == "eager"
    assert report.agreement.disagreed == ()
    assert report.not_applied == ()


@pytest.mark.parametrize("times", [1, 2, 3, 20])
def test_however_often_it_runs(times: int) -> None:
    w, v = variables()

    def step(i: int) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * tf.stop_gradient(v))
        tape.gradient(loss, [w, v])

    report = watched(step, times)
    assert verdicts(report) == "connected none"
    assert code(report) == ["loss = tf.reduce_sum(w * tf.stop_gradient(v))"]


def test_two_tapes_in_one_step() -> None:
    w, v = variables()

    def step(i: int) -> None:
        fake = w * X
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(fake * v)
        v.assign_sub(tape.gradient(loss, v))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(fake * v)
        gradients = tape.gradient(loss, [w])
        if gradients[0] is not None:
            w.assign_sub(gradients[0])

    report = watched(step)
    assert verdicts(report) == "connected | none"
    assert code(report) == ["fake = w * X"]


def test_a_branch_of_python_makes_executions_differ() -> None:
    w, v = variables()

    def step(i: int) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v) if i % 2 else tf.reduce_sum(w)
        tape.gradient(loss, [w, v])

    report = watched(step)
    assert verdicts(report) == "connected none | none connected"
    assert [(f.path, f.connected, f.broken) for f in report.intermittent] == [("w", (0,), (1,)), ("v", (1,), (0,))]


def test_a_persistent_tape_asked_many_times() -> None:
    w, v = variables()

    def step(i: int) -> None:
        with tf.GradientTape(persistent=True) as tape:
            losses = [tf.reduce_sum(w * n) for n in (1.0, 2.0, 3.0, 4.0, 5.0)]
        for loss in losses:
            tape.gradient(loss, [w, v])

    report = watched(step)
    assert verdicts(report) == "connected none | connected none"
    assert report.intermittent == ()


@pytest.mark.parametrize("leaves", [True, False])
def test_a_value_that_may_have_left_is_said_to_be_one_for_check(leaves: bool) -> None:
    w, v = variables()

    def step(_: int) -> None:
        with tf.GradientTape() as tape:
            h = tf.tanh(w * X)
            loss = tf.reduce_sum(v * (h.numpy() if leaves else h))
        tape.gradient(loss, [w, v])

    report = watched(step, 1)
    assert verdicts(report) == ("none connected" if leaves else "connected connected")
    assert ["`tapetrace check` of the step" in note for note in report.notes] == [True] * leaves


def test_a_step_that_begins_late() -> None:
    w, v = variables()
    warm = tf.Variable([1.0, 1.0], name="warm")

    def warm_up() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(warm)
        tape.gradient(loss, warm)

    def step(i: int) -> None:
        if i < 40:
            warm_up()
            return
        scaled = v * X
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * scaled)
        tape.gradient(loss, [w, v])

    report = watched(step, 44)
    assert verdicts(report) == "connected | connected none"
    assert code(report) == ["scaled = v * X"]


def test_a_function_under_an_eager_tape() -> None:
    w, v = variables()

    @tf.function
    def forward(x: Any) -> Any:
        return tf.reduce_sum(x * w + tf.round(v))

    def step(i: int) -> None:
        with tf.GradientTape() as tape:
            loss = forward(X)
        tape.gradient(loss, [w, v])

    report = watched(step)
    assert {s.verdict.is_broken for c in report.calls for s in c.sources if s.path == "v"} == {True}
    assert {s.verdict.value for c in report.calls for s in c.sources if s.path == "w"} == {"connected"}
    assert report.agreement.disagreed == ()


def test_a_gradient_that_was_not_applied() -> None:
    w, v = variables()

    def step(i: int) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * v)
        gradients = tape.gradient(loss, [w, v])
        w.assign_sub(gradients[0])

    assert [f.path for f in watched(step).not_applied] == ["v"]


def test_a_custom_gradient_is_called_no_more_than_it_would_be() -> None:
    w, _ = variables()
    calls: list[int] = []

    @tf.custom_gradient
    def identity(x: Any) -> Any:
        def backward(dy: Any) -> Any:
            calls.append(1)
            return dy

        return x + 0.0, backward

    def step(i: int) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(identity(w * X))
        tape.gradient(loss, w)

    report = watched(step)
    assert verdicts(report) == "connected"
    assert len(calls) == 4


def test_a_model_under_a_tape_of_the_users() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, name="a"), keras.layers.Dense(1, name="b")])
    optimizer = keras.optimizers.Adam()

    def step(i: int) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.ones([3, 2]), training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    report = watched(step)
    assert [s.path for s in report.calls[0].sources] == [v.path for v in model.trainable_variables]
    assert report.ok


def test_a_py_function_is_not_a_step() -> None:
    w, _ = variables()

    @tf.function
    def traced(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.py_function(tf.sin, [w * x], tf.float32))
        return tape.gradient(loss, w)

    assert len(watched(lambda i: traced(X)).calls) == 1


def test_the_instruments_come_off() -> None:
    from tensorflow.python.eager import context

    w, _ = variables()
    callbacks = context.context().op_callbacks
    before = list(callbacks)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * X)
        tape.gradient(loss, w)

    with tapetrace.watch():
        assert len(context.context().op_callbacks) > len(before)
        for _ in range(3):
            step()
        assert list(context.context().op_callbacks) == before
        assert observer._thread().recorder is None


def test_a_program_without_eager_steps_is_not_recorded_for_ever() -> None:
    with tapetrace.watch():
        for _ in range(10_001):
            tf.identity(X)
        assert observer._thread().recorder is None

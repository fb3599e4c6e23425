"""Values that Python reads: which of them are escapes, and which variable each was computed from."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause, Verdict
from tests.capture.cases import verdicts
from tests.capture.escapes import U, W, check, left_at

KEPT: dict[str, Any] = {}


def test_what_is_only_logged_or_decided_or_measured_is_no_finding() -> None:
    metric = keras.metrics.Mean()

    def step() -> Any:
        with tf.GradientTape() as tape:
            h = W * 1.1
            loss = tf.reduce_sum(h * U)
            print(f"loss {float(loss):.2f}", np.mean(h))
            metric.update_state(float(loss))
            KEPT["loss"] = loss.numpy()
            if float(tf.norm(h)) > 100.0:
                loss = loss * 0.5
        return tape.gradient(loss, [W, U])

    report = check(step)
    assert verdicts(report) == "connected connected"
    assert report.root_causes == ()


def test_a_condition_is_not_an_escape() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            if float(tf.reduce_sum(W)) > 0.0:
                loss = U * 2.0
            else:
                loss = U * 3.0
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    assert source.cause is Cause.UNUSED_RESULT


def test_two_escapes_of_two_variables_are_told_apart() -> None:
    v = tf.Variable([2.5, 0.4], name="v")

    def step() -> Any:
        with tf.GradientTape() as tape:
            a = np.mean(W)  # out w
            b = np.square(v * 1.1)  # out v
            loss = tf.reduce_sum(U * a * b)
        return tape.gradient(loss, [W, v, U])

    sources = check(step).calls[0].sources
    left_at(sources[0], "# out w")
    left_at(sources[1], "# out v")


def test_two_escapes_of_one_variable_are_told_apart() -> None:
    def step() -> Any:
        with tf.GradientTape(persistent=True) as tape:
            a = float(tf.reduce_sum(W * W))  # out a
            b = float(tf.reduce_prod(W))  # out b
            first = U * (a + 1.0)
            second = U * (b * 2.0)
        return tape.gradient(first, W), tape.gradient(second, W)

    calls = check(step).calls
    left_at(calls[0].sources[0], "# out a")
    left_at(calls[1].sources[0], "# out b")


def test_an_index_that_left_as_an_integer() -> None:
    table = tf.constant([0.5, 1.5, 2.5])

    def step() -> Any:
        with tf.GradientTape() as tape:
            best = int(tf.argmax(W * 2.0).numpy())  # out
            loss = table[best] * U  # index
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    assert [b.cause for b in source.breaks] == [Cause.NON_FLOAT, Cause.NUMPY_ESCAPE, Cause.NON_FLOAT]
    assert [b.location and b.location.code.rpartition("# ")[2] for b in source.breaks] == ["out", "out", "index"]


def test_a_mask_that_left_as_booleans() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            mask = (W > 0.0).numpy()  # out
            loss = tf.reduce_sum(tf.where(mask, U, 0.1))
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    assert [b.cause for b in source.breaks] == [Cause.NON_FLOAT, Cause.NUMPY_ESCAPE]


def test_a_count_that_only_says_how_often_is_no_escape() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = U * 1.0
            for _ in range(int(tf.math.count_nonzero(W > 0.0))):
                loss = loss * U
        return tape.gradient(loss, [W, U])

    assert check(step).calls[0].sources[0].cause is Cause.UNUSED_RESULT


@pytest.mark.parametrize("most", [1, 4])
def test_when_no_more_runs_are_allowed_the_rest_is_said_of_all(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapetrace.capture.reruns.MOST_RUNS", most)
    several = [tf.Variable([0.3 + i, 0.7], name=f"several_{i}") for i in range(6)]
    runs = []

    def step() -> Any:
        runs.append(1)
        with tf.GradientTape() as tape:
            mean = np.mean([np.mean(v) for v in several])  # out
            loss = U * mean
        return tape.gradient(loss, [*several, U])

    report = check(step)
    assert len(runs) <= most + 3
    assert verdicts(report) == "none " * 6 + "connected"
    for source in report.calls[0].sources[:6]:
        left_at(source)


def test_a_number_that_is_another_each_time_was_not_computed_from_a_variable() -> None:
    turn = [0.0]

    def step() -> Any:
        turn[0] += 0.37
        with tf.GradientTape() as tape:
            unused = tf.reduce_sum(W)
            print(float(unused))
            loss = U * turn[0]
        return tape.gradient(loss, [W, U])

    assert check(step).calls[0].sources[0].cause is Cause.UNUSED_RESULT


def squared(w: Any, as_number: bool) -> Any:
    y = tf.reduce_sum(w**2)
    return float(y) if as_number else y  # out


@pytest.mark.parametrize("as_number", [True, False])
def test_float_in_a_plain_step_is_answered_by_a_run(as_number: bool) -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = U * squared(W, as_number)
        return tape.gradient(loss, [W, U]), float(loss)

    report = tapetrace.check(step)
    w, u = report.calls[0].sources
    assert u.verdict is Verdict.CONNECTED
    assert report.mode == ("eager" if as_number else "graph")
    assert [note.partition(" makes")[0].partition(" at ")[0] for note in report.notes] == ["`float()`"] * as_number
    if as_number:
        left_at(w)
    assert tapetrace.check(step, mode="graph").ok
    assert tapetrace.check(tf.function(step)).ok

"""Values that leave TensorFlow and are only compared: a small change of a variable changes nothing that comes back, and they left all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause

W = tf.Variable([0.2, 0.9, -0.4], name="w")
U = tf.Variable([2.0, 3.0, 5.0], name="u")
LABELS = np.array([0.0, 1.0, 1.0], np.float32)


def largest() -> Any:
    best = np.argmax((W * 2.0).numpy())  # out
    return U[best]


def largest_of_a_tensor() -> Any:
    best = np.argmax(W * 2.0)  # out
    return tf.constant([1.0, 2.0, 4.0])[best] * U[0]


def sorted_rows() -> Any:
    order = np.argsort(np.asarray(W * 2.0))  # out
    return tf.reduce_sum(tf.gather(U, order) * [1.0, 2.0, 4.0])


def thresholds() -> Any:
    chosen = [1.0 if p > 0.5 else 0.0 for p in tf.sigmoid(W).numpy()]  # out
    return tf.reduce_sum(U * chosen)


def accuracy() -> Any:
    right = sum(int(p == label) for p, label in zip(np.round(tf.sigmoid(W).numpy()), LABELS, strict=True))  # out
    return tf.reduce_sum(U) * (right / 3.0)


def in_words() -> Any:
    return tf.reduce_sum(U) * float(f"{float(tf.reduce_max(W)):.0f}")  # out


def an_integer_behind_another() -> Any:
    shift = int(np.round(U[0].numpy()))
    times = int(W[1] * 3.5)  # out
    return tf.reduce_sum(tf.tile(U[:2], [times])) * tf.cast(tf.roll(U, shift, axis=0)[0], tf.float32)


def test_a_step_that_python_gives_other_values_each_time_says_where() -> None:
    own = np.random.default_rng(1)

    def step() -> Any:
        with tf.GradientTape() as tape:
            noise = tf.constant(own.normal(size=3), tf.float32)  # changing
            value = tf.reduce_sum(U * noise)
            tf.sin(W)
        return tape.gradient(value, [W, U])

    report = tapetrace.check(step, mode="eager")
    assert [s.verdict.value for s in report.calls[0].sources] == ["none", "connected"]
    line = next(i for i, code in enumerate(Path(__file__).read_text().splitlines(), 1) if code.endswith("# changing"))
    assert any(f"test_decisions.py:{line} (random numbers of its own" in note for note in report.notes), report.notes


@pytest.mark.parametrize("loss", [largest, largest_of_a_tensor, sorted_rows, thresholds, accuracy, in_words, an_integer_behind_another])
def test_what_is_only_compared_has_left_where_it_left(loss: Any) -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            value = loss()
        return tape.gradient(value, [W, U])

    before = W.numpy().tolist()
    w, u = tapetrace.check(step, mode="eager").calls[0].sources
    assert (w.breaks[0].cause, u.verdict.value) == (Cause.NUMPY_ESCAPE, "connected")
    assert w.breaks[0].location is not None
    assert w.breaks[0].location.code.endswith("# out")
    assert W.numpy().tolist() == before

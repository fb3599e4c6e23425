"""Steps for which a graph and an eager run of TensorFlow return different things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tapetrace

X = tf.constant([0.3, -0.7, 1.2])
W = tf.Variable(X, name="w")
V = tf.Variable(2.0, name="v")
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

Step = Callable[[Any], Any]


def over_a_dataset(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        total = tf.zeros([])
        for row in tf.data.Dataset.from_tensor_slices(ROWS):  # here
            total += tf.reduce_sum(row * W)
        loss = total * V
    return tape.gradient(loss, [W, V])


def untaken_branch(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        if x[0] > 0.0:  # here
            loss = tf.reduce_sum(x) * V
        else:
            loss = tf.reduce_sum(x * W)
    return tape.gradient(loss, [W, V])


def python_float(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        scale = float(tf.reduce_sum(W * x))  # here
        loss = tf.reduce_sum(x) * V * scale
    return tape.gradient(loss, [W, V])


CASES: list[tuple[Step, str]] = [
    (over_a_dataset, "w: a graph returns None, an eager run returns a tensor: a loop over a dataset"),
    (untaken_branch, "w: a graph returns a tensor, an eager run returns None: a graph holds both branches"),
    (python_float, "w: a graph returns a tensor, an eager run returns None: AutoGraph turns this into ops of the graph"),
]


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize(("step", "sentence"), CASES, ids=[step.__name__ for step, _ in CASES])
def test_the_difference_and_its_reason(step: Step, sentence: str, mode: str) -> None:
    report = tapetrace.check(step, X, mode=mode, compare_modes=True)
    assert report.mode == mode
    (note,) = report.notes
    assert note.startswith(sentence)
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(n for n, code in enumerate(lines, 1) if n > step.__code__.co_firstlineno and code.endswith("# here"))
    assert f"test_compare_modes.py:{line}" in note
    assert f"note: {sentence[:40]}" in tapetrace.api.render_text(report)


def test_a_value_that_is_fixed_when_the_step_is_traced() -> None:
    kept: list[Any] = []

    def step(x: tf.Tensor) -> Any:
        with tf.init_scope():
            kept[:] = [W.read_value()] if not tf.executing_eagerly() or not kept else kept
        with tf.GradientTape() as tape:
            value = W if tf.executing_eagerly() else kept[0]
            loss = tf.reduce_sum(value * x) * V
        return tape.gradient(loss, [W, V])

    report = tapetrace.check(step, X, compare_modes=True)
    assert report.notes[0].startswith("w: a graph returns None, an eager run returns a tensor: the value was fixed when the step was traced")


def test_no_difference() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.round(W) * x) * V
        return tape.gradient(loss, [W, V])

    report = tapetrace.check(step, X, compare_modes=True)
    assert report.notes == ("a graph and an eager run return the same: None, tensors and errors for the same sources",)


def test_a_step_that_no_graph_can_hold() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(W * x.numpy())
        return tape.gradient(loss, W)

    report = tapetrace.check(step, X, mode="eager", compare_modes=True)
    assert report.ok
    assert report.notes[0].startswith("a graph and an eager run cannot be compared: The step could not be traced")


def test_a_quick_check_is_not_too_quick_to_compare() -> None:
    assert tapetrace.check(untaken_branch, X, verify=False, compare_modes=True).notes[0].startswith("w: a graph returns a tensor")

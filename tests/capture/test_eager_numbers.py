"""The gradients of eager runs as numbers: what is live and yet zero, what Python code decided, and where numbers come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts

X = tf.constant([0.3, -0.7, 1.2])


def test_norms_and_zeros() -> None:
    w, clipped, table = tf.Variable(X), tf.Variable(X), tf.Variable(tf.ones([5, 3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * [3.0, 0.0, 4.0]) + tf.reduce_sum(tf.clip_by_value(clipped, 5.0, 6.0) * x)
            loss += tf.reduce_sum(tf.gather(table, [1, 1, 2]) * 2.0)
        return tape.gradient(loss, [w, clipped, table])

    report = tapetrace.check(step, X, mode="eager", numeric=True)
    assert verdicts(report) == "connected zero connected"
    w_numbers, clipped_numbers, table_numbers = (s.numbers for s in report.calls[0].sources)
    assert w_numbers is not None
    assert clipped_numbers is not None
    assert table_numbers is not None
    assert (w_numbers.norm, w_numbers.zeros) == (5.0, 1)
    assert (clipped_numbers.norm, clipped_numbers.zeros) == (0.0, 3)
    assert table_numbers.norm == pytest.approx(np.sqrt(3 * 16.0 + 3 * 4.0))
    assert report.calls[0].sources[1].cause is Cause.NUMERICALLY_ZERO


def test_python_code_that_turns_out_to_pass_gradient_or_not() -> None:
    good, bad = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.py_function(lambda a: tf.sin(a), [good * x], tf.float32)
            z = tf.py_function(lambda a: np.sin(a.numpy()), [bad * x], tf.float32)
            loss = tf.reduce_sum(y) + tf.reduce_sum(z)
        return tape.gradient(loss, [good, bad])

    assert verdicts(tapetrace.check(step, X, mode="eager", numeric=True)) == "connected zero"


def test_generated_arguments_are_drawn_thrice() -> None:
    w = tf.Variable(X)
    seen: list[float] = []

    def step(x: tf.Tensor) -> Any:
        seen.append(float(x[0]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, w)

    report = tapetrace.check(step, specs=["float32[3]"], mode="eager", numeric=True)
    assert len(set(seen)) == 3
    assert report.notes == ("the numbers are from 3 runs on generated values, give real ones with --args for those of your data",)


def test_nan_is_told() -> None:
    w = tf.Variable(X)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(w * 0.0))
        return tape.gradient(loss, w)

    report = tapetrace.check(step, mode="eager", numeric=True)
    numbers = report.calls[0].sources[0].numbers
    assert numbers is not None
    assert numbers.nan == 3


def test_a_step_that_falls_back_to_an_eager_run_has_its_numbers() -> None:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x.numpy())
        return tape.gradient(loss, w)

    report = tapetrace.check(step, X, numeric=True)
    assert report.mode == "eager"
    numbers = report.calls[0].sources[0].numbers
    assert numbers is not None
    assert numbers.norm == pytest.approx(np.linalg.norm(X.numpy()))

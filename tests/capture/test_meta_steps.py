"""A gradient taken inside a step that is differentiated itself, as in meta-learning: which tape is open when."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("none | connected")
def inner_tape_of_a_meta_step() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.stop_gradient(w) * x)
        missing = inner.gradient(y, w)
        with tf.GradientTape() as outer:
            z = tf.reduce_sum(w * w) if missing is None else tf.reduce_sum(missing)
        return outer.gradient(z, w)

    return step, (X,)


@case("connected | none")
def update_of_a_meta_step_outside_the_outer_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(w**3 * x)
        fast = w - 0.1 * inner.gradient(y, w)
        with tf.GradientTape() as outer:
            z = tf.reduce_sum(fast**2)
        return outer.gradient(z, w)

    return step, (X,)


@case("connected | connected")
def update_of_a_meta_step_inside_the_outer_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x)
            fast = w - 0.1 * inner.gradient(y, w)
            z = tf.reduce_sum(fast**2)
        return outer.gradient(z, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()


@pytest.mark.parametrize("traced_twice", [False, True])
def test_a_tape_that_opens_after_the_inner_gradient_is_told_to_open_around_it(traced_twice: bool) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    slots: list[tf.Variable] = []

    def step() -> Any:
        if traced_twice and not slots:
            slots.append(tf.Variable(0.0))
        with tf.GradientTape() as inner:
            energy = tf.reduce_sum(tf.pow(w, 3))  # cut
        slope = inner.gradient(energy, w)
        with tf.GradientTape() as outer:
            curvature = tf.reduce_sum(slope * 2.0)
        return outer.gradient(curvature, w)

    report = tapetrace.check(step)
    (source,) = report.calls[1].sources
    assert report.calls[0].location is not None
    assert source.cause is Cause.OUTSIDE_TAPE
    assert source.breaks[0].location is not None
    assert source.breaks[0].location.code.endswith("# cut")
    asked, opened = report.calls[0].location.line, report.calls[0].location.line + 1
    assert f"the gradient that line {asked} asks for run before `with tf.GradientTape()` on line {opened}" in source.breaks[0].remedy

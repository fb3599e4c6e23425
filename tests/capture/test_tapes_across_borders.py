"""Tapes that cross the borders of functions, branches and loops, and tapes that live inside them."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none")
def opened_outside_asked_in_a_branch() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)

        def asking() -> Any:
            dw, dv = tape.gradient(y, [w, v])
            return dw if dv is None else dv

        return tf.cond(x[0] > -9.0, asking, lambda: x)

    return step, (X,)


@case("connected none")
def opened_outside_asked_in_a_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)

        @tf.function
        def asking() -> Any:
            return tape.gradient(y, [w, v])

        return asking()

    return step, (X,)


@case("connected none")
def opened_outside_recording_in_a_branch() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > -9.0, lambda: tf.sin(w * x), lambda: tf.exp(w * x) + tf.stop_gradient(v))
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def everything_inside_a_branch() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        result = x
        if tf.reduce_sum(x) > -99.0:
            with tf.GradientTape() as tape:
                y = tf.sin(w * x)
            dw, dv = tape.gradient(y, [w, v])
            result = dw if dv is None else dv
        return result

    return step, (X,)


@case("connected none")
def everything_inside_a_loop() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        total = x
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                y = tf.sin(w * total)
            dw, dv = tape.gradient(y, [w, v])
            total = total + (dw if dv is None else dv)
        return total

    return step, (X,)


@case("connected")
def everything_inside_a_loop_with_a_new_name() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                y = tf.sin(w * x)
            found = tape.gradient(y, w)
        return found

    return step, (X,)


@case("none connected")
def hidden_before_the_loop_tape_inside() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        hidden = tf.sin(w * x)
        total = x
        for _ in tf.range(2):
            with tf.GradientTape() as tape:
                y = v * hidden * total
            dw, dv = tape.gradient(y, [w, v])
            total = total + (dv if dw is None else dw)
        return total

    return step, (X,)


@case("connected none")
def everything_inside_a_while() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        total, i = x, 0
        while tf.reduce_sum(total) < 1e6 and i < 3:
            with tf.GradientTape() as tape:
                y = tf.sin(w * total)
            dw, dv = tape.gradient(y, [w, v])
            total = total + (dw if dv is None else dv)
            i += 1
        return total

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

"""What a tape records: its windows, stop_recording and reset."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("none connected")
def before_the_tape() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        hidden = w * x
        with tf.GradientTape() as tape:
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none none")
def after_the_tape() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = w * x
        y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected connected")
def entered_twice() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        with tape:
            hidden = w * x
        with tape:
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def between_two_entries() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        with tape:
            hidden = w * x
        hidden = tf.sin(hidden)
        with tape:
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def stopped() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = v * x
            with tape.stop_recording():
                factor = tf.exp(w)
            y = hidden * factor
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected | connected none")
def gradient_asked_while_stopped() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            hidden = v * x
            with tape.stop_recording():
                first = tape.gradient(hidden, [w, v])
            y = w * x
        return first, tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def reset() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = w * x
            tape.reset()
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def reset_forgets_what_was_watched() -> Any:
    v = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            tape.reset()
            y = x * v
        return tape.gradient(y, [x, v])

    return step, (X,)


@case("connected")
def asked_inside_the_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
            return tape.gradient(y, w)

    return step, (X,)


@case("connected | connected")
def persistent_asked_inside_for_a_second_derivative() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = w**3 * x
            first = tape.gradient(y, w)
        return tape.gradient(first, w)

    return step, (X,)


@case("connected | none connected")
def used_tape_entered_again() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        with tape:
            hidden = w * x
        first = tape.gradient(hidden, w)
        with tape:
            y = hidden * v
        return first, tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def tape_around_a_function_opened_by_hand() -> Any:
    w = tf.Variable(X)

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(w * x)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        tape.__enter__()
        y = layer(x)
        tape.__exit__(None, None, None)
        return tape.gradient(y, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

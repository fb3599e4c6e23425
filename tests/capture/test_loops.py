"""Loops: tf.while_loop, and `for` and `while` by way of AutoGraph."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("none connected")
def output_of_the_loop_that_the_target_comes_from() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _, y, z = tf.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, tf.sin(a * y), tf.cos(z + y)), [0, x, x])
        return tape.gradient(z, [y, z])

    return step, (X,)


@case("connected connected")
def while_loop() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(a * y)), [0, b * x])
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("zero connected")
def captured_by_a_loop_and_stopped() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            read = tf.identity(a)
            _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(tf.stop_gradient(read) * y * b)), [0, x])
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected")
def through_the_second_round_only() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _, _, y = tf.while_loop(lambda i, p, q: i < 3, lambda i, p, q: (i + 1, tf.sin(a), p), [0, x, x])
        return tape.gradient(y, a)

    return step, (X,)


@case("zero connected")
def number_of_rounds() -> Any:
    a, b = tf.Variable(2.5), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _, y = tf.while_loop(lambda i, y: i < a, lambda i, y: (i + 1.0, tf.sin(y * b)), [0.0, x])
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected")
def autograph_for() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = b * x
            for i in tf.range(3):
                y = tf.sin(a * y) + tf.cast(i, tf.float32)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected")
def autograph_for_over_a_tensor() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            total = 0.0
            for element in a * x:
                total += tf.sin(element)
        return tape.gradient(total, a)

    return step, (X,)


@case("connected conditional")
def autograph_break_and_continue() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(a * x)
            for i in tf.range(9):
                if i == 1:
                    continue
                if i > 4:
                    break
                y = tf.sin(y * b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected")
def autograph_while() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y, i = a * x, 0
            while tf.reduce_sum(y) > -99.0 and i < 3:
                y = tf.sin(y * b)
                i += 1
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected conditional")
def loop_with_a_branch_inside() -> Any:
    a, b, c = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = a * x
            for i in tf.range(4):
                if i > 1:
                    y = tf.sin(y * c)
                else:
                    y = tf.cos(y)
                y = y * b
        return tape.gradient(y, [a, b, c])

    return step, (X,)


@case("connected")
def loop_in_a_loop() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = x
            for _ in tf.range(2):
                for _ in tf.range(2):
                    y = tf.sin(a * y)
        return tape.gradient(y, a)

    return step, (X,)


@case("connected connected")
def list_appended_in_a_loop() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            parts = [a * x]
            for _ in range(3):
                parts.append(tf.sin(parts[-1] * b))
            y = tf.add_n(parts)
        return tape.gradient(y, [a, b])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

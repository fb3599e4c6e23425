"""Branches, loops and what is made of them: map_fn, scan, foldl, TensorArray, vectorized_map, AutoGraph."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("conditional conditional connected")
def cond() -> Any:
    a, b, c = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > 0, lambda: tf.sin(a * c), lambda: tf.cos(b * c))
        return tape.gradient(y, [a, b, c])

    return step, (X,)


@case("none connected")
def cond_that_stops_in_both_branches() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > 0, lambda: tf.stop_gradient(a) * b, lambda: tf.round(a) * b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("conditional none")
def nested_cond() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > -9, lambda: tf.cond(x[1] > -9, lambda: tf.sin(a * x), lambda: x), lambda: x)
            y += tf.stop_gradient(b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("conditional conditional connected", vanishing=True)
def switch_case() -> Any:
    a, b, c = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.switch_case(tf.cast(tf.abs(x[0]), tf.int32), [lambda: a * c, lambda: b * c, lambda: tf.sin(c)])
        return tape.gradient(y, [a, b, c])

    return step, (X,)


@case("conditional conditional")
def case_with_predicates() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.case([(x[0] > 0, lambda: tf.sin(a)), (x[0] < 0, lambda: tf.sin(b))], default=lambda: x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("none connected")
def output_of_the_loop_that_the_target_comes_from() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _, y, z = tf.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, tf.sin(a * y), tf.cos(z + y)), [0, x, x])
        return tape.gradient(z, [y, z])

    return step, (X,)


@case("none")
def only_the_condition_depends() -> Any:
    a = tf.Variable(1.0)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(a > 0, lambda: tf.sin(x), lambda: x)
        return tape.gradient(y, a)

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


@case("conditional connected")
def autograph_if() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = b * x
            if tf.reduce_sum(x) > -99.0:
                y = y + tf.sin(a)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("conditional conditional")
def autograph_early_return() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def loss(x: tf.Tensor) -> tf.Tensor:
        if x[0] > 0:
            return tf.sin(a * x)
        return tf.cos(b * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = loss(x)
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


@case("connected none")
def map_fn() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.map_fn(lambda e: tf.sin(e * a), x) + tf.round(b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("zero")
def map_fn_over_a_stopped_value() -> Any:
    a = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.map_fn(lambda e: tf.stop_gradient(e) * 2.0, a * x)
        return tape.gradient(y, a)

    return step, (X,)


@case("connected connected")
def vectorized_map() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.vectorized_map(lambda e: tf.sin(e * a), b * x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected")
def gradient_for_each_example() -> Any:
    a = tf.Variable(X)

    def one(e: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(e * a)
        return tape.gradient(y, a)

    def step(x: tf.Tensor) -> Any:
        return tf.vectorized_map(one, x)

    return step, (X,)


@case("connected connected")
def scan() -> Any:
    a, b = tf.Variable(1.5), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.scan(lambda s, e: tf.sin(s * a + e), b * x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected")
def foldl_and_foldr() -> Any:
    a, b = tf.Variable(1.5), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.foldl(lambda s, e: s * a + e, b * x) + tf.foldr(lambda s, e: s * a + e, b * x)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected none")
def tensor_array() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            array = tf.TensorArray(tf.float32, size=3)
            for i in tf.range(3):
                array = array.write(i, tf.sin(a * x) + tf.stop_gradient(b))
            y = array.stack()
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected connected", vanishing=True)
def tensor_array_of_which_one_element_is_read() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            array = tf.TensorArray(tf.float32, size=2, clear_after_read=False)
            array = array.write(0, tf.sin(a)).write(1, tf.sin(b))
            y = array.read(0)
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


@case("connected none")
def where() -> Any:
    a, b = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.where(b > x, a, tf.sin(a))
        return tape.gradient(y, [a, b])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

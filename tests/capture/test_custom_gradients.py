"""Gradients that the user defines with `tf.custom_gradient`: what they hand back for their inputs."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Verdict
from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected")
def straight_through() -> Any:
    w = tf.Variable(X)

    @tf.custom_gradient
    def rounded(x: tf.Tensor) -> Any:
        return tf.round(x), lambda dy: dy

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = rounded(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@case("none connected")
def returns_none_for_one_input() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def product(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * b, lambda dy: (None, dy * a)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = product(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("zero connected")
def returns_zeros_for_one_input() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def product(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * b, lambda dy: (tf.zeros_like(a), dy * a)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = product(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def captures_a_tensor() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            factor = tf.sin(v)

            @tf.custom_gradient
            def scaled(a: tf.Tensor) -> Any:
                return a * factor, lambda dy: dy * factor

            y = scaled(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def nested() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def inner(a: tf.Tensor) -> Any:
        return a * 2.0, lambda dy: None

    @tf.custom_gradient
    def outer(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * inner(b), lambda dy: (dy * b, tf.gradients(inner(b), b)[0])

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = outer(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected | connected")
def second_order() -> Any:
    w = tf.Variable(X)

    @tf.custom_gradient
    def cube(a: tf.Tensor) -> Any:
        return a**3, lambda dy: dy * 3.0 * a**2

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as two:
            with tf.GradientTape() as one:
                y = cube(w * x)
            first = one.gradient(y, w)
        return two.gradient(first, w)

    return step, (X,)


@case("connected zero")
def two_outputs() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def both(a: tf.Tensor, b: tf.Tensor) -> Any:
        return (tf.sin(a), tf.cos(b)), lambda da, db: (da * tf.cos(a), -db * tf.sin(b))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y, _ = both(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_one_that_no_gradient_comes_to_is_named_before_what_lies_behind_it(mode: str) -> None:
    w = tf.Variable(X)

    @tf.custom_gradient
    def without(a: tf.Tensor) -> Any:
        return a * 2.0, lambda dy: None

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.round(without(w * x))
        return tape.gradient(y, w)

    (source,) = tapetrace.check(step, X, mode=mode).calls[0].sources
    assert [b.cause.value for b in source.breaks] == ["custom_gradient", "gradient_is_none"]


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize(
    ("backward", "verdict"),
    [
        (lambda a, dy: 2.0 * a, Verdict.CONNECTED),
        (lambda a, dy: tf.constant([1.0, 2.0, 3.0]), Verdict.CONNECTED),
        (lambda a, dy: dy * 0.0, Verdict.ZERO),
        (lambda a, dy: tf.zeros([3]) * a, Verdict.ZERO),
    ],
    ids=["of_the_input", "constant", "times_zero", "zeros"],
)
def test_one_that_leaves_the_incoming_gradient_out_is_live_unless_it_is_zero(backward: Any, verdict: Verdict, mode: str) -> None:
    w = tf.Variable(X)

    @tf.custom_gradient
    def square(a: tf.Tensor) -> Any:
        return a * a, lambda dy: backward(a, dy)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = square(w * x)
        return tape.gradient(y, w)

    assert bool(tf.reduce_any(step(X) != 0.0)) is (verdict is Verdict.CONNECTED)
    report = tapetrace.check(step, X, mode=mode, numeric=True)
    assert report.calls[0].sources[0].verdict is verdict
    assert report.agreement.disagreed == ()

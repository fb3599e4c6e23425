"""Steps made of tf.functions and of methods: where the tape is, and functions that are traced already."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tests.capture.cases import Case, Cases, verdicts

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])
KEPT: list[Trainer] = []


@case("connected none")
def function_called_under_the_tape() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(w * x) + tf.stop_gradient(v)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = layer(x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def function_that_holds_the_tape() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def inner(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)
        dw, _ = tape.gradient(y, [w, v])
        return dw

    def step(x: tf.Tensor) -> Any:
        return inner(x)

    return step, (X,)


@case("zero connected")
def two_outputs_of_which_one_is_used() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def two(x: tf.Tensor) -> Any:
        return tf.sin(w * x), tf.cos(v * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _, y = two(x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def the_step_is_a_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.round(v)
        return tape.gradient(y, [w, v])[0]

    return step, (X,)


@case("connected none")
def method_of_a_module() -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [tf.Variable(X), tf.Variable(X)]

        @tf.function
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return tf.sin(self.parts[0] * x) + tf.stop_gradient(self.parts[1])

    model = Model()

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = model(x)
        return tape.gradient(y, model.parts)

    return step, (X,)


@case("connected none")
def the_step_is_a_method() -> Any:
    KEPT.append(Trainer())  # a method holds its object only weakly
    return KEPT[-1].train, (X,)


@case("connected none")
def the_step_calls_a_method() -> Any:
    trainer = Trainer()
    return lambda x: trainer.train(x), (X,)


class Trainer:
    def __init__(self) -> None:
        self.w, self.v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def train(self, x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(self.w * x) + tf.stop_gradient(self.v)
        dw, _ = tape.gradient(y, [self.w, self.v])
        return dw


@case("connected")
def tape_and_variable_made_inside_a_function() -> Any:
    made: list[tf.Variable] = []

    @tf.function
    def inner(x: tf.Tensor) -> Any:
        if not made:
            made.append(tf.Variable(X))
        with tf.GradientTape() as tape:
            y = tf.sin(made[0] * x)
        return tape.gradient(y, made[0])

    return lambda x: inner(x), (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()


@pytest.mark.parametrize("name", ["function_that_holds_the_tape", "the_step_is_a_function", "the_step_is_a_method", "the_step_calls_a_method",
                                  "function_called_under_the_tape", "tape_and_variable_made_inside_a_function"])  # fmt: skip
def test_a_function_that_is_traced_already_is_seen_as_well(name: str) -> None:
    one = next(c for c in CASES if c.name == name)
    step, args = one.build()
    step(*args)
    assert verdicts(tapetrace.check(step, *args)) == one.expected


def test_a_check_leaves_no_trace_in_the_users_functions() -> None:
    w = tf.Variable(X)

    @tf.function
    def warm(x: tf.Tensor) -> tf.Tensor:
        return w * x

    @tf.function
    def cold(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.raw_ops.BitwiseAnd(x=tf.cast(warm(x), tf.int32), y=1)
        return tape.gradient(y, w)

    trainer = Trainer()
    trainer.train(X)
    warm(X)

    @tf.function
    def step(x: tf.Tensor) -> Any:
        warm(x[:2])
        trainer.train(x[:2])
        return cold(x)

    with pytest.raises(Exception, match=r"(?i)shapes|dimensions"):
        tapetrace.check(step, X)
    assert [f.experimental_get_tracing_count() for f in (warm, cold, step, trainer.train)] == [1, 0, 0, 1]


def test_zeros_that_a_check_hands_back_are_not_kept_for_later() -> None:
    w = tf.Variable(X)

    @tf.function
    def inner(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.image.adjust_contrast(w * x, 2.0))
        return tape.gradient(y, w)

    assert verdicts(tapetrace.check(lambda x: inner(x), tf.ones([2, 2, 3]))) == "error"
    with pytest.raises(Exception, match="gradient registry has no entry for: AdjustContrast"):
        inner(tf.ones([2, 2, 3]))

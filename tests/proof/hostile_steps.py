"""Steps that raise, each at another moment. A maker is given what to raise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

X = tf.constant([0.3, -0.7, 1.2])
W = tf.Variable(X, name="w")

Step = Callable[[Any], Any]


def before_the_tape(kind: type[BaseException]) -> Step:
    def step(x: Any) -> Any:
        raise kind("bang")

    return step


def inside_the_tape(kind: type[BaseException]) -> Step:
    def step(x: Any) -> Any:
        with tf.GradientTape():
            _ = W * x
            raise kind("bang")

    return step


def while_recording_is_stopped(kind: type[BaseException]) -> Step:
    def step(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape, tape.stop_recording():
            raise kind("bang")

    return step


def after_the_gradient(kind: type[BaseException]) -> Step:
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
        tape.gradient(y, W)
        raise kind("bang")

    return step


def in_a_thread(kind: type[BaseException]) -> Step:
    def work() -> None:
        raise kind("bang")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            y = W * x
        return tape.gradient(y, W)

    return step


def in_a_custom_gradients_forward_pass(kind: type[BaseException]) -> Step:
    @tf.custom_gradient
    def function(x: Any) -> Any:
        raise kind("bang")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = function(W * x)
        return tape.gradient(y, W)

    return step


def in_a_custom_gradients_backward_pass(kind: type[BaseException]) -> Step:
    @tf.custom_gradient
    def function(x: Any) -> Any:
        def backward(dy: Any) -> Any:
            raise kind("bang")

        return x * 2.0, backward

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = function(W * x)
        return tape.gradient(y, W)

    return step


def in_a_nested_function(kind: type[BaseException]) -> Step:
    @tf.function
    def inner(x: Any) -> Any:
        raise kind("bang")

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) * W

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = outer(x)
        return tape.gradient(y, W)

    return step


def in_a_branch(kind: type[BaseException]) -> Step:
    def step(x: Any) -> Any:
        def taken() -> Any:
            raise kind("bang")

        with tf.GradientTape() as tape:
            y = tf.cond(tf.reduce_sum(x) > 0.0, taken, lambda: W * x)
        return tape.gradient(y, W)

    return step


def in_py_function(kind: type[BaseException]) -> Step:
    def function(x: Any) -> Any:
        raise kind("bang")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.py_function(function, [W * x], tf.float32) * W
        return tape.gradient(y, W)

    return step


def in_numpy_function(kind: type[BaseException]) -> Step:
    def function(x: Any) -> Any:
        raise kind("bang")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.numpy_function(function, [W * x], tf.float32) * W
        return tape.gradient(y, W)

    return step


def in_an_optimizer(kind: type[BaseException]) -> Step:
    class Optimizer(keras.optimizers.SGD):  # type: ignore[misc]
        def update_step(self, *args: Any, **kwargs: Any) -> Any:
            raise kind("bang")

    optimizer, w = Optimizer(), keras.Variable([1.0, 2.0, 3.0])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w.value * x)
        optimizer.apply_gradients([(tape.gradient(y, w.value), w)])

    return step


def in_a_destructor(kind: type[BaseException]) -> Step:
    class Gone:
        def __del__(self) -> None:
            raise kind("bang")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            Gone()
            y = W * x
        return tape.gradient(y, W)

    return step


def in_a_generator_that_is_left_open(kind: type[BaseException]) -> Step:
    def calls(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
            yield tape.gradient(y, W)

    def step(x: Any) -> Any:
        begun = calls(x)
        next(begun)
        raise kind("bang")

    return step


def after_a_value_left(kind: type[BaseException]) -> Step:
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.constant(np.tanh(np.asarray(W))) * x
        tape.gradient(y, W)
        raise kind("bang")

    return step


MAKERS = (
    before_the_tape,
    inside_the_tape,
    while_recording_is_stopped,
    after_the_gradient,
    in_a_thread,
    in_a_custom_gradients_forward_pass,
    in_a_custom_gradients_backward_pass,
    in_a_nested_function,
    in_a_branch,
    in_py_function,
    in_numpy_function,
    in_an_optimizer,
    in_a_destructor,
    in_a_generator_that_is_left_open,
    after_a_value_left,
)


def healthy(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = W * x
    return tape.gradient(y, W)


def broken(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = tf.round(W) * x
    return tape.gradient(y, W)

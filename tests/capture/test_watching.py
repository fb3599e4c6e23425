"""What a tape watches: variables that are not trainable, plain tensors, tensors on the way, tensors from before the step."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("none connected")
def not_trainable() -> Any:
    w, v = tf.Variable(X, trainable=False), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected connected")
def not_trainable_but_watched() -> Any:
    w, v = tf.Variable(X, trainable=False), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = w * x * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none none")
def no_variable_is_watched() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            y = w * x * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def one_variable_is_watched() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(w)
            y = w * x * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none")
def variable_watched_after_its_use() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            y = w * x
            tape.watch(w)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def tensor_watched() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x)
        return tape.gradient(y, x)

    return step, (X,)


@case("none")
def tensor_never_watched() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(x)
        return tape.gradient(y, x)

    return step, (X,)


@case("none")
def tensor_watched_late() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(x)
            tape.watch(x)
        return tape.gradient(y, x)

    return step, (X,)


@case("connected")
def tensor_watched_between_two_uses() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(x)
            tape.watch(x)
            y = y * tf.cos(x)
        return tape.gradient(y, x)

    return step, (X,)


@case("none")
def tensor_watched_by_another_tape() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as one, tf.GradientTape() as two:
            one.watch(x)
            y = tf.sin(x)
        return two.gradient(y, x)

    return step, (X,)


@case("connected connected")
def list_of_tensors_watched() -> Any:
    def step(x: tf.Tensor) -> Any:
        a, b = tf.split(x, [1, 2])
        with tf.GradientTape() as tape:
            tape.watch([a, {"b": b}])
            y = tf.reduce_sum(a) * tf.sin(b)
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("none connected")
def tensor_from_which_the_watched_one_is_computed() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.sin(x)
            tape.watch(hidden)
            y = hidden * hidden
        return tape.gradient(y, [x, hidden])

    return step, (X,)


@case("connected connected")
def grad_cam() -> Any:
    import keras

    inputs = keras.Input((8, 8, 1))
    maps = keras.layers.Conv2D(3, 3, activation="tanh", name="maps")(inputs)
    scores = keras.layers.Dense(2)(keras.layers.GlobalAveragePooling2D()(maps))
    model = keras.Model(inputs, [maps, scores])

    def step(image: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            found, predicted = model(image)
            best = predicted[:, 1]
        return tape.gradient(best, [found, predicted])

    return step, (tf.TensorSpec([2, 8, 8, 1]),)


@case("none")
def activation_of_another_forward_pass() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            first = tf.sin(w * x)
            second = tf.sin(w * x)
            y = tf.reduce_sum(second)
        return tape.gradient(y, first)

    return step, (X,)


@case("connected none")
def eager_tensors() -> Any:
    a, b = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 1.0, 0.5])

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = a * x + b
        return tape.gradient(y, [a, b])

    return step, (X,)


@case("connected")
def eager_tensor_captured_by_a_function() -> Any:
    a = tf.constant([1.0, 2.0, 3.0])

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(a * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = inner(x)
        return tape.gradient(y, a)

    return step, (X,)


@case("connected none")
def zeros_like_what_is_watched() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            zeros = tf.raw_ops.ZerosLike(x=w * x)
            y = (zeros + tf.constant(1.0)) * x
        return tape.gradient(y, [zeros, w])

    return step, (X,)


@case("connected none")
def ones_of_a_shape_that_only_the_run_knows() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            ones = tf.raw_ops.OnesLike(x=tf.boolean_mask(w, x > 0.0))
            y = ones * ones
        return tape.gradient(y, [ones, w])

    return step, (X,)


@case("none none")
def zeros_like_integers() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            zeros = tf.cast(tf.raw_ops.ZerosLike(x=tf.cast(w, tf.int32)), tf.float32)
            y = zeros * x
        return tape.gradient(y, [zeros, w])

    return step, (X,)


@case("none")
def read_before_the_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        value = w.read_value()
        with tf.GradientTape() as tape:
            y = value * x
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def watched_inside_a_function() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:

            @tf.function
            def inner(z: tf.Tensor) -> tf.Tensor:
                tape.watch(z)
                return tf.sin(z)

            tape.watch(x)
            y = inner(x)
        return tape.gradient(y, x)

    return step, (X,)


@case("connected connected")
def keras_attribute_turned_off() -> Any:
    import keras

    frozen, free = keras.layers.Dense(2, use_bias=False), keras.layers.Dense(2, use_bias=False)
    frozen.build((2, 2))
    free.build((2, 2))
    frozen.trainable = False

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = free(frozen(x))
        return tape.gradient(y, [frozen.kernel, free.kernel])

    return step, (tf.TensorSpec([2, 2]),)


@case("none connected connected")
def a_handle_given_to_a_raw_op() -> Any:
    """A tape watches a variable when it is read, and sees no read here."""
    w, v, u = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)
            y = [tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32) for h in (w.handle, u.handle)]
            y = y[0] * x + y[1] * v
        return tape.gradient(y, [w, v, u])

    return step, (X,)


def test_what_is_told_to_be_watched_is_watched() -> None:
    layer, w = keras.layers.Dense(2, use_bias=False), tf.Variable(2.0)
    layer.build((2, 2))

    def step(watched: list[Any]) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(watched)
            y = w * layer(tf.ones([2, 2]))
        return tape.gradient(y, [layer.kernel, w])

    told = [s.breaks[0].remedy for s in tapetrace.check(step, []).calls[0].sources]
    assert ["tape.watch(v.value)" in told[0], "tape.watch(v)" in told[1]] == [True, True]
    assert tapetrace.check(step, [layer.kernel.value, w]).ok


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

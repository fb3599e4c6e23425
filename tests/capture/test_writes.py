"""Values written into a variable and read back: in the step, in a function, in branches and loops."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tapetrace.model.words import Cause
from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("none none")
def assigned_and_read() -> Any:
    w, state = tf.Variable(X), tf.Variable(X, trainable=False)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign(w * x)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none connected")
def assigned_to_a_trainable_variable() -> Any:
    w, state = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign(w * x)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none connected")
def result_of_assign() -> Any:
    w, state = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(state.assign(w * x))
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none connected")
def assign_add() -> Any:
    w, state = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign_add(w * x)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("connected none")
def read_before_it_is_written() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w)
            w.assign(tf.cos(v))
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def scatter_nd_update() -> Any:
    w, state = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.scatter_nd_update([[0]], w[:1] * 2.0)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none connected")
def batch_scatter_update() -> Any:
    w, state = tf.Variable(tf.ones([2, 2])), tf.Variable(tf.ones([2, 3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.batch_scatter_update(tf.IndexedSlices(w * 2.0, tf.constant([[0, 1], [1, 2]])))
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none connected")
def slice_assignment() -> Any:
    w, state = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state[:2].assign(w[:2] * 2.0)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none none")
def written_in_a_function() -> Any:
    w, state = tf.Variable(X), tf.Variable(X, trainable=False)

    @tf.function
    def update(x: tf.Tensor) -> None:
        state.assign(0.9 * state + w * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            update(x)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none none")
def read_in_a_function() -> Any:
    w, state = tf.Variable(X), tf.Variable(X, trainable=False)

    @tf.function
    def read() -> tf.Tensor:
        return tf.sin(state)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign(w * x)
            y = read()
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none connected")
def written_in_a_branch() -> Any:
    w, state = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            if x[0] > 0:
                state.assign(w * x)
            y = tf.sin(state)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("zero none")
def written_in_a_loop() -> Any:
    w, state = tf.Variable(X), tf.Variable(X, trainable=False)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = x
            for _ in tf.range(3):
                y = tf.sin(state) + y
                state.assign(w * x)
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("none none connected")
def written_twice() -> Any:
    w, v, state = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign(w * x)
            state.assign(v * x)
            y = tf.sin(state)
        return tape.gradient(y, [w, v, state])

    return step, (X,)


@case("connected connected")
def keras_variable_assign() -> Any:
    import keras

    w, state = tf.Variable(X), keras.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign(w * x)
            y = tf.sin(state) + w
        return tape.gradient(y, [w, state])

    return step, (X,)


@case("connected none")
def state_of_batch_normalization() -> Any:
    import keras

    layer = keras.layers.BatchNormalization()
    layer.build((4, 3))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(x, training=True) ** 3)
        return tape.gradient(y, [layer.gamma, layer.moving_mean])

    return step, (tf.TensorSpec([4, 3]),)


@case("connected none")
def random_generator() -> Any:
    w, generator = tf.Variable(X), tf.random.Generator.from_seed(1)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * generator.normal([3])
        return tape.gradient(y, [w, generator.state])

    return step, (X,)


@case("none connected")
def table_lookup() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, default_value=0.5, empty_key=-1, deleted_key=-2)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            table.insert(tf.constant([1, 2, 3], tf.int64), w * x)
            y = table.lookup(tf.constant([1, 2, 3], tf.int64)) * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()


@pytest.mark.parametrize("name", ["assigned_and_read", "assigned_to_a_trainable_variable", "assign_add", "scatter_nd_update", "slice_assignment",
                                  "batch_scatter_update", "written_in_a_function", "read_in_a_function", "written_in_a_branch",
                                  "written_in_a_loop"])  # fmt: skip
def test_the_write_is_named(name: str) -> None:
    report = next(c for c in CASES if c.name == name).check()
    assert report.calls[0].sources[0].cause is Cause.VARIABLE_WRITE

"""How a gradient is asked for: structures, persistent and nested tapes, jacobians, tf.gradients, dtypes that carry none."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.capture.cases import Case, Cases

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected none connected")
def nested_structures() -> Any:
    a, b, c = (tf.Variable(X, name=n) for n in "abc")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            losses = {"one": [tf.reduce_sum(a * x)], "two": (tf.reduce_sum(c * c), tf.reduce_sum(tf.stop_gradient(b)))}
        return tape.gradient(losses, {"z": [c], "a": [a, b]})

    return step, (X,)


@case("connected | connected | connected none")
def persistent_tape_asked_three_times() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = w * x
            z = tf.square(y) + v
        return tape.gradient(z, y), tape.gradient(z, v), tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none | none connected")
def two_tapes_at_once() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as one, tf.GradientTape() as two:
            y, z = tf.sin(w * x), tf.cos(v * x)
        return one.gradient(y, [w, v]), two.gradient(z, [w, v])

    return step, (X,)


@case("connected | connected")
def second_derivative() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | none")
def second_derivative_of_a_line() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w * x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | connected")
def second_derivative_through_a_function() -> Any:
    w = tf.Variable(X)

    @tf.function
    def cube(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(w**3 * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = cube(x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | connected")
def second_derivative_through_a_loop() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y * w)), [0, x])[1]
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("conditional | conditional")
def second_derivative_through_a_branch() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.cond(x[0] > -9.0, lambda: tf.exp(w * x), lambda: x)
            first = inner.gradient(y, w)
        return outer.gradient(first, w)

    return step, (X,)


@case("connected | connected connected")
def second_derivative_through_an_lstm() -> Any:
    import keras

    cell = keras.layers.LSTM(2)
    cell.build((2, 3, 2))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(cell(x))
            first = inner.gradient(y, x)
            penalty = tf.reduce_sum(tf.square(first))
        return outer.gradient(penalty, cell.trainable_variables[:2])

    return step, (tf.TensorSpec([2, 3, 2]),)


@case("connected zero")
def unconnected_zero() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, [w, v], unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return step, (X,)


@case("connected zero")
def unconnected_zero_as_a_string() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(target=y, sources=[w, v], unconnected_gradients="zero")

    return step, (X,)


@case("connected none")
def output_gradients() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y, z = w * x, tf.square(w)
        return tape.gradient([y, z], [w, v], output_gradients=[x, tf.ones_like(x)])

    return step, (X,)


@case("connected none")
def jacobian() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x)
        return tape.jacobian(y, [w, v])

    return step, (X,)


@case("connected")
def jacobian_without_pfor() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = tf.sin(w * x)
        return tape.jacobian(y, w, experimental_use_pfor=False)

    return step, (X,)


@case("connected")
def batch_jacobian() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(w * x)
        return tape.batch_jacobian(y, x)

    return step, (tf.ones([2, 3]),)


@case("connected | connected")
def hessian() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x)
            first = inner.gradient(y, w)
        return outer.jacobian(first, w)

    return step, (X,)


@case("connected none")
def symbolic_gradients() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        y = tf.reduce_sum(tf.sin(w * x))
        z = tf.round(x)
        return tf.gradients(y + tf.reduce_sum(z), [x, z * 1.0])

    return step, (X,)


@case("none connected")
def symbolic_gradients_with_stops() -> Any:
    def step(x: tf.Tensor) -> Any:
        y = tf.sin(x)
        return tf.gradients(tf.reduce_sum(y * y), [x, y], stop_gradients=[y])

    return step, (X,)


@case("connected")
def complex_dtypes() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            z = tf.signal.fft(tf.complex(w * x, x))
            y = tf.reduce_sum(tf.abs(z) ** 2)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def complex_source() -> Any:
    w = tf.Variable(tf.complex(X, X))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.math.real(w * tf.cast(x, tf.complex64))
        return tape.gradient(y, w)

    return step, (X,)


@case("none none")
def strings() -> Any:
    w, name = tf.Variable(X), tf.Variable("a")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.strings.to_number(tf.strings.as_string(w * x) + name)
        return tape.gradient(y, [w, name])

    return step, (X,)


@case("none none")
def integers() -> Any:
    w, n = tf.Variable(X), tf.Variable([1, 2, 3])

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cast(tf.cast(w * x, tf.int32) * n, tf.float32)
        return tape.gradient(y, [w, n])

    return step, (X,)


@case("none")
def integer_target() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.argmax(w * x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected")
def target_is_the_source() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, y)

    return step, (X,)


@case("connected connected")
def the_same_source_twice() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, [w, w])

    return step, (X,)


@case("connected none")
def tensors_on_the_way() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.tanh(w * x)
            beside = tf.exp(hidden)
            y = tf.reduce_sum(hidden * hidden)
        return tape.gradient(y, [hidden, beside])

    return step, (X,)


@case("")
def no_sources() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
        return tape.gradient(y, [])

    return step, (X,)


@case("none")
def no_targets() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _ = w * x
        return tape.gradient([], w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()

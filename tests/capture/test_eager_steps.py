"""Steps as people write them for eager mode: Python loops and branches, loops over datasets, functions warm and cold, tapes in tapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause, Returned
from tests.capture.cases import verdicts
from tests.capture.eager_oracle import EagerCase, EagerCases

CASES = case = EagerCases()
X = tf.constant([0.3, -0.7, 1.2])


@case("connected connected")
def loop_over_a_dataset_in_python() -> Any:
    w, v = tf.Variable(X), tf.Variable(2.0)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.zeros([])
            for row in tf.data.Dataset.from_tensor_slices([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]):
                loss += tf.reduce_sum(row * w) * v
        return tape.gradient(loss, [w, v])

    return step, ()


@case("none connected")
def a_dataset_made_from_the_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(2.0)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.zeros([])
            for value in tf.data.Dataset.from_tensor_slices(w * 1.0):
                loss += value * v
        return tape.gradient(loss, [w, v])

    return step, ()


@case("connected none none")
def branch_that_python_takes() -> Any:
    w, v, never = tf.Variable(X), tf.Variable(X), tf.Variable(1.0)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x) if x[0] > 0 else tf.reduce_sum(v * x)
        return tape.gradient(loss, [w, v, never])

    return step, (X,)


@case("connected none")
def loop_that_stops_by_value() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = x
            while tf.reduce_sum(y * y) < 5.0:
                y = y * 1.5 + w
            tf.reduce_sum(v * y)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected | connected | connected")
def several_calls_in_a_loop() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        found = []
        for power in (1, 2, 3):
            with tf.GradientTape() as tape:
                y = w**power * x
            found.append(tape.gradient(y, w))
        return found

    return step, (X,)


@case("connected none | connected")
def second_order() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x) + tf.reduce_sum(tf.stop_gradient(v))
            first = inner.gradient(y, [w, v])[0]
        return outer.gradient(first, w)

    return step, (X,)


@case("connected none | none connected")
def one_persistent_tape_two_losses() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            a, b = w * x, v * x
        return tape.gradient(a, [w, v]), tape.gradient(b, [w, v])

    return step, (X,)


@case("connected connected")
def jacobian() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(w * x)
        return tape.jacobian(y, [w, x])

    return step, (X,)


@case("connected")
def batch_jacobian() -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * x
        return tape.batch_jacobian(y, x)

    return step, (tf.ones([4, 3]) * X,)


@case("none none connected")
def gather_with_sliced_gradient() -> Any:
    table, index, scale = tf.Variable(tf.ones([5, 3])), tf.Variable([1, 3]), tf.Variable(2.0)

    def step() -> Any:
        with tf.GradientTape() as tape:
            rows = tf.gather(tf.round(table), index)
            loss = tf.reduce_sum(rows * X) * scale
        return tape.gradient(loss, [table, index, scale])

    return step, ()


@case("connected")
def embedding_rows() -> Any:
    table = tf.Variable(tf.ones([5, 3]))

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3]) * X)
        return tape.gradient(loss, table)

    return step, ()


@case("connected")
def ragged_rows() -> Any:
    w = tf.Variable(X)

    def step() -> Any:
        with tf.GradientTape() as tape:
            rows = tf.RaggedTensor.from_row_lengths(w * X, [1, 0, 2])
            loss = tf.reduce_sum(tf.reduce_sum(rows, axis=1) ** 2)
        return tape.gradient(loss, w)

    return step, ()


@case("connected none")
def cold_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def forward(x: tf.Tensor) -> Any:
        return tf.sin(w * x) + tf.round(v)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = forward(x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none | connected")
def function_with_a_tape_and_a_tape_around_it() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def penalty(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)
        return tape.gradient(y, [w, v])[0]

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = penalty(x)
        return tape.gradient(y, w)

    return step, (X,)


@case("connected none")
def custom_gradient_with_a_variable() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def scaled(x: tf.Tensor) -> Any:
        def grad(upstream: tf.Tensor, variables: Any = None) -> Any:
            return upstream * v, [None for _ in variables]

        return x * v, grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = scaled(w * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("zero connected")
def custom_gradient_that_ignores_what_comes_in() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def product(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * b, lambda upstream: (tf.zeros_like(a), upstream * a)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = product(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def custom_gradient_that_reads_values_in_python() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def clipped(a: tf.Tensor, b: tf.Tensor) -> Any:
        return a * b, lambda upstream: (upstream * float(upstream.numpy().max()), None)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = clipped(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def custom_gradient_in_custom_gradient() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.custom_gradient
    def inner(a: tf.Tensor) -> Any:
        return a * 2.0, lambda upstream: None

    @tf.custom_gradient
    def outer(a: tf.Tensor, b: tf.Tensor) -> Any:
        def grad(upstream: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(b)
                z = inner(b)
            return upstream * b, tape.gradient(z, b)

        return a * inner(b), grad

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = outer(w * x, v * x)
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def recomputed() -> Any:
    w = tf.Variable(X)
    block = tf.recompute_grad(lambda x: tf.sin(w * x))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = block(x)
        return tape.gradient(y, w)

    return step, (X,)


@case("none connected")
def numpy_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.numpy_function(np.sin, [w * x], tf.float32) * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none connected")
def assigned_and_read_back() -> Any:
    w, v, slot = tf.Variable(X), tf.Variable(X), tf.Variable(tf.zeros([3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            slot.assign(v * x)
            y = slot * w
        return tape.gradient(y, [w, v, slot])

    return step, (X,)


@case("none connected none")
def forward_pass_before_the_tape_and_stopped_recording() -> Any:
    before, inside, stopped = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        early = before * x
        with tf.GradientTape() as tape:
            y = inside * early
            with tape.stop_recording():
                z = stopped * x
            y = y + z
        return tape.gradient(y, [before, inside, stopped])

    return step, (X,)


@case("none connected")
def reset_between() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
            tape.reset()
            y = y * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none none connected")
def not_watched() -> Any:
    frozen, w = tf.Variable(X, trainable=False), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = frozen * w * x
        return tape.gradient(y, [frozen, x, w])

    return step, (X,)


@case("error error none")
def op_without_a_gradient() -> Any:
    w, v, unused = tf.Variable(X), tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w * x) + tf.reduce_sum(tf.math.bincount([0, 1, 1], weights=v * x))
            tf.cumsum(unused)
        return tape.gradient(y, [w, v, unused])

    return step, (X,)


@case("connected | error")
def tape_asked_twice() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
            z = v * x
        return tape.gradient(y, w), tape.gradient(z, v)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: EagerCase) -> None:
    one.check()


def test_a_function_that_was_traced_before() -> None:
    w, v = tf.Variable(X), tf.Variable(X)

    @tf.function
    def inner(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)
        return tape.gradient(y, [w, v])[0]

    inner(X)
    report = tapetrace.check(lambda: inner(X), mode="eager")
    assert verdicts(report) == "connected none"
    assert report.calls[0].sources[1].cause is Cause.STOP_GRADIENT
    assert [s.returned for s in report.calls[0].sources] == [Returned.TENSOR, Returned.NONE]


def test_the_line_that_calls_a_numpy_function() -> None:
    w, v, kept = (tf.Variable(X, name=n) for n in ("w", "v", "kept"))

    def inside(a: np.ndarray) -> np.ndarray:
        return a * kept.numpy()

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.numpy_function(inside, [w * x], tf.float32) * v
        return tape.gradient(y, [w, kept, v])

    sources = tapetrace.check(step, X, mode="eager").calls[0].sources
    for source in sources[:2]:
        assert source.cause is Cause.PYTHON_FUNCTION
        assert source.breaks[0].location is not None
        assert source.breaks[0].location.line == step.__code__.co_firstlineno + 2


def test_a_function_that_is_traced_and_never_runs_says_nothing() -> None:
    w = tf.Variable(X)

    @tf.function
    def never(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.round(w * x)
        return tape.gradient(y, w)

    def step() -> Any:
        never.get_concrete_function(X)
        with tf.GradientTape() as tape:
            y = w * X
        return tape.gradient(y, w)

    assert verdicts(tapetrace.check(step, mode="eager")) == "connected"


def test_a_step_that_returns_its_loss() -> None:
    w, v = tf.Variable(X, name="w"), tf.Variable(X, name="v")

    def loss(x: tf.Tensor) -> Any:
        return tf.reduce_sum(w * x + tf.round(v))

    report = tapetrace.check(loss, X, mode="eager")
    assert [(s.path, s.verdict.value) for s in report.calls[0].sources] == [("w", "connected"), ("v", "none")]
    assert report.calls[0].kind == "loss"
    assert report.calls[0].location is None


def test_a_step_that_returns_something_else() -> None:
    with pytest.raises(tapetrace.TapetraceError, match="return a scalar float loss"):
        tapetrace.check(lambda: tf.ones([2]), mode="eager")


def test_each_break_stands_on_its_line() -> None:
    early, rounded, unused, never = (tf.Variable(X, name=n) for n in ("early", "rounded", "unused", "never"))

    def step(x: tf.Tensor) -> Any:
        a = early * x
        with tf.GradientTape() as tape:
            y = a + tf.round(rounded)
            tf.sin(unused)
        return tape.gradient(y, [early, rounded, unused, never])

    report = tapetrace.check(step, X, mode="eager")
    first = step.__code__.co_firstlineno
    places = [(s.cause, s.breaks[0].location.line - first) for s in report.calls[0].sources if s.breaks[0].location]
    assert places == [(Cause.OUTSIDE_TAPE, 1), (Cause.GRADIENT_IS_NONE, 3), (Cause.UNUSED_RESULT, 4), (Cause.NEVER_READ, 5)]

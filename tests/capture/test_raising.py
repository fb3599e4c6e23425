"""Steps that raise: before, inside and after their gradient call; what was seen until then is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause, Verdict
from tests.capture.cases import verdicts

X = tf.constant([0.3, -0.7, 1.2])
W = tf.Variable(X, name="w")
V = tf.Variable(X, name="v")


def test_before_the_gradient_call() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.matmul(W * x, x)  # the line
        return tape.gradient(y, W)

    with pytest.raises(tapetrace.TapetraceError) as raised:
        tapetrace.check(step, X, mode="graph")
    line = step.__code__.co_firstlineno + 2
    assert f"test_raising.py:{line}" in str(raised.value)
    assert "in user code" not in str(raised.value)
    assert raised.value.exit_code == 2


def test_a_variable_that_the_step_wrote_has_its_name_though_the_trace_did_not_end() -> None:
    state = tf.Variable(X, trainable=False, name="state")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            state.assign(W * x)
            y = tf.sin(state)
        return tape.gradient(y, W).shape

    report = tapetrace.check(step, X, mode="graph")
    assert report.error is not None
    assert [b.detail for b in report.calls[0].sources[0].breaks] == ["written into state and read back"]


def test_after_the_gradient_call() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x + tf.round(V)
        dw, dv = tape.gradient(y, [W, V])
        return dw + dv.shape

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == "connected none"
    assert report.error is not None
    assert report.error.type == "AttributeError"
    assert report.error.location is not None
    assert report.error.location.line == step.__code__.co_firstlineno + 4
    assert not report.ok


def test_between_two_gradient_calls() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = W * x
        first = tape.gradient(y, W)
        with tape:
            z = tf.concat([first, tf.ones([2, 2])], 0)
        return tape.gradient(z, V)

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == "connected"
    assert report.error is not None
    assert report.error.type == "ValueError"


def test_in_a_branch_after_the_gradient_call() -> None:
    def step(x: tf.Tensor) -> Any:
        result = x
        if tf.reduce_sum(x) > 0.0:
            with tf.GradientTape() as tape:
                y = W * x
            result = tape.gradient(y, W)
            result = tf.reshape(result, [4])
        return result

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == "connected"
    assert report.error is not None


def test_in_a_function_after_the_gradient_call() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x + tf.stop_gradient(V)
        _dw, _ = tape.gradient(y, [W, V])
        raise ValueError("for the test")

    report = tapetrace.check(lambda x: inner(x), X, mode="graph")
    assert verdicts(report) == "connected none"
    assert report.error is not None
    assert (report.error.type, report.error.message) == ("ValueError", "for the test")


def test_gradients_multiplied_while_one_is_none() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
        return [g * 2.0 for g in tape.gradient(y, [W, V])]

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == "connected none"
    assert report.error is not None
    assert report.error.type in ("TypeError", "ValueError")


def test_an_op_without_a_gradient() -> None:
    def step(image: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.image.adjust_contrast(image * W, 2.0) * V
        return tape.gradient(y, [W, V])

    report = tapetrace.check(step, tf.TensorSpec([2, 2, 3]), mode="graph")
    assert verdicts(report) == "error error"
    assert report.calls[0].error is not None
    assert report.calls[0].error.type == "LookupError"
    assert report.calls[0].sources[0].cause is Cause.NO_GRADIENT_REGISTERED
    assert report.agreement.disagreed == ()


def test_an_op_without_a_gradient_in_a_loop_under_two_tapes() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as one, tf.GradientTape() as two:
            y = W * 1.0
            for _ in tf.range(2):  # the backward pass is built here, since two tapes want it
                y = tf.raw_ops.Snapshot(input=x) + y * 0.3
        return one.gradient(y, [x]), two.gradient(y, [W])

    with pytest.raises(Exception, match="op type: Snapshot"):
        tf.function(step).get_concrete_function(X)
    report = tapetrace.check(step, X, mode="graph")
    assert report.error is not None
    assert report.error.type == "LookupError"
    assert [s.returned for c in report.calls for s in c.sources] == [None, None]
    assert report.agreement.disagreed == ()


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_an_op_that_forbids_the_gradient(mode: str) -> None:
    w, v = tf.Variable([1.0, 2.0], name="w"), tf.Variable([1.0, 2.0], name="v")

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.raw_ops.PreventGradient(input=w * x, message="once only") + v
        return tape.gradient(y, [w, v])

    report = tapetrace.check(step, tf.ones([2]), mode=mode)
    assert [s.verdict for s in report.calls[0].sources] == [Verdict.ERROR, Verdict.ERROR]
    assert {(b.cause, b.type) for s in report.calls[0].sources for b in s.breaks} == {(Cause.STOP_GRADIENT, "PreventGradient")}
    assert report.agreement.disagreed == ()
    (root,) = report.root_causes
    assert set(root.reconnects) == {"w", "v"}


def test_an_op_without_a_gradient_in_the_first_of_two_calls() -> None:
    def step(image: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.image.adjust_contrast(image * W, 2.0)
        first = tape.gradient(y, W)
        with tf.GradientTape() as tape:
            z = image * V
        return first, tape.gradient(z, V)

    assert verdicts(tapetrace.check(step, tf.TensorSpec([2, 2, 3]), mode="graph")) == "error | connected"


def test_an_op_without_a_gradient_that_no_watched_value_enters() -> None:
    def step(image: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.image.adjust_contrast(image, 2.0) * V
        return tape.gradient(y, V)

    assert verdicts(tapetrace.check(step, tf.TensorSpec([2, 2, 3]), mode="graph")) == "connected"


@tf.function
def contrast(image: tf.Tensor) -> tf.Tensor:
    return tf.image.adjust_contrast(image * W, 2.0)


@pytest.mark.parametrize("asked", ["V", "W V"])
def test_an_op_without_a_gradient_in_a_function(asked: str) -> None:
    def step(image: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = contrast(image) * V
        return tape.gradient(y, [W, V] if asked == "W V" else [V])

    image = tf.ones([2, 2, 3])
    with pytest.raises(Exception, match="AdjustContrastv2"):
        tf.function(step)(image)
    report = tapetrace.check(step, image, mode="graph")
    assert set(verdicts(report).split()) == {"error"}
    assert report.calls[0].error is not None
    assert "AdjustContrastv2" in report.calls[0].error.message


@pytest.mark.parametrize("is_used", [True, False])
def test_an_op_without_a_gradient_in_a_function_under_two_tapes(is_used: bool) -> None:
    """TensorFlow builds the backward pass as soon as the function is called, and raises there."""

    def step(image: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = contrast(image)
                z = y * V if is_used else image * V
            first = inner.gradient(z, V)
        return outer.gradient(first, V)

    image = tf.ones([2, 2, 3])
    with pytest.raises(Exception, match="AdjustContrastv2"):
        tf.function(step)(image)
    report = tapetrace.check(step, image, mode="graph")
    assert not report.ok
    assert report.error is not None
    assert "AdjustContrastv2" in report.error.message
    assert report.error.location is not None
    assert report.error.location.line == step.__code__.co_firstlineno + 3


def test_numpy_on_a_symbolic_tensor() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(np.square(W * x))
        return tape.gradient(y, W)

    with pytest.raises(NotImplementedError):
        tf.function(step)(X)
    with pytest.raises(tapetrace.TapetraceError) as raised:
        tapetrace.check(step, X, mode="graph")
    assert "NotImplementedError" in str(raised.value)
    assert f"test_raising.py:{step.__code__.co_firstlineno + 2}" in str(raised.value)


@pytest.mark.parametrize("target", [None, 1.0])
def test_a_target_that_is_no_tensor(target: Any) -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            _ = W * x
        return tape.gradient(target, [W])

    truth: BaseException | None = None
    try:
        tf.function(step)(X)
    except Exception as error:
        truth = error
    assert truth is not None
    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) in ("none", "error")
    assert report.calls[0].error is not None
    assert not report.ok
    assert report.agreement.disagreed == ()


def test_a_used_tape() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x + V
        return tape.gradient(y, W), tape.gradient(y, V)

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == "connected | error"
    assert report.calls[1].sources[0].cause is Cause.TAPE_REUSED


def test_a_source_that_is_a_number() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
        return tape.gradient(y, [W, 3.0])

    with pytest.raises(Exception, match="float"):
        tf.function(step)(X)
    report = tapetrace.check(step, X, mode="graph")
    assert not report.ok
    assert report.calls[0].error is not None


def test_an_interrupt_comes_through() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
        tape.gradient(y, W)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tapetrace.check(step, X, mode="graph")


def beside_the_way(x: tf.Tensor) -> Any:
    return tf.raw_ops.Snapshot(input=W * x) * V, [V]


def of_the_target_itself(x: tf.Tensor) -> Any:
    y = tf.raw_ops.Snapshot(input=W * x)
    return y, [y]


def on_the_way(x: tf.Tensor) -> Any:
    return tf.raw_ops.Snapshot(input=W * x) * V, [W, V]


def behind_a_stopped_value(x: tf.Tensor) -> Any:
    return tf.raw_ops.Snapshot(input=tf.stop_gradient(V)) * V * x, [V]


def in_a_function(x: tf.Tensor) -> Any:
    return tf.function(lambda a: tf.raw_ops.Snapshot(input=W) * a)(V * x), [V]


def in_a_loop(x: tf.Tensor) -> Any:
    return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.raw_ops.Snapshot(input=W) * y), (0, V * x))[1], [V]


@pytest.mark.parametrize(
    ("build", "verdict"),
    [
        (beside_the_way, "connected"),
        (of_the_target_itself, "connected"),
        (on_the_way, "error error"),
        (behind_a_stopped_value, "error"),
        (in_a_function, "error"),
        (in_a_loop, "error"),
    ],
)
def test_tf_gradients_asks_only_what_lies_between(build: Any, verdict: str) -> None:
    def step(x: tf.Tensor) -> Any:
        return tf.gradients(*build(x))

    if "error" in verdict:
        with pytest.raises(LookupError):
            tf.function(step, autograph=False).get_concrete_function(X)
    else:
        assert None not in tf.function(step, autograph=False)(X)
    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == verdict
    assert report.agreement.disagreed == ()

"""Tensors that a tape is told of late, or never, and that it hands gradient back for all the same, or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts

X = tf.constant([0.4, -0.6, 0.9])
W = tf.Variable([0.4, 0.5, -0.6], name="w")


def target_itself(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = x
    return tape.gradient(y, x)


def jacobian_of_itself(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = x
    return tape.jacobian(y, x)


def watched_jacobian_of_itself(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
    return tape.jacobian(y, x)


def used_before_and_after(x: Any) -> None:
    for _ in tf.range(2):
        with tf.GradientTape() as tape:
            y = x * 2.0
            tape.watch(x)
            z = y + x
        GOT.append(tape.gradient(z, x))


def watched_after_use(x: Any, other: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(other)
        y = other
        for _ in tf.range(3):
            y = x
        tape.watch(x)
    return tape.gradient(y, x)


def used_before_in_a_loop_around(x: Any) -> None:
    """The inner loop is recorded on another tensor's account; but the tape learns of ``x``, a tensor of the graph around, when it is used next."""
    other = x * 2.0
    for _ in tf.range(2):
        GOT.append(watched_after_use(x, other))


def used_before_in_this_graph(x: Any) -> Any:
    return watched_after_use(x, x * 2.0)


GOT: list[Any] = []


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (target_itself, "connected"), (jacobian_of_itself, "none"), (watched_jacobian_of_itself, "connected"),
        (used_before_and_after, "connected"), (used_before_in_a_loop_around, "none"), (used_before_in_this_graph, "connected"),
    ],
)  # fmt: skip
def test_late_watching(step: Callable[[Any], Any], verdict: str) -> None:
    GOT.clear()
    returned = tf.function(step)(X)
    assert ((GOT[-1] if GOT else returned) is None) == (verdict == "none"), "this is what TensorFlow does"
    report = tapetrace.check(step, X)
    assert [s.verdict.value for s in report.calls[-1].sources] == [verdict]
    assert report.agreement.disagreed == ()


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("called", [False, True])
def test_watched_after_an_op_that_was_recorded_for_another_input(called: bool, mode: str) -> None:
    product = tf.function(lambda a, b: tf.multiply(a, b)) if called else tf.multiply

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = product(x, W)
            z = tf.sin(x)
            tape.watch(x)
        return tape.gradient([y, z], [x, W]), z

    truth = step(X)[0]
    assert truth[0] is not None
    report = tapetrace.check(step, X, mode=mode)
    assert verdicts(report) == "connected connected"
    assert report.agreement.disagreed == ()


def passes_it_on(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        y = x
    return y


def uses_it(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        y = y + x
    return y


def carries_both(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        x, y = x * 2.0, y * 2.0
    return x


@pytest.mark.parametrize("loop", [passes_it_on, uses_it, carries_both])
def test_watched_after_a_loop_that_was_recorded_for_another_input(loop: Callable[..., Any]) -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = loop(x, W * 1.0)
            tape.watch(x)
        return tape.gradient(y, [x])

    assert tf.reduce_all(tf.function(step)(X)[0] != 0.0)
    report = tapetrace.check(step, X, mode="graph")
    assert (verdicts(report), report.agreement.disagreed) == ("connected", ())


def test_watched_after_a_loop_that_was_recorded_for_nobody() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = uses_it(x, tf.zeros([3]))
            tape.watch(x)
        return tape.gradient(y + W, [x])

    assert tf.function(step)(X) == [None]
    assert verdicts(tapetrace.check(step, X, mode="graph")) == "none"


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_watched_after_an_op_that_was_recorded_for_nobody(mode: str) -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(x) * W
            tape.watch(x)
        return tape.gradient(y, [x, W])

    assert step(X)[0] is None
    report = tapetrace.check(step, X, mode=mode)
    assert verdicts(report) == "none connected"
    assert report.calls[0].sources[0].cause is Cause.NOT_WATCHED

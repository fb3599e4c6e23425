"""Tensors that a tape is told of late, or never, and that it hands gradient back for all the same, or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace

X = tf.constant([0.4, -0.6, 0.9])


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

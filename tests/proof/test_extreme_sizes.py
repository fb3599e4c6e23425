"""Recursion, very many ops in a row, very many variables."""

from __future__ import annotations

import time
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.api import render_text
from tests.proof.hostile_steps import W, X
from tests.proof.ways import LONG, verdicts

pytestmark = pytest.mark.usefixtures("made_on_first_use")


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_recursion(mode: str) -> None:
    def deep(x: Any, n: int) -> Any:
        return W * x if n == 0 else deep(x, n - 1) + 0.1

    @tf.autograph.experimental.do_not_convert  # which takes long for so many levels
    def endless(x: Any) -> Any:
        return forever(x)

    def forever(x: Any) -> Any:
        return forever(x) * 2.0

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = deep(x, 40)
        return tape.gradient(y, W)

    assert verdicts(tapetrace.check(step, X, mode=mode)) == "connected"
    with pytest.raises(tapetrace.TapetraceError, match=r"RecursionError at .*test_extreme_sizes.py:"):
        tapetrace.check(lambda x: endless(W * x), X, mode=mode)


def test_a_long_step() -> None:
    """100,000 ops in a row, with the environment variable for long tests. No recursion, and text within seconds."""
    count = 100_000 if LONG else 1_000

    @tf.autograph.experimental.do_not_convert
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
            for _ in range(count):
                y = tf.raw_ops.Neg(x=y)
            y = tf.round(y)
        return tape.gradient(y, W)

    began = time.monotonic()
    tf.function(step).get_concrete_function(X)
    bare = time.monotonic() - began
    began = time.monotonic()
    report = tapetrace.check(step, X, mode="graph")
    assert time.monotonic() - began < 10 + 6 * bare
    assert verdicts(report) == "none"
    began = time.monotonic()
    assert "gradient_is_none" in render_text(report)
    assert time.monotonic() - began < 5


def test_many_variables() -> None:
    """5,000 of them, with the environment variable for long tests."""
    count = 5_000 if LONG else 300
    variables = [tf.Variable(X) for _ in range(count)]

    @tf.autograph.experimental.do_not_convert
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.add_n([tf.round(v) if i % 2 else v * x for i, v in enumerate(variables)])
        return tape.gradient(y, variables)

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == " ".join("none" if i % 2 else "connected" for i in range(count))
    assert len(render_text(report)) < 2_000

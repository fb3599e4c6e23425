"""Dependence by value: which inputs an output depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tapetrace.capture.dependence import Value, trace_dependence
from tests.capture.traced_ops import F32, trace

R = tf.raw_ops


@pytest.mark.parametrize(
    ("build", "linear", "nonlinear"),
    [
        (lambda x, y: x + y, 0b11, 0b11),
        (lambda x, y: x * tf.zeros_like(y), 0, 0),
        (lambda x, y: x + tf.zeros([3]) * y, 0b01, 0b01),
        (lambda x, y: tf.reshape(y, tf.shape(x)), 0b10, 0b10),
        (lambda x, y: R.OnesLike(x=x) * y, 0b10, 0b10),
        (lambda x, y: tf.cast(R.Shape(input=x), tf.float32) * y, 0b10, 0b10),
        (lambda x, y: tf.fill([3], tf.cast(tf.size(x), tf.float32)) * y, 0b10, 0b10),
        (lambda x, y: tf.where(x > 0, y, 0.0), 0b10, 0b11),
        (lambda x, y: tf.where(x[0] == x[0], y, float("nan")), 0b10, 0b11),
        (lambda x, y: tf.broadcast_to(tf.zeros([]), [3]) / y, 0, 0),
        (lambda x, y: tf.gather(y, tf.cast(x, tf.int32)), 0b10, 0b11),
        (lambda x, y: tf.ones_like(x) + tf.concat([y[:1], tf.zeros([2])], 0), 0b10, 0b10),
    ],
)
def test_dependence_by_value(build: Callable[..., Any], linear: int, nonlinear: int) -> None:
    graph = trace(build, F32, F32)
    known = {t.name: Value(1 << k) for k, t in enumerate(graph.inputs)}
    assert trace_dependence(graph, known, linear=True)[graph.outputs[0].name].depends == linear
    assert trace_dependence(graph, known, linear=False)[graph.outputs[0].name].depends == nonlinear


def test_comparing_a_tensor_with_itself_says_nothing_about_it() -> None:
    def build(x: Any) -> Any:
        first = x[0]
        return tf.where(tf.equal(first, first), 0.0, 1.0)

    graph = trace(build, F32)
    assert trace_dependence(graph, {graph.inputs[0].name: Value(1)}, linear=False)[graph.outputs[0].name].depends == 0

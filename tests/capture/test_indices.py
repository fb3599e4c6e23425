"""An integer that serves as an index, a size or a count: no gradient passes there, were it computed in floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.capture.gates import GateProber
from tapetrace.model.words import Cause

N = 4
TABLE = tf.constant([[1.0, 2.0], [4.0, 8.0], [9.0, 3.0], [5.0, 7.0]])
ROWS = tf.constant([[1.0], [3.0], [2.0]])


@pytest.mark.parametrize(
    ("build", "op_type", "expected"),
    [
        (lambda i: tf.gather(TABLE, i), "GatherV2", [(1, "indices"), (2, "axis")]),
        (lambda i: tf.gather_nd(TABLE, i[:, None]), "GatherNd", [(1, "indices")]),
        (lambda i: tf.one_hot(i, 3), "OneHot", [(0, "indices"), (1, "depth")]),
        (lambda i: tf.math.unsorted_segment_sum(ROWS, i, 3), "UnsortedSegmentSum", [(1, "segment_ids"), (2, "num_segments")]),
        (lambda i: tf.dynamic_stitch([i, i], [ROWS, ROWS]), "DynamicStitch", [(0, "indices"), (1, "indices")]),
        (lambda i: i + 1, "AddV2", []),
        (lambda i: tf.range(i[0]), "Range", []),
        (lambda i: tf.cast(i, tf.float32), "Cast", []),
    ],
)
def test_inputs_that_take_integers_only(build: Callable[[Any], Any], op_type: str, expected: list[tuple[int, str]]) -> None:
    graph = tf.function(build, autograph=False).get_concrete_function(tf.TensorSpec([3], tf.int32)).graph
    op = next(op for op in graph.get_operations() if op.type == op_type)
    assert list(GateProber().gates_of(op).integers) == expected


def weights(x: Any, n: int = N) -> Any:
    return tf.nn.relu(1.0 - tf.abs(x[..., None] - tf.range(n, dtype=x.dtype)))


def whole(x: Any) -> Any:
    return tf.cast(x, tf.int32)


def corner(x: Any) -> Any:
    return tf.stack([whole(x), whole(x) * 0], axis=-1)


@pytest.mark.parametrize(
    ("hard", "soft"),
    [
        (lambda x: tf.gather(TABLE, whole(x)), lambda x: tf.tensordot(weights(x), TABLE, 1)),
        (lambda x: tf.gather_nd(TABLE, corner(x)), lambda x: tf.einsum("...i,...j,ij->...", weights(x), weights(x * 0, 2), TABLE)),
        (lambda x: tf.one_hot(whole(x), N), weights),
        (lambda x: tf.math.unsorted_segment_sum(ROWS, whole(x), N), lambda x: tf.tensordot(weights(x), ROWS, [[0], [0]])),
    ],
)
def test_what_is_told_to_be_written_instead_reconnects(hard: Callable[[Any], Any], soft: Callable[[Any], Any]) -> None:
    v = tf.Variable([0.0, 2.0, 1.0])

    def step(index: Callable[[Any], Any]) -> Any:
        with tf.GradientTape() as tape:
            y = index(tf.identity(v))
        return tape.gradient(y, v)

    report = tapetrace.check(step, hard)
    assert [(b.cause, b.type == "Cast") for b in report.calls[0].sources[0].breaks] == [(Cause.NON_FLOAT, True), (Cause.NON_FLOAT, False)]
    assert {r.reconnects for r in report.root_causes} == {()}
    assert all("tf.nn.relu(1. - tf.abs(x[..., None]" in r.remedy for r in report.root_causes)
    assert tapetrace.check(step, soft).ok
    tf.debugging.assert_near(soft(v + 0.0), hard(v + 0.0))

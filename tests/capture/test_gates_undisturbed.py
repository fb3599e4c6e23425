"""Probing gates disturbs neither what the user traces and records nor random numbers, and is done seldom."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import Gate
from tests.capture.traced_ops import F32, trace


def test_probing_while_the_user_traces_and_records_changes_nothing() -> None:
    w = tf.Variable([1.0, 2.0, 3.0])
    hidden = tf.Variable([1.0, 2.0, 3.0])
    prober = GateProber()

    def build(x: Any, probing: bool) -> Any:
        @tf.custom_gradient
        def f(v: Any) -> Any:
            return v * 2.0, lambda dy: dy * hidden

        with tf.GradientTape() as tape:
            y = tf.reduce_sum(f(x * w) + tf.random.normal([3]))
            if probing:
                found = [prober.gates_of(op) for op in tf.compat.v1.get_default_graph().get_operations()]
                assert Gate.OPEN in {g for table in found for row in table.rows for g in row}
            watched = [v.ref() for v in tape.watched_variables()]
        assert watched == [w.ref()]
        return y + tf.random.normal([]), tape.gradient(y, w)

    plain, probed = (tf.function(build, autograph=False).get_concrete_function(F32, p).graph for p in (False, True))
    assert prober.probes > 3

    def listing(graph: Any) -> list[Any]:
        return [(op.type, [t.name for t in op.inputs], op.get_attr("seed2") if "Random" in op.type else None) for op in graph.get_operations()]

    assert [x[0] for x in listing(plain)] == [x[0] for x in listing(probed)]
    assert [x[2] for x in listing(plain)] == [x[2] for x in listing(probed)]
    assert [v.ref() for v in probed.variables] == [v.ref() for v in plain.variables]


def test_python_random_numbers_are_not_drawn() -> None:
    import random

    graph = trace(lambda x: tf.nn.softmax(tf.sort(x * 2.0)), F32)
    before = random.getstate(), np.random.get_state()[1].tolist()
    prober = GateProber()
    for op in graph.get_operations():
        prober.gates_of(op)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_a_mobilenet_has_few_signatures() -> None:
    import keras

    model = keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3))

    def forward(x: Any, y: Any) -> Any:
        return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x, training=True)))

    graph = trace(forward, tf.TensorSpec([8, 96, 96, 3]), tf.TensorSpec([8], tf.int64))
    prober = GateProber()
    tables = [prober.gates_of(op) for op in graph.get_operations()]
    assert len(tables) > 2000
    assert not {Gate.UNKNOWN, Gate.UNREGISTERED} & {g for table in tables for row in table.rows for g in row}
    assert prober.probes <= 60

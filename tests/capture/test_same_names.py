"""Variables and tensors of one name: each is a source of its own, in every list and in the drawing."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.graph import Role, Status


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_bare_variables_of_a_list_are_told_apart(mode: Any) -> None:
    weights = [tf.Variable(tf.ones([2])) for _ in range(5)]

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            stopped = tf.add_n([tf.reduce_sum(w * x) for w in weights[:3]])
            loss = tf.stop_gradient(stopped) + tf.reduce_sum(weights[3])
        return tape.gradient(loss, weights)

    found = tapetrace.check(step, tf.ones([2]), mode=mode)
    paths = ["Variable", "Variable (2)", "Variable (3)", "Variable (4)", "Variable (5)"]
    assert [(s.name, s.path) for s in found.calls[0].sources] == [("Variable:0", path) for path in paths]
    assert [(r.blocks, r.reconnects) for r in found.root_causes] == [(tuple(paths[:3]), tuple(paths[:3])), ((paths[4],), ())]
    live = [n.label for n in found.drawing.nodes if n.role is Role.SOURCE and n.status is Status.LIVE]
    assert live == ["Variable (4)"]


def test_a_variable_keeps_its_path_in_every_call() -> None:
    a, b, c = (tf.Variable(1.0) for _ in range(3))

    def step() -> Any:
        with tf.GradientTape(persistent=True) as tape:
            loss = a * b * c
        return tape.gradient(loss, [b]), tape.gradient(loss, [a, b])

    found = tapetrace.check(step)
    assert [[s.label for s in call.sources] for call in found.calls] == [["Variable"], ["Variable (2)", "Variable"]]
    assert [f.path for f in found.not_asked] == ["Variable (3)"]


def test_layers_of_one_name_and_tensors_without_one() -> None:
    layers = [keras.layers.Dense(1, use_bias=False, name="head") for _ in range(2)]

    def step(x: tf.Tensor) -> Any:
        y = 2.0 * x
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            loss = tf.reduce_sum(layers[0](x)) + tf.reduce_sum(tf.round(layers[1](y)))
        return tape.gradient(loss, [x, y, *(layer.kernel for layer in layers)])

    found = tapetrace.check(step, tf.ones([1, 2]), mode="eager")
    assert [s.label for s in found.calls[0].sources] == ["tensor", "tensor (2)", "head/kernel", "head/kernel (2)"]
    assert [r.blocks for r in found.root_causes] == [("tensor (2)", "head/kernel (2)")]

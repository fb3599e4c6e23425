"""Real networks of keras.applications, whole: nothing is broken, and every verdict is held against what TensorFlow hands back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Returned, Verdict

NETWORKS = {
    "MobileNetV2": keras.applications.MobileNetV2,
    "ResNet50": keras.applications.ResNet50,
    "EfficientNetB0": keras.applications.EfficientNetB0,
}
X = tf.TensorSpec([2, 64, 64, 3], tf.float32)
Y = tf.TensorSpec([2], tf.int32)


def step_of(model: keras.Model) -> Callable[..., Any]:
    loss_fn = keras.losses.SparseCategoricalCrossentropy()
    optimizer = keras.optimizers.Adam(1e-3)

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return train_step


@pytest.mark.parametrize("name", NETWORKS)
def test_a_whole_network_is_connected_and_tensorflow_agrees(name: str) -> None:
    model = NETWORKS[name](input_shape=(64, 64, 3), weights=None, classes=10)
    report = tapetrace.check(step_of(model), X, Y)
    (call,) = report.calls
    assert report.ok
    assert [s.path for s in call.sources] == [v.path for v in model.trainable_variables]
    assert {s.verdict for s in call.sources} == {Verdict.CONNECTED}
    assert {s.returned for s in call.sources} == {Returned.TENSOR}
    assert report.agreement.checked == len(model.trainable_variables)
    assert report.agreement.disagreed == ()
    assert (report.root_causes, report.not_asked, report.not_applied, report.error) == ((), (), (), None)


def test_a_compiled_network_with_frozen_layers_as_it_is() -> None:
    model = keras.applications.MobileNetV2(input_shape=(64, 64, 3), weights=None, classes=10)
    for layer in model.layers[:60]:
        layer.trainable = False
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    report = tapetrace.check(model, tf.random.uniform([2, 64, 64, 3]), tf.constant([1, 2]))
    (call,) = report.calls
    assert report.ok
    assert [s.path for s in call.sources] == [v.path for v in model.trainable_variables]
    assert 0 < report.agreement.checked == len(model.trainable_variables) < 158
    assert report.agreement.disagreed == ()

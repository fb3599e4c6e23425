"""Models whose layers are not all there before training, or of which nothing is trained."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import tapetrace
from tapetrace.errors import TargetError

X, Y = np.ones((4, 3), np.float32), np.zeros((4, 1), np.float32)


class WithHelper(keras.Model):
    """A second head that only training uses; so the optimizer must not be built before."""

    def __init__(self) -> None:
        super().__init__()
        self.main, self.helper = layers.Dense(1, name="main"), layers.Dense(1, name="helper")

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.add_loss(tf.reduce_mean(self.helper(x) ** 2))
        return self.main(x)


class WithOwnStep(WithHelper):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
        return {"loss": loss}


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("kind", [WithHelper, WithOwnStep])
def test_a_layer_that_only_training_calls(kind: type[keras.Model], mode: str) -> None:
    model = kind()
    model.compile("adam", "mse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras's, about a layer that it marks as built and did not build
        report = tapetrace.check(model, X, Y, mode=mode)
        assert report.error is None
        assert [s.verdict.value for c in report.calls for s in c.sources] == ["connected"] * 4
        model.fit(X, Y, verbose=0)


def frozen() -> keras.Model:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2), layers.Dense(1)])
    model.trainable = False
    model.compile("adam", "mse")
    return model


@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights")
def test_a_model_of_which_nothing_is_trained_is_refused_with_the_reason() -> None:
    with pytest.raises(TargetError, match="has no trainable weights, so nothing is trained: set `trainable = True`"):
        tapetrace.check(frozen(), X, Y)


def test_a_list_that_is_empty_since_all_is_frozen_is_broken() -> None:
    model = frozen()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        return tape.gradient(loss, model.trainable_variables)

    report = tapetrace.check(step, X)
    assert (report.ok, report.empty) == (False, (0,))

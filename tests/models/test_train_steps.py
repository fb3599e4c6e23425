"""A model's own `train_step` and what it is given, and steps that stand alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import tapetrace
from tests.models.compiled_models import ROWS, TARGETS


class OwnStep(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.out = layers.Dense(1)
        self.mean = keras.metrics.Mean(name="mean")

    def call(self, x: Any) -> Any:
        return self.out(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.mean.update_state(loss)
        return {"mean": self.mean.result()}


def test_own_train_step() -> None:
    made = OwnStep()
    made.compile(optimizer="sgd")
    assert tapetrace.check(made, ROWS, TARGETS).ok


class OnlyStep(keras.Model):
    """A model without ``call``, as a GAN is, whose ``train_step`` is given ``x`` itself."""

    def __init__(self) -> None:
        super().__init__()
        self.net = layers.Dense(4)
        self.seen: list[type] = []

    def train_step(self, data: Any) -> Any:
        self.seen.append(type(data))
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.net(x) - x) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables, strict=True))
        return {"mse": loss}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (lambda: ROWS, tf.Tensor),
        (lambda: tf.data.Dataset.from_tensor_slices(ROWS).batch(2), tf.Tensor),
        (lambda: tf.data.Dataset.from_tensor_slices((ROWS,)).batch(2), tuple),
        (lambda: tf.data.Dataset.from_tensor_slices((ROWS, TARGETS)).batch(2), tuple),
    ],
)
@pytest.mark.filterwarnings("ignore:.*shuffle=True.*:UserWarning")
def test_a_train_step_is_given_what_fit_gives_it(data: Callable[[], Any], kind: type) -> None:
    made, fitted = OnlyStep(), OnlyStep()
    for one in (made, fitted):
        one.compile(optimizer="sgd")
    fitted.fit(data(), verbose=0)
    assert tapetrace.check(made, data()).ok
    assert [issubclass(seen, kind) for seen in (made.seen[-1], fitted.seen[-1])] == [True, True]


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_method_without_its_object(wrapped: bool) -> None:
    class Trainer(tf.Module):
        def step(self, x: Any) -> Any:
            return x

    if wrapped:
        Trainer.step = tf.function(Trainer.step)
    with pytest.raises(tapetrace.TapetraceError) as raised:
        tapetrace.check(Trainer.step, tf.ones([2]))
    assert str(raised.value).endswith("is a method without its object: make one, trainer = Trainer(…), and name trainer.step instead.")


def test_an_eager_step_may_use_arrays_as_arrays() -> None:
    w = tf.Variable(2.0, name="w")

    def train_step(state: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * state.astype("float32"))
        return tape.gradient(loss, [w])

    report = tapetrace.check(train_step, np.arange(3))
    assert (report.ok, report.mode, report.agreement.checked) == (True, "eager", 1)
    with pytest.raises(tapetrace.TapetraceError, match="astype"):
        tapetrace.check(train_step, tf.range(3), mode="eager")

"""Keras in eager runs: layers, models and optimizers, built before the check or by the step itself."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts
from tests.capture.eager_oracle import EagerCase, EagerCases

CASES = case = EagerCases()
X = tf.constant(np.linspace(-1.0, 1.0, 24).reshape(6, 4), tf.float32)
Y = tf.constant(np.linspace(0.1, 0.9, 6).reshape(6, 1), tf.float32)


def small_model(**compiled: Any) -> Any:
    keras.utils.set_random_seed(5)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh", name="one"), keras.layers.Dense(1, name="two")], name="net")
    model.compile(optimizer=keras.optimizers.Adam(0.1), loss="mse", **compiled)
    return model


@case("connected connected connected connected")
def layers_and_an_optimizer() -> Any:
    model = small_model()

    def step(x: tf.Tensor, y: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step, (X, Y)


@case("connected connected none none connected connected")
def a_layer_that_is_not_called() -> Any:
    model = small_model()
    extra = keras.layers.Dense(2, name="extra")
    extra.build((None, 4))

    def step(x: tf.Tensor, y: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        return tape.gradient(loss, [*model.layers[0].trainable_variables, *extra.trainable_variables, *model.layers[1].trainable_variables])

    return step, (X, Y)


@case("connected none none")
def embedding_and_argmax() -> Any:
    keras.utils.set_random_seed(5)
    table, scores = keras.layers.Embedding(4, 3), keras.layers.Dense(4)
    table.build((6,))
    scores.build((6, 4))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(table(tf.argmax(scores(x), axis=1)) ** 2)
        return tape.gradient(loss, [*table.trainable_variables, *scores.trainable_variables])

    return step, (X,)


@case("connected connected connected connected")
def batch_normalization_dropout_and_recurrence() -> Any:
    keras.utils.set_random_seed(5)
    norm, cell = keras.layers.BatchNormalization(), keras.layers.LSTM(2, use_bias=False)
    norm.build((6, 4))
    cell.build((6, 4, 1))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            h = keras.layers.Dropout(0.2, seed=3)(norm(x * x, training=True), training=True)
            loss = tf.reduce_sum(cell(h[:, :, None]) ** 3)
        return tape.gradient(loss, [*norm.trainable_variables, *cell.trainable_variables])

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: EagerCase) -> None:
    one.check()


def test_the_train_step_of_a_model() -> None:
    report = tapetrace.check(small_model(), X, Y, mode="eager")
    assert report.mode == "eager"
    assert [(s.path, s.verdict.value) for s in report.calls[0].sources] == [
        ("net/one/kernel", "connected"), ("net/one/bias", "connected"), ("net/two/kernel", "connected"), ("net/two/bias", "connected"),
    ]  # fmt: skip
    assert report.agreement.checked == 4
    assert report.not_applied == ()


def test_the_train_step_of_a_model_whose_loss_uses_numpy() -> None:
    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = keras.layers.Dense(3, name="inner"), keras.layers.Dense(1, name="outer")

        def call(self, x: Any) -> Any:
            hidden = self.inner(x)
            return self.outer(np.tanh(hidden))  # out

    model = Model()
    model.compile("sgd", "mse", run_eagerly=True)
    model.inner.build((None, 4))
    model.outer.build((None, 3))
    report = tapetrace.check(model, X, Y, mode="eager")
    assert verdicts(report) == "none none connected connected"
    for source in report.calls[0].sources[:2]:
        assert source.cause is Cause.NUMPY_ESCAPE
        assert source.breaks[0].location is not None
        assert source.breaks[0].location.code.endswith("# out")


def test_what_the_step_builds_keeps_the_values_that_it_was_made_with() -> None:
    keras.utils.set_random_seed(5)
    layer = keras.layers.Dense(2, bias_initializer="ones")
    optimizer = keras.optimizers.Adam(0.1)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables, strict=True))

    report = tapetrace.check(step, X, mode="eager")
    assert verdicts(report) == "connected connected"
    assert layer.bias.numpy().tolist() == [1.0, 1.0]
    assert optimizer.iterations.numpy() == 0
    assert all(not np.any(v.numpy()) for v in optimizer.variables[2:])


def test_a_keras_variable_that_the_model_does_not_list() -> None:
    keras.utils.set_random_seed(5)
    layer, hidden = keras.layers.Dense(1), tf.Variable(2.0, name="hidden")
    layer.build((6, 4))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) * hidden)
        return tape.gradient(loss, layer.trainable_variables)

    report = tapetrace.check(step, X, mode="eager")
    assert [f.path for f in report.not_asked] == ["hidden"]


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("trained", [True, False])
def test_a_list_that_was_taken_before_the_model_was_built(mode: str, trained: bool) -> None:
    model = keras.Sequential([keras.layers.Dense(1, name="head", trainable=trained)], name="net")
    variables = list(model.trainable_variables)
    model.build((6, 4))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        return tape.gradient(loss, variables)

    report = tapetrace.check(step, X, mode=mode)
    assert [f.path for f in report.not_asked] == (["net/head/kernel", "net/head/bias"] if trained else [])
    assert (report.empty, report.ok) == ((0,), False)  # also where all is frozen: nothing is trained


def test_a_layer_that_is_made_in_the_step() -> None:
    kept, late = keras.layers.Dense(2), []
    kept.build((6, 4))

    def step(x: tf.Tensor) -> Any:
        late.append(tf.Variable(1.0, name="late"))  # late
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(keras.layers.Dense(1, name="anew")(kept(x)) * late[-1])  # anew
        return tape.gradient(loss, kept.trainable_variables)

    report = tapetrace.check(step, X)
    assert report.mode == "eager"
    found = {f.path: f for f in report.not_asked}
    assert {path: f.location and f.location.code.rpartition("# ")[2] for path, f in found.items()} == {
        "late": "late", "anew/kernel": "anew", "anew/bias": "anew",
    }  # fmt: skip
    assert all(f.remedy.startswith("it is made while the step runs") for f in report.not_asked)


def test_a_gradient_that_nobody_applies() -> None:
    w, v = tf.Variable(1.0, name="w"), tf.Variable(2.0, name="v")
    optimizer = keras.optimizers.SGD(0.1)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = w * v
        dw, _ = tape.gradient(loss, [w, v])
        optimizer.apply_gradients([(dw, w)])

    report = tapetrace.check(step, mode="eager")
    assert [f.path for f in report.not_applied] == ["v"]

"""Keras layers in a step, and Keras models checked as they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import tapetrace
from tapetrace.model.words import Verdict
from tests.capture.cases import verdicts
from tests.capture.oracle import LIVE, ask_tensorflow, contradictions

IMAGES, ROWS, WORDS = (2, 8, 8, 1), (2, 4, 3), (2, 5)


class Cell(layers.Layer):
    """A recurrent cell of the user's, of which one weight is never used."""

    def __init__(self) -> None:
        super().__init__()
        self.state_size = self.output_size = 2

    def build(self, shape: Any) -> None:
        self.kernel = self.add_weight(shape=(shape[-1], 2), name="kernel")
        self.unused = self.add_weight(shape=(2,), name="unused")

    def call(self, x: tf.Tensor, states: Any) -> Any:
        new = tf.tanh(tf.matmul(x, self.kernel) + states[0])
        return new, [new]


def attention() -> keras.Model:
    inputs = keras.Input(ROWS[1:])
    return keras.Model(inputs, layers.MultiHeadAttention(2, 2)(inputs, inputs))


LAYERS: dict[str, tuple[Callable[[], Any], tuple[int, ...], str]] = {
    "dense": (lambda: layers.Dense(2, activation="relu"), ROWS, "connected connected"),
    "convolution": (lambda: layers.Conv2D(2, 3), IMAGES, "connected connected"),
    "transposed convolution": (lambda: layers.Conv2DTranspose(2, 3), IMAGES, "connected connected"),
    "separable convolution": (lambda: layers.SeparableConv2D(2, 3), IMAGES, "connected connected connected"),
    "batch normalization": (layers.BatchNormalization, ROWS, "connected connected"),
    "layer normalization": (layers.LayerNormalization, ROWS, "connected connected"),
    "lstm": (lambda: layers.LSTM(2), ROWS, "connected connected connected"),
    "gru": (lambda: layers.GRU(2, return_sequences=True), ROWS, "connected connected connected"),
    "simple rnn, unrolled": (lambda: layers.SimpleRNN(2, unroll=True), ROWS, "connected connected connected"),
    "bidirectional": (lambda: layers.Bidirectional(layers.LSTM(2)), ROWS, " ".join(["connected"] * 6)),
    "a cell of the user's": (lambda: layers.RNN(Cell()), ROWS, "connected none"),
    "attention": (attention, ROWS, " ".join(["connected"] * 8)),
    "time distributed": (lambda: layers.TimeDistributed(layers.Dense(2)), ROWS, "connected connected"),
    "embedding": (lambda: keras.Sequential([layers.Embedding(9, 3), layers.Dense(1)]), WORDS, "connected connected connected"),
    "masked recurrence": (
        lambda: keras.Sequential([layers.Embedding(9, 3, mask_zero=True), layers.GRU(2)]),
        WORDS,
        "connected connected connected connected",
    ),
    "dropout": (lambda: keras.Sequential([layers.Dense(4), layers.Dropout(0.5), layers.Dense(2)]), ROWS, " ".join(["connected"] * 4)),
    "pooling": (
        lambda: keras.Sequential([layers.Conv2D(2, 3), layers.MaxPooling2D(), layers.GlobalAveragePooling2D()]),
        IMAGES,
        "connected connected",
    ),
    "upsampling and resizing": (
        lambda: keras.Sequential([layers.Conv2D(2, 3), layers.UpSampling2D(interpolation="bilinear"), layers.Resizing(4, 4)]),
        IMAGES,
        "connected connected",
    ),
    "rounded in a lambda": (
        lambda: keras.Sequential([layers.Dense(2), layers.Lambda(tf.round), layers.Dense(1)]),
        ROWS,
        "none none connected connected",
    ),
    "stopped by keras.ops": (
        lambda: keras.Sequential([layers.Dense(2), layers.Lambda(keras.ops.stop_gradient), layers.Dense(1)]),
        ROWS,
        "none none connected connected",
    ),
    "group convolution, prelu": (
        lambda: keras.Sequential([layers.DepthwiseConv2D(3), layers.PReLU(), layers.Flatten(), layers.Dense(1)]),
        IMAGES,
        " ".join(["connected"] * 5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    make, shape, expected = LAYERS[name]
    keras.utils.set_random_seed(1)
    layer = make()
    spec = tf.TensorSpec(shape, tf.int32 if shape is WORDS else tf.float32)
    layer.build(shape)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sin(layer(x, training=True)) ** 2)
        return tape.gradient(y, layer.trainable_variables)

    report = tapetrace.check(step, spec)
    found = contradictions(report, ask_tensorflow(step, [spec]), may_vanish=LIVE if shape is WORDS else frozenset())
    assert not found, "\n".join(found)
    assert verdicts(report) == expected


def compiled(*parts: Any, optimizer: Any = "adam", loss: Any = "mse") -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), *parts])
    model.compile(optimizer=optimizer, loss=loss)
    return model


X, Y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def test_a_compiled_model() -> None:
    model = compiled(layers.Dense(3, activation="relu"), layers.Dense(1))
    before = [w.numpy().copy() for w in model.weights]
    report = tapetrace.check(model, X, Y)
    assert verdicts(report) == "connected connected connected connected"
    assert report.ok
    assert report.agreement.disagreed == ()
    assert all(np.array_equal(a, w.numpy()) for a, w in zip(before, model.weights, strict=True))
    assert int(model.optimizer.iterations.numpy()) == 0


def test_a_compiled_model_with_a_break() -> None:
    model = compiled(layers.Dense(3), layers.Lambda(tf.round), layers.Dense(1))
    assert verdicts(tapetrace.check(model, X, Y)) == "none none connected connected"


def test_a_model_that_was_fitted_is_checked_as_well_and_fits_on() -> None:
    model = compiled(layers.Dense(3), layers.BatchNormalization(), layers.Dense(1))
    model.fit(X, Y, verbose=0)
    report = tapetrace.check(model, X, Y)
    assert verdicts(report) == "connected connected connected connected connected connected"
    model.fit(X, Y, verbose=0)
    assert int(model.optimizer.iterations.numpy()) == 2


def test_a_model_none_of_whose_gradients_exist() -> None:
    model = compiled(layers.Dense(1), layers.Lambda(tf.round))
    report = tapetrace.check(model, X, Y)
    assert verdicts(report) == "none none"
    assert report.error is not None
    assert report.error.type == "ValueError"
    assert "No gradients provided" in report.error.message


def test_a_model_with_its_own_train_step() -> None:
    class Two(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.spare = layers.Dense(1), layers.Dense(1)

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return self.used(x)

        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            variables = [*self.used.trainable_variables, *self.spare.trainable_variables]
            self.optimizer.apply_gradients((g, v) for g, v in zip(tape.gradient(loss, variables), variables, strict=True) if g is not None)
            return {"loss": loss}

    model = Two()
    model.spare.build((None, 4))
    model.compile(optimizer="sgd")
    report = tapetrace.check(model, X, Y)
    assert verdicts(report) == "connected connected none none"


def test_mixed_precision_with_loss_scaling() -> None:
    policy = keras.mixed_precision.Policy("mixed_float16")
    model = compiled(
        layers.Dense(3, dtype=policy),
        layers.Dense(1, dtype=policy),
        optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()),
    )
    report = tapetrace.check(model, X, Y)
    assert verdicts(report) == "connected connected connected connected"
    assert report.agreement.disagreed == ()


def test_losses_metrics_and_regularizers() -> None:
    model = compiled(
        layers.Dense(3, kernel_regularizer="l2", activity_regularizer="l1"), layers.Dense(2, activation="softmax"),
        loss="sparse_categorical_crossentropy",
    )  # fmt: skip
    model.compile("adamw", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False)
    report = tapetrace.check(model, X, np.zeros((8,), "int32"))
    assert [s.verdict for s in report.calls[0].sources] == [Verdict.CONNECTED] * 4


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop", "adagrad", "lion", "ftrl", "nadam"])
def test_optimizers_change_nothing(optimizer: str) -> None:
    model = compiled(layers.Dense(1), optimizer=optimizer)
    report = tapetrace.check(model, X, Y)
    assert verdicts(report) == "connected connected"
    assert report.not_applied == ()

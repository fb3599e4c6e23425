"""Keras models of every make, checked as they are compiled: with a batch, and with nothing but the shapes that they know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

import tapetrace
from tests.models.compiled_models import CLASSES, IMAGES, ROWS, STEPS, TARGETS, WORDS, compiled, dense, sequential, two_outputs

Made = tuple[keras.Model, tuple[Any, ...]]
MODELS: dict[str, Callable[[], Made]] = {}


def model(make: Callable[[], Made]) -> Callable[[], Made]:
    MODELS[make.__name__] = make
    return make


class Penalty(layers.Layer):
    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), name="scale", initializer="ones")

    def call(self, x: Any) -> Any:
        self.add_loss(keras.ops.sum(self.scale**2))
        return x


class Cell(layers.Layer):
    """A recurrent cell of the user's."""

    def __init__(self) -> None:
        super().__init__()
        self.state_size = 3
        self.read, self.keep = layers.Dense(3), layers.Dense(3)

    def build(self, shape: Any) -> None:
        self.read.build(shape)
        self.keep.build((None, 3))
        self.built = True

    def call(self, x: Any, states: Any) -> Any:
        new = keras.ops.tanh(self.read(x) + self.keep(states[0]))
        return new, [new]


@model
def losses_in_a_dict() -> Made:
    return two_outputs(dict, loss={"a": "mse", "b": "mae"}), (ROWS, {"a": TARGETS, "b": np.ones((6, 2))})


@model
def losses_in_a_list() -> Made:
    return two_outputs(list, loss=["mse", "mae"], loss_weights=[1.0, 0.5]), (ROWS, [TARGETS, np.ones((6, 2))])


@model
def added_losses_and_regularizers() -> Made:
    return sequential(keras.Input((4,)), Penalty(), layers.Dense(1, kernel_regularizer="l2", activity_regularizer="l1")), (ROWS, TARGETS)


@model
def masked_words() -> Made:
    parts = keras.Input((5,), dtype="int32"), layers.Embedding(10, 4, mask_zero=True), layers.LSTM(3), layers.Dense(3, activation="softmax")
    return sequential(*parts, loss="sparse_categorical_crossentropy", metrics=["accuracy"]), (WORDS, CLASSES)


@model
def words_as_floats() -> Made:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return sequential(keras.Input((5,)), layers.Embedding(10, 4), layers.Flatten(), layers.Dense(3), loss=loss), (WORDS, CLASSES)


@model
def recurrent_both_ways() -> Made:
    parts = layers.Masking(), layers.Bidirectional(layers.GRU(2, return_sequences=True)), layers.TimeDistributed(layers.Dense(2))
    return sequential(keras.Input((5, 3)), *parts, layers.GlobalAveragePooling1D(), layers.Dense(1)), (STEPS, TARGETS)


@model
def recurrent_without_cudnn() -> Made:
    return sequential(keras.Input((5, 3)), layers.LSTM(2, recurrent_dropout=0.2, use_cudnn=False), layers.Dense(1)), (STEPS, TARGETS)


@model
def recurrent_unrolled() -> Made:
    return sequential(keras.Input((5, 3)), layers.LSTM(2, unroll=True), layers.Dense(1)), (STEPS, TARGETS)


@model
def own_recurrent_cell() -> Made:
    return sequential(keras.Input((5, 3)), layers.RNN(Cell()), layers.Dense(1)), (STEPS, TARGETS)


@model
def attention() -> Made:
    inputs = keras.Input((5, 3))
    x = layers.MultiHeadAttention(2, 2)(inputs, inputs)
    x = layers.LayerNormalization()(layers.Attention(use_scale=True)([x, x]))
    return compiled(keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))), (STEPS, TARGETS)


@model
def convolution() -> Made:
    parts = layers.Conv2D(2, 3), layers.BatchNormalization(), layers.ReLU(), layers.SeparableConv2D(2, 3), layers.GlobalAveragePooling2D()
    loss = "categorical_crossentropy"
    made = sequential(keras.Input((8, 8, 3)), layers.RandomFlip(), *parts, layers.Dense(3, activation="softmax"), loss=loss)
    return made, (IMAGES, keras.utils.to_categorical(CLASSES, 3))


@model
def compiled_by_xla() -> Made:
    return dense(jit_compile=True), (ROWS, TARGETS)


@model
def several_steps_an_execution() -> Made:
    return dense(steps_per_execution=3), (ROWS, TARGETS)


@model
def run_eagerly() -> Made:
    return dense(run_eagerly=True), (ROWS, TARGETS)


@model
def mixed_precision() -> Made:
    half = keras.mixed_precision.DTypePolicy("mixed_float16")
    parts = keras.Input((4,)), layers.Dense(3, dtype=half), layers.Dense(1, dtype=half)
    return sequential(*parts, optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())), (ROWS, TARGETS)


@model
def averaged_weights() -> Made:
    return dense(optimizer=keras.optimizers.Adam(use_ema=True, clipnorm=1.0, weight_decay=0.01)), (ROWS, TARGETS)


@model
def accumulated_gradients() -> Made:
    return dense(optimizer=keras.optimizers.Adam(gradient_accumulation_steps=3, global_clipnorm=1.0)), (ROWS, TARGETS)


@model
def sample_weights() -> Made:
    return dense(weighted_metrics=["mae"]), (ROWS, TARGETS, np.ones(6, "float32"))


@model
def inputs_in_a_dict() -> Made:
    inputs = {"u": keras.Input((4,), name="u"), "v": keras.Input((4,), name="v")}
    return compiled(keras.Model(inputs, layers.Dense(1)(layers.Concatenate()([inputs["u"], inputs["v"]])))), ({"u": ROWS, "v": ROWS}, TARGETS)


@model
def loss_as_a_function() -> Made:
    return dense(loss=lambda y, p: keras.ops.mean((y - p) ** 2)), (ROWS, TARGETS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("given", ["a batch", "nothing"])
def test_every_variable_gets_gradient(name: str, given: str) -> None:
    made, data = MODELS[name]()
    report = tapetrace.check(made, *(data if given == "a batch" else ()))
    (call,) = report.calls
    assert report.ok
    assert report.mode == "graph"
    assert [s.path for s in call.sources] == [v.path for v in made.trainable_variables]
    assert report.agreement.checked == len(call.sources)
    assert (report.agreement.disagreed, report.not_asked, report.not_applied, report.notes) == ((), (), (), ())


@pytest.mark.parametrize("name", ["dense", "masked_words", "own_recurrent_cell"])
@pytest.mark.parametrize("options", [{"mode": "eager"}, {"numeric": True}, {"verify": False}])
def test_every_way_of_asking(name: str, options: dict[str, Any]) -> None:
    made, data = MODELS[name]() if name in MODELS else (dense(), (ROWS, TARGETS))
    report = tapetrace.check(made, *data, **options)
    assert not [s for s in report.calls[0].sources if s.verdict.is_broken and s.cause is not tapetrace.Cause.NUMERICALLY_ZERO]
    assert report.error is None

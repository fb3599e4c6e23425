"""Keras models of every make, checked as they are compiled: with a batch, and with nothing but the shapes that they know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import tapetrace
from tapetrace.model.report import Report

R = np.random.default_rng(0)
ROWS, TARGETS = R.normal(size=(6, 4)).astype("float32"), R.normal(size=(6, 1)).astype("float32")
WORDS, STEPS, IMAGES = R.integers(0, 10, (6, 5)), R.normal(size=(6, 5, 3)).astype("float32"), R.normal(size=(6, 8, 8, 3)).astype("float32")
CLASSES = R.integers(0, 3, (6,))

Made = tuple[keras.Model, tuple[Any, ...]]
MODELS: dict[str, Callable[[], Made]] = {}


def model(make: Callable[[], Made]) -> Callable[[], Made]:
    MODELS[make.__name__] = make
    return make


def compiled(one: keras.Model, **options: Any) -> keras.Model:
    one.compile(**{"optimizer": "adam", "loss": "mse", **options})
    return one


def sequential(*parts: Any, **options: Any) -> keras.Model:
    return compiled(keras.Sequential(list(parts)), **options)


def dense(**options: Any) -> keras.Model:
    return sequential(keras.Input((4,)), layers.Dense(3, activation="relu"), layers.Dense(1), **options)


def two_outputs(outputs: Any, **options: Any) -> keras.Model:
    inputs = keras.Input((4,))
    hidden = layers.Dense(3, name="h")(inputs)
    a, b = layers.Dense(1, name="a")(hidden), layers.Dense(2, name="b")(hidden)
    return compiled(keras.Model(inputs, {"a": a, "b": b} if outputs is dict else [a, b]), **options)


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


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = layers.Dense(3, name="hidden"), layers.Dense(1, name="out")

    def call(self, x: Any, training: bool = False) -> Any:
        return self.out(self.hidden(x))


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


@pytest.mark.parametrize("outputs", [dict, list])
@pytest.mark.parametrize("given", ["a batch", "nothing"])
def test_an_output_without_a_loss(outputs: Any, given: str) -> None:
    made = two_outputs(outputs, loss={"a": "mse"} if outputs is dict else ["mse", None])
    targets = {"a": TARGETS} if outputs is dict else [TARGETS, np.ones((6, 2))]
    report = tapetrace.check(made, *((ROWS, targets) if given == "a batch" else ()))
    assert [path.source.path for path in report.broken] == ["b/kernel", "b/bias"]
    assert report.error is None


def test_frozen_layers_are_neither_broken_nor_missing() -> None:
    made = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="still"), layers.Dense(1, name="out")], name="net")
    made.layers[0].trainable = False
    report = tapetrace.check(compiled(made), ROWS, TARGETS)
    assert [s.path for s in report.calls[0].sources] == ["net/out/kernel", "net/out/bias"]
    assert (report.ok, report.not_asked) == (True, ())


@pytest.mark.parametrize("built", [True, False])
def test_subclassed_models(built: bool) -> None:
    made = compiled(Subclassed())
    if built:
        made(ROWS)
    report = tapetrace.check(made, ROWS, TARGETS)
    assert report.ok
    assert [s.path for s in report.calls[0].sources] == [v.path for v in made.trainable_variables]
    assert len(made.trainable_variables) == 4


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


def test_sequential_that_was_not_built() -> None:
    assert tapetrace.check(sequential(layers.Dense(3), layers.Dense(1)), ROWS, TARGETS).ok


class Batches(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return ROWS[:3], TARGETS[:3]


@pytest.mark.parametrize(
    "data",
    [
        lambda: tf.data.Dataset.from_tensor_slices((ROWS, TARGETS)).batch(2),
        Batches,
        lambda: iter([(ROWS, TARGETS)]),
        lambda: tf.data.Dataset.from_tensor_slices((ROWS, TARGETS, np.ones(6))).batch(2),
    ],
)
def test_sources_of_batches(data: Callable[[], Any]) -> None:
    assert tapetrace.check(dense(), data()).ok


def test_class_weights() -> None:
    made = sequential(keras.Input((4,)), layers.Dense(3, activation="softmax"), loss="sparse_categorical_crossentropy")
    assert tapetrace.check(made, ROWS, CLASSES, class_weight={0: 1.0, 1: 2.0, 2: 0.0}).ok
    report = tapetrace.check(made, ROWS, CLASSES, class_weight={0: 0.0, 1: 0.0, 2: 0.0}, numeric=True)
    assert {s.cause for s in report.calls[0].sources} == {tapetrace.Cause.NUMERICALLY_ZERO}


def test_a_loss_that_cuts_everything() -> None:
    report = tapetrace.check(dense(loss=lambda y, p: keras.ops.mean(keras.ops.round(p) - y)), ROWS, TARGETS)
    assert len(report.broken) == 4
    assert report.error is not None
    assert report.error.message.startswith("No gradients provided for any variable")


def test_check_leaves_the_model_as_fit_finds_it() -> None:
    def train(checked: bool) -> list[float]:
        keras.utils.set_random_seed(5)
        made = dense()
        if checked:
            assert tapetrace.check(made, ROWS, TARGETS).ok
        fitted: list[float] = made.fit(ROWS, TARGETS, epochs=2, verbose=0).history["loss"]
        return fitted

    assert train(True) == train(False)


def uncompiled() -> keras.Model:
    return keras.Sequential([keras.Input((4,)), layers.Dense(1)], name="net")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: tapetrace.check(uncompiled(), ROWS, TARGETS), "The model net is not compiled: call net.compile(optimizer=…, loss=…) before"),
        (lambda: tapetrace.check(compiled(Subclassed())), "does not say what shape its data has: give a batch"),
        (lambda: tapetrace.check(compiled(uncompiled()), ROWS, TARGETS, None, 3), "was given 4 arguments: check(net, x, y, sample_weight) takes"),
        (lambda: tapetrace.check(compiled(uncompiled()), ROWS, TARGETS, batch_size=3), "The model net cannot be given 'batch_size'"),
        (lambda: tapetrace.check(compiled(uncompiled()), ROWS, x=ROWS), "The model net was given 'x' twice"),
        (lambda: tapetrace.check(compiled(Subclassed()), np.ones((2, 4, 4, 4, 0), "float32"), TARGETS), "be built from this batch"),
        (lambda: tapetrace.check(compiled(uncompiled()), tf.data.Dataset.from_tensor_slices(ROWS[:0]).batch(2)), "The data set is empty"),
    ],
)
def test_what_cannot_be_checked(ask: Callable[[], Report], sentence: str) -> None:
    with pytest.raises(tapetrace.TapetraceError) as raised:
        ask()
    assert sentence in str(raised.value)

"""Nothing is found where nothing is wrong: each layer, loss and optimizer of Keras in a small healthy step, held against what TensorFlow returns."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report
from tapetrace.model.words import Verdict

MATRIX, SEQUENCE, IMAGE, VOLUME = (4, 6), (2, 8, 6), (2, 8, 8, 3), (1, 8, 8, 8, 2)
SHAPES: dict[str, tuple[int, ...]] = {"1D": SEQUENCE, "2D": IMAGE, "3D": VOLUME}

NEEDS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "Bidirectional": ({"layer": keras.layers.LSTM(3)}, SEQUENCE),
    "CategoryEncoding": ({"num_tokens": 6}, MATRIX),
    "ConvLSTM1D": ({"filters": 2, "kernel_size": 2}, (2, 3, 8, 2)),
    "ConvLSTM2D": ({"filters": 2, "kernel_size": 2}, (2, 3, 8, 8, 2)),
    "ConvLSTM3D": ({"filters": 2, "kernel_size": 2}, (1, 3, 4, 4, 4, 2)),
    "Dense": ({"units": 3}, MATRIX),
    "Dot": ({"axes": 1}, MATRIX),
    "Dropout": ({"rate": 0.4}, MATRIX),
    "EinsumDense": ({"equation": "ab,bc->ac", "output_shape": 3}, MATRIX),
    "Embedding": ({"input_dim": 9, "output_dim": 3}, MATRIX),
    "Flatten": ({}, IMAGE),
    "GRU": ({"units": 3}, SEQUENCE),
    "GaussianDropout": ({"rate": 0.4}, MATRIX),
    "GaussianNoise": ({"stddev": 0.1}, MATRIX),
    "GroupNormalization": ({"groups": 3}, MATRIX),
    "GroupQueryAttention": ({"head_dim": 3, "num_query_heads": 2, "num_key_value_heads": 1}, SEQUENCE),
    "Lambda": ({"function": lambda x: x * 2.0}, MATRIX),
    "LSTM": ({"units": 3}, SEQUENCE),
    "MultiHeadAttention": ({"num_heads": 2, "key_dim": 3}, SEQUENCE),
    "Permute": ({"dims": (2, 1)}, SEQUENCE),
    "RNN": ({"cell": keras.layers.GRUCell(3)}, SEQUENCE),
    "RepeatVector": ({"n": 2}, MATRIX),
    "Reshape": ({"target_shape": (3, 2)}, MATRIX),
    "SimpleRNN": ({"units": 3}, SEQUENCE),
    "SpectralNormalization": ({"layer": keras.layers.Dense(3)}, MATRIX),
    "TimeDistributed": ({"layer": keras.layers.Dense(3)}, SEQUENCE),
    "AlphaDropout": ({"rate": 0.4}, MATRIX),
    "ActivityRegularization": ({"l2": 0.1}, MATRIX),
    "Activation": ({"activation": "tanh"}, MATRIX),
}
SEVERAL = {"Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract", "Attention", "AdditiveAttention"}
"""Layers of two inputs."""

CALLED_TWICE = {"MultiHeadAttention", "GroupQueryAttention"}
"""Layers that are called with a query and a value."""

OF_DATA = {
    "CategoryEncoding", "Discretization", "HashedCrossing", "Hashing", "IntegerLookup", "Normalization", "StringLookup", "TextVectorization",
    "MelSpectrogram", "STFTSpectrogram", "AutoContrast", "CenterCrop", "ContrastLimitedAdaptiveHistogramEqualization", "Equalization",
    "MaxNumBoundingBoxes", "Rescaling", "Resizing", "Solarization",
}  # fmt: skip
"""Layers that prepare data, in front of everything that is trained."""

NOT_ALONE = {
    "Layer", "Wrapper", "InputLayer", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper", "StackedRNNCells", "LSTMCell", "GRUCell",
    "SimpleRNNCell", "Pipeline", "RandomElasticTransform", "AugMix", "CutMix", "MixUp", "RandAugment", "ReversibleEmbedding",
}  # fmt: skip
"""Base classes, cells (tried inside `RNN`), layers of other backends, and layers that augment labelled batches."""


def layers() -> list[str]:
    found = {name for name, kind in vars(keras.layers).items() if inspect.isclass(kind) and issubclass(kind, keras.layers.Layer)}
    return sorted(n for n in found - OF_DATA - NOT_ALONE if not n.startswith("Random"))


def made(name: str) -> tuple[Any, tuple[int, ...]]:
    kind = getattr(keras.layers, name)
    options, shape = NEEDS.get(name, ({}, MATRIX))
    if name not in NEEDS:
        dimension = next((d for d in SHAPES if d in name), "")
        shape = SHAPES.get(dimension, MATRIX)
        needed = inspect.signature(kind.__init__).parameters
        wanted = {"filters": 4, "kernel_size": 3, "pool_size": 2, "rate": 0.4, "output_size": 2}
        options = {k: v for k, v in wanted.items() if k in needed and needed[k].default is inspect.Parameter.empty}
    return kind(**options), shape


def agreed(report: Report) -> list[str]:
    """The sources that are not connected; whatever else is wrong with the report fails."""
    assert report.agreement.disagreed == ()
    assert report.agreement.checked > 0
    assert (report.error, report.not_asked, report.not_applied, report.unexpected) == (None, (), (), ())
    return [s.label for c in report.calls for s in c.sources if s.verdict is not Verdict.CONNECTED]


@pytest.mark.parametrize("name", layers())
def test_a_layer(name: str) -> None:
    """A variable in front of it and all of its weights are connected, just those for which TensorFlow returns a gradient other than zero."""
    layer, shape = made(name)
    front = tf.Variable(1.0, name="front")
    x = tf.random.stateless_uniform(shape, (1, 2), -0.9, 0.9)
    ids = tf.cast(tf.abs(x) * 8.0, tf.int32)

    def output(scale: Any) -> Any:
        if name == "Embedding":
            return layer(ids) * scale
        given = x * scale
        if name in SEVERAL:
            return layer([given, given * 0.5 + 0.1])
        if name in CALLED_TWICE:
            return layer(given, given)
        return layer(given)

    output(tf.constant(1.0))

    def step() -> Any:
        with tf.GradientTape() as tape:
            y = output(front)
            loss = tf.add_n([tf.reduce_sum(t * tf.cos(t)) for t in tf.nest.flatten(y)]) + sum(layer.losses)
        return tape.gradient(loss, [front, *layer.trainable_variables])

    dead = agreed(tapetrace.check(step))
    tape_says = step()
    labels = ["front", *(v.path for v in layer.trainable_variables)]
    for label, gradient in zip(labels, tape_says, strict=True):
        live = not any(label.endswith(d) or d.endswith(label) for d in dead)
        number = None if gradient is None else float(tf.norm(tf.convert_to_tensor(gradient)))
        assert live == bool(number), f"{label}: {number}"


def losses() -> list[str]:
    found = [n for n, k in vars(keras.losses).items() if inspect.isclass(k) and issubclass(k, keras.losses.Loss) and n != "Loss"]
    return sorted({getattr(keras.losses, n).__name__ for n in found})


@pytest.mark.parametrize("name", losses())
def test_a_loss(name: str) -> None:
    logits = tf.Variable(tf.random.stateless_uniform([3, 4], (3, 4), 0.1, 0.9), name="logits")
    loss = getattr(keras.losses, name)()
    truth: Any = tf.one_hot([1, 2, 0], 4)
    if "Sparse" in name or name == "CategoricalGeneralizedCrossEntropy":
        truth = tf.constant([1, 2, 0])
    if name == "Circle":
        truth = tf.constant([0, 0, 1])

    def step() -> Any:
        with tf.GradientTape() as tape:
            predicted = tf.nn.softmax(logits) if "Crossentropy" in name or "KL" in name else logits
            if name == "CTC":
                value = loss(tf.constant([[1, 2], [2, 1]]), tf.stack([logits, logits * 0.5]))
            elif name in ("Dice", "Tversky", "GeneralizedDice"):
                value = loss(truth[None, :, :, None], tf.sigmoid(predicted)[None, :, :, None])
            elif name == "Circle":
                value = loss(truth, tf.math.l2_normalize(predicted, axis=1))
            else:
                value = loss(truth, predicted)
        return tape.gradient(value, [logits])

    assert agreed(tapetrace.check(step)) == []


def optimizers() -> list[str]:
    found = [n for n, k in vars(keras.optimizers).items() if inspect.isclass(k) and issubclass(k, keras.optimizers.Optimizer)]
    return sorted(set(found) - {"Optimizer", "LossScaleOptimizer", "MultiOptimizer"})


@pytest.mark.parametrize("name", optimizers())
@pytest.mark.parametrize("extra", [{}, {"use_ema": True, "clipnorm": 1.0}, {"gradient_accumulation_steps": 2}], ids=["plain", "ema", "accumulating"])
def test_an_optimizer(name: str, extra: dict[str, Any]) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
    optimizer: Any = getattr(keras.optimizers, name)(**extra)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        return loss

    assert agreed(tapetrace.check(step, tf.ones([5, 3]), tf.ones([5, 1]))) == []


def test_every_layer_is_tried_or_named() -> None:
    """A layer that is new in Keras appears here by itself."""
    assert len(layers()) > 75
    assert [n for n in NEEDS if not hasattr(keras.layers, n)] == []

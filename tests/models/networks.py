"""Networks of several kinds, small enough to be traced in seconds, and the steps that train them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

layers = keras.layers
BATCH = 2

LOGITS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
SQUARES = keras.losses.MeanSquaredError()


@dataclass(frozen=True)
class Network:
    """``build`` makes a functional model that has one input and one output; ``loss`` compares a target of spec ``y`` with the output."""

    name: str
    build: Callable[[], keras.Model]
    x: tf.TensorSpec
    y: tf.TensorSpec
    loss: Any


def _mobilenet() -> keras.Model:
    return keras.applications.MobileNetV2(input_shape=(64, 64, 3), alpha=0.35, weights=None, classes=10, classifier_activation=None)


def _resnet() -> keras.Model:
    """Three stages of two bottlenecks each, built as ResNet50 is."""
    x = image = layers.Input((32, 32, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    for width, stride in ((8, 1), (16, 2), (32, 2)):
        for block in range(2):
            shortcut = x
            if block == 0:
                shortcut = layers.BatchNormalization()(layers.Conv2D(4 * width, 1, strides=stride)(x))
            y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(width, 1, strides=stride if block == 0 else 1)(x)))
            y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(y)))
            y = layers.BatchNormalization()(layers.Conv2D(4 * width, 1)(y))
            x = layers.ReLU()(layers.Add()([shortcut, y]))
    return keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)), name="resnet")


def _lstm() -> keras.Model:
    words = layers.Input((6,), dtype="int32")
    x = layers.Embedding(50, 8)(words)
    x = layers.LSTM(8, return_sequences=True)(x)
    x = layers.LayerNormalization()(x)
    x = layers.Bidirectional(layers.LSTM(8))(x)
    return keras.Model(words, layers.Dense(10)(layers.Dense(12, activation="tanh")(x)), name="lstm")


def _transformer() -> keras.Model:
    words = layers.Input((6,), dtype="int32")
    x = layers.Embedding(50, 16)(words)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(2, 8)(y, y)])
        y = layers.Dense(16)(layers.Dense(32, activation="gelu")(layers.LayerNormalization()(x)))
        x = layers.Add()([x, y])
    return keras.Model(words, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)), name="transformer")


def _unet() -> keras.Model:
    x = image = layers.Input((16, 16, 3))
    skips = []
    for width in (4, 8):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    for width in (8, 4):
        x = layers.Conv2DTranspose(width, 2, strides=2)(x)
        x = layers.Concatenate()([x, skips.pop()])
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    return keras.Model(image, layers.Conv2D(3, 1)(x), name="unet")


def _spec(*shape: int, dtype: Any = tf.float32) -> tf.TensorSpec:
    return tf.TensorSpec([BATCH, *shape], dtype)


_LABELS = _spec(dtype=tf.int32)

NETWORKS = {
    n.name: n
    for n in (
        Network("mobilenet", _mobilenet, _spec(64, 64, 3), _LABELS, LOGITS),
        Network("resnet", _resnet, _spec(32, 32, 3), _LABELS, LOGITS),
        Network("lstm", _lstm, _spec(6, dtype=tf.int32), _LABELS, LOGITS),
        Network("transformer", _transformer, _spec(6, dtype=tf.int32), _LABELS, LOGITS),
        Network("unet", _unet, _spec(16, 16, 3), _spec(16, 16, 3), SQUARES),
    )
}


def build_generator() -> keras.Model:
    x = noise = layers.Input((8,))
    x = layers.Reshape((4, 4, 8))(layers.Dense(128)(x))
    for width in (8, 4):
        x = layers.LeakyReLU()(layers.BatchNormalization()(layers.Conv2DTranspose(width, 3, strides=2, padding="same")(x)))
    return keras.Model(noise, layers.Conv2D(3, 3, padding="same", activation="tanh")(x), name="generator")


def build_discriminator() -> keras.Model:
    x = image = layers.Input((16, 16, 3))
    for width in (4, 8):
        x = layers.LeakyReLU()(layers.Conv2D(width, 3, strides=2, padding="same")(x))
    return keras.Model(image, layers.Dense(1)(layers.Flatten()(x)), name="discriminator")

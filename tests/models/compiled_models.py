"""Small compiled models of Keras, and data for them."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import layers

R = np.random.default_rng(0)
ROWS, TARGETS = R.normal(size=(6, 4)).astype("float32"), R.normal(size=(6, 1)).astype("float32")
WORDS, STEPS, IMAGES = R.integers(0, 10, (6, 5)), R.normal(size=(6, 5, 3)).astype("float32"), R.normal(size=(6, 8, 8, 3)).astype("float32")
CLASSES = R.integers(0, 3, (6,))


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


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = layers.Dense(3, name="hidden"), layers.Dense(1, name="out")

    def call(self, x: Any, training: bool = False) -> Any:
        return self.out(self.hidden(x))


def uncompiled() -> keras.Model:
    return keras.Sequential([keras.Input((4,)), layers.Dense(1)], name="net")

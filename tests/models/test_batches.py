"""Where the batches of a model come from, and the weights of its classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import tapetrace
from tests.models.compiled_models import CLASSES, ROWS, TARGETS, dense, sequential


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

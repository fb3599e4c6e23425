"""Models that are broken, frozen, subclassed or not built, and those that cannot be checked."""

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
from tests.models.compiled_models import ROWS, TARGETS, Subclassed, compiled, dense, sequential, two_outputs, uncompiled


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


def test_sequential_that_was_not_built() -> None:
    assert tapetrace.check(sequential(layers.Dense(3), layers.Dense(1)), ROWS, TARGETS).ok


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

"""A check or a watch inside another, inside a tape, a traced function or a callback of Keras."""

from __future__ import annotations

import traceback
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tests.proof.hostile_steps import W, X, broken, healthy
from tests.proof.process_state import differences, process_state
from tests.proof.ways import verdicts

pytestmark = pytest.mark.usefixtures("made_on_first_use")


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_a_check_inside_the_step_of_another(mode: str) -> None:
    inner: list[str] = []
    functions: list[str] = []

    def looking(x: Any) -> Any:
        functions.extend(frame.name for frame in traceback.extract_stack())
        return broken(x)

    def step(x: Any) -> Any:
        inner.append(verdicts(tapetrace.check(looking, X)))
        return healthy(x)

    before = process_state()
    assert verdicts(tapetrace.check(step, X, mode=mode)) == "connected"
    assert set(inner) == {"none"}
    assert differences(before, process_state()) == []
    assert "check" in functions
    assert "tf__check" not in functions  # what AutoGraph would have made of our own code


def test_a_check_inside_a_tape_and_inside_a_traced_function() -> None:
    found: list[str] = []

    @tf.function
    def traced(x: Any) -> Any:
        found.append(verdicts(tapetrace.check(broken, X, mode="graph")))
        return healthy(x)

    with tf.GradientTape() as tape:
        y = W * X
        found.append(verdicts(tapetrace.check(healthy, X, mode="eager")))
    assert np.array_equal(tape.gradient(y, W), X)
    assert np.array_equal(traced(X), X)
    assert found == ["connected", "none"]


def test_a_watch_inside_a_checked_step_and_inside_a_traced_function() -> None:
    seen: list[Any] = []

    def step(x: Any) -> Any:
        with tapetrace.watch() as watched:
            gradient = healthy(x)
        seen.append(watched)
        return gradient

    before = process_state()
    assert [verdicts(tapetrace.check(step, X, mode=m)) for m in ("graph", "eager")] == ["connected"] * 2
    seen.clear()
    assert np.array_equal(tf.function(step)(X), X)
    assert verdicts(seen[0].report) == "connected"
    assert differences(before, process_state()) == []


def test_nested_watches_and_a_check_inside() -> None:
    with tapetrace.watch() as outer:
        healthy(X)
        with tapetrace.watch() as inner:
            broken(X)
            assert verdicts(tapetrace.check(healthy, X, mode="graph")) == "connected"
    assert verdicts(inner.report) == "none"
    assert verdicts(outer.report) == "connected none"


def test_callbacks_that_raise_and_callbacks_that_check() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")

    class Raises(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            raise ValueError("from the callback")

    class Checks(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_begin(self, logs: Any = None) -> None:
            self.report = tapetrace.check(self.model, tf.ones([2, 3]), tf.ones([2, 2]))

    watched, raises, checks = tapetrace.watch(), Raises(), Checks()
    with pytest.raises(ValueError, match="from the callback"), watched:
        model.fit(tf.ones([2, 3]), tf.ones([2, 2]), verbose=0, callbacks=[raises])
    assert verdicts(watched.report) == "connected connected"
    assert watched.report.error is not None
    assert watched.report.error.type == "ValueError"
    model.train_function = None
    with tapetrace.watch() as again:
        model.fit(tf.ones([2, 3]), tf.ones([2, 2]), verbose=0, callbacks=[checks])
    assert (verdicts(checks.report), verdicts(again.report)) == ("connected connected",) * 2

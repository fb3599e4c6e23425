"""``watch`` changes nothing: numbers are the same to the bit, and all of TensorFlow is put back, in whichever order watches end."""

from __future__ import annotations

import contextlib
import random
import threading
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.capture import private
from tapetrace.capture.patches import Patches
from tests.capture.cases import verdicts

X = tf.constant([1.0, 2.0])


def patched_owners() -> list[Any]:
    return [private.GradientTape, private.gradients_util, private.fast_path, private.record, private.Function, tf.autodiff.ForwardAccumulator]


def attributes() -> list[dict[str, int]]:
    return [{name: id(value) for name, value in vars(owner).items()} for owner in patched_owners()]


def eager_loop() -> list[Any]:
    w, b = tf.Variable(tf.random.normal([4, 3])), tf.Variable(tf.zeros([3]))
    dropout, optimizer = keras.layers.Dropout(0.4), keras.optimizers.Adam(0.01)
    losses = []
    for _ in range(5):
        x = tf.random.normal([5, 4])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((dropout(tf.nn.relu(x @ w + b), training=True) + tf.random.uniform([5, 3])) ** 2)
        gradients = tape.gradient(loss, [w, b])
        optimizer.apply_gradients(zip(gradients, [w, b], strict=True))
        losses.append(loss.numpy())
    return [*losses, *w.numpy().ravel()]


def function_loop() -> list[Any]:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            for _ in tf.range(2):
                x = x + tf.random.normal(tf.shape(x), stddev=0.1)
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    losses = [train(tf.random.normal([6, 4]), tf.random.normal([6, 1])).numpy() for _ in range(4)]
    return [*losses, *model.get_weights()[0].ravel()]


def fit() -> list[Any]:
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.BatchNormalization(), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    history = model.fit(np.random.rand(22, 4), np.random.rand(22, 1), batch_size=4, epochs=2, verbose=0).history["loss"]
    return [*history, *model.get_weights()[0].ravel()]


@pytest.mark.parametrize("train", [eager_loop, function_loop, fit])
def test_the_same_numbers_to_the_bit(train: Any) -> None:
    def numbers() -> list[Any]:
        keras.utils.set_random_seed(7)
        return [*train(), *tf.random.normal([2]).numpy(), random.random(), np.random.rand()]

    before = numbers()
    with tapetrace.watch() as seen:
        looked_at = numbers()
    assert looked_at in (before, numbers())  # on a busy machine two runs of TensorFlow alone may differ in the last bit
    assert seen.report.ok


def step() -> Any:
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * X)
    return tape.gradient(loss, w)


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, SystemExit])
def test_everything_is_put_back(error: type[BaseException] | None) -> None:
    with tapetrace.watch():
        step()
    before, callbacks = attributes(), list(private.trace_callbacks)
    with contextlib.nullcontext() if error is None else pytest.raises(error), tapetrace.watch() as seen:
        step()
        if error is not None:
            raise error("for the test")
    assert (attributes(), private.trace_callbacks) == (before, callbacks)
    assert verdicts(seen.report) == "connected"
    assert (seen.report.error is not None) is (error is ValueError)
    assert any("interrupted" in note for note in seen.report.notes) is (error is KeyboardInterrupt)


def test_watches_of_two_threads_may_end_in_any_order() -> None:
    before = attributes()
    begun, ended = threading.Event(), threading.Event()
    reports = []

    def other() -> None:
        with tapetrace.watch() as seen:
            begun.set()
            step()
            assert ended.wait(60)
            step()
        reports.append(seen.report)

    thread = threading.Thread(target=other)
    with tapetrace.watch() as seen:
        thread.start()
        assert begun.wait(60)
        step()
    assert attributes() != before
    ended.set()
    thread.join()
    assert attributes() == before
    assert seen.report.ok
    assert len(reports) == 1
    assert reports[0].ok


def test_patches_may_come_off_in_any_order() -> None:
    class Owner:
        def name(self) -> str:
            return "original"

    def adding(letter: str) -> Any:
        return lambda original: lambda self: original(self) + letter

    original = vars(Owner)["name"]
    patches = [Patches() for _ in range(3)]
    for letter, one in zip("abc", patches, strict=True):
        one.wrap(Owner, "name", adding(letter))
    assert Owner().name() == "originalabc"
    patches[1].undo()
    assert Owner().name() == "originalac"
    patches[0].undo()
    assert Owner().name() == "originalc"
    patches[2].undo()
    assert vars(Owner)["name"] is original


def test_an_inherited_attribute_is_inherited_again() -> None:
    class Base:
        def name(self) -> str:
            return "base"

    class Derived(Base):
        pass

    with Patches() as patches:
        patches.wrap(Derived, "name", lambda original: lambda self: original(self) + "!")
        assert Derived().name() == "base!"
    assert "name" not in vars(Derived)


def test_a_fault_of_ours_leaves_the_program_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapetrace.capture.recorder import Recorder

    def fail(*args: Any) -> None:
        raise RuntimeError("a fault of tapetrace")

    monkeypatch.setattr(Recorder, "_watched", fail)
    with tapetrace.watch() as seen:
        assert step().numpy().tolist() == [1.0, 2.0]
        assert tf.function(lambda x: tf.gradients(x * x, x)[0])(X).numpy().tolist() == [2.0, 4.0]
    assert "a fault of tapetrace" in seen.report.notes[0]
    assert verdicts(seen.report) == "connected"


def test_nothing_of_the_program_is_kept_alive() -> None:
    import gc
    import weakref

    def run() -> weakref.ref[Any]:
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        with tapetrace.watch() as seen:
            model.fit(np.ones((4, 4)), np.ones((4, 1)), verbose=0)
        assert seen.report.ok
        return weakref.ref(model)

    gone = run()
    keras.backend.clear_session()
    for _ in range(3):
        gc.collect()
    assert gone() is None

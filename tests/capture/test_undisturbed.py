"""A check leaves everything as it was: attributes of TensorFlow, random generators, weights, training results, other threads."""

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
from tests.capture.cases import verdicts

X = tf.constant([0.3, -0.7, 1.2])


def healthy(w: tf.Variable) -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                scale = tf.sin(x)
            y = w * x * scale
        return tape.gradient(y, [w, x])

    return step


def raising(error: type[BaseException]) -> Any:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            tape.gradient(x * x, x)
            with tape.stop_recording():
                raise error

    return step


def patched_owners() -> list[Any]:
    import tensorflow.python.ops.script_ops as script_ops

    return [private.GradientTape, private.Function, private.gradients_util, type(private.gradient_registry), script_ops, tf.Variable, keras.Model]


def attributes() -> list[dict[str, int]]:
    return [{name: id(value) for name, value in vars(owner).items()} for owner in patched_owners()]


def check_quietly(step: Any) -> None:
    with contextlib.suppress(tapetrace.TapetraceError, KeyboardInterrupt, SystemExit):
        tapetrace.check(step, X)


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, SystemExit])
def test_attributes_are_put_back(error: type[BaseException] | None) -> None:
    check_quietly(healthy(tf.Variable(X)))  # whatever is made on first use is made now
    before = attributes()
    check_quietly(healthy(tf.Variable(X)) if error is None else raising(error))
    assert attributes() == before


def test_an_interrupt_is_handed_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        tapetrace.check(raising(KeyboardInterrupt), X)


@pytest.mark.parametrize("seeded", [True, False])
def test_random_generators_stay_where_they_are(seeded: bool) -> None:
    if seeded:
        keras.utils.set_random_seed(3)
    w = tf.Variable(X)
    dropout = keras.layers.Dropout(0.5)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = dropout(w * x * tf.random.normal([3]), training=True)
        return tape.gradient(y, w)

    generator = tf.random.get_global_generator()
    before = (random.getstate(), np.random.get_state()[1].tolist(), generator.state.numpy().tolist(), seeds_to_come())
    tapetrace.check(step, X)
    assert (random.getstate(), np.random.get_state()[1].tolist(), generator.state.numpy().tolist(), seeds_to_come()) == before


def seeds_to_come() -> Any:
    """The state of the generator that gives eager ops their seeds."""
    from tensorflow.python.eager import context

    rng = getattr(context.context(), "_rng", None)
    return None if rng is None else rng.getstate()


def model() -> Any:
    keras.utils.set_random_seed(7)
    made = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    made.compile("adam", "mse")
    return made


def steps_of(made: Any) -> Any:
    @tf.function
    def train_step(x: tf.Tensor, y: tf.Tensor) -> Any:
        noise = tf.random.normal(tf.shape(x))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((made(x + noise, training=True) - y) ** 2)
        made.optimizer.apply_gradients(zip(tape.gradient(loss, made.trainable_variables), made.trainable_variables, strict=True))
        return loss

    return train_step


@pytest.mark.parametrize("how", ["before", "between", "after an eager step", "the model itself"])
def test_training_gives_the_same_numbers_to_the_bit(how: str) -> None:
    def train(checked: bool) -> list[Any]:
        made = model()
        step = steps_of(made)
        x, y = tf.random.normal([16, 4]), tf.random.normal([16, 1])
        losses = []
        if how == "after an eager step":
            losses.append(step.python_function(x, y).numpy())
        if how != "between" and checked:
            report = tapetrace.check(made, x, y) if how == "the model itself" else tapetrace.check(step, x, y)
            assert report.ok
        for i in range(5):
            if how == "between" and checked and i == 2:
                assert tapetrace.check(step, x, y).ok
            losses.append(step(x, y).numpy())
        history = made.fit(x, y, batch_size=4, epochs=1, verbose=0).history["loss"]
        return [*losses, *history, *tf.random.normal([3]).numpy(), *np.random.normal(size=3), random.random(), *made.get_weights()[0].ravel()]

    plain, checked = train(False), train(True)
    assert plain == checked


def test_weights_are_not_changed() -> None:
    made = model()
    made.optimizer.build(made.trainable_variables)
    before = [w.numpy().copy() for w in (*made.weights, *made.optimizer.variables)]
    assert tapetrace.check(steps_of(made), tf.ones([16, 4]), tf.ones([16, 1])).ok
    assert all(np.array_equal(a, w.numpy()) for a, w in zip(before, (*made.weights, *made.optimizer.variables), strict=True))


def test_other_threads_are_neither_seen_nor_disturbed() -> None:
    stop, wrong, rounds = threading.Event(), [], [0]
    v = tf.Variable(3.0)

    @tf.function
    def traced(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = v * v * x
        return tape.gradient(y, v)

    def work() -> None:
        while not stop.is_set():
            with tf.GradientTape(persistent=True) as tape:
                y = v * v
                with tape.stop_recording():
                    _ = v * 2.0
            found = [tape.gradient(y, v), tape.jacobian(y, v), traced(tf.constant(1.0)), traced(tf.ones([1 + rounds[0] % 5]))]
            rounds[0] += 1
            if any(float(tf.reduce_max(g)) < 6.0 for g in found):
                wrong.append(found)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        reports = [tapetrace.check(healthy(tf.Variable(X)), X) for _ in range(3)]
    finally:
        stop.set()
        thread.join()
    assert rounds[0] > 0
    assert wrong == []
    assert [verdicts(r) for r in reports] == ["connected connected"] * 3


def test_nothing_of_the_step_is_kept_alive() -> None:
    import gc
    import weakref

    made = model()
    gone = weakref.ref(made)
    report = tapetrace.check(made, tf.ones([4, 4]), tf.ones([4, 1]))
    report.to_dict()
    assert report.ok
    del made, report
    keras.backend.clear_session()
    for _ in range(3):
        gc.collect()
    assert gone() is None


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_many_checks_do_not_count_as_retracing(mode: Any, caplog: pytest.LogCaptureFixture) -> None:
    w = tf.Variable(X)
    scaled = tf.function(lambda x: w * x)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(scaled(x) ** 2)
        return tape.gradient(loss, w)

    for _ in range(7):
        tapetrace.check(step, X, mode=mode, numeric=True)
    assert "retracing" not in caplog.text

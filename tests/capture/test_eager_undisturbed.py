"""An eager check leaves everything as it was: attributes, callbacks, tracing, variables, slots, generators, and what training gives afterwards."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.capture import private
from tests.capture.cases import verdicts

X = tf.constant([0.3, -0.7, 1.2])
W = tf.Variable(X, name="w")
U = tf.Variable(1.7, name="u")


def healthy() -> Any:
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(W * X) * U
    return tape.gradient(y, [W, U])


def escaping() -> Any:
    with tf.GradientTape() as tape:
        y = np.mean(W * X) * U
    return tape.gradient(y, [W, U])


def raising(error: type[BaseException]) -> Callable[[], Any]:
    def step() -> Any:
        with tf.GradientTape(persistent=True) as tape:
            W.assign(W * 2.0)
            random.random(), np.random.rand(), tf.random.normal([])
            tape.gradient(W * X, W)
            with tape.stop_recording():
                raise error

    return step


STEPS: dict[str, Callable[[], Any]] = {
    "healthy": healthy,
    "escaping": escaping,
    "ValueError": raising(ValueError),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "SystemExit": raising(SystemExit),
}


def check_quietly(step: Callable[..., Any], *args: Any) -> None:
    with contextlib.suppress(tapetrace.TapetraceError, KeyboardInterrupt, SystemExit):
        tapetrace.check(step, *args, mode="eager")


def attributes() -> list[dict[str, int]]:
    import tensorflow.python.eager.execute as execute
    import tensorflow.python.ops.script_ops as script_ops

    owners = [
        private.GradientTape, private.Function, private.gradients_util, type(private.gradient_registry), private.EagerTensorBase, private.record,
        private.fast_path, private.BaseResourceVariable, private.ResourceVariable, tf.Variable, keras.Model, execute, script_ops,
    ]  # fmt: skip
    return [{name: id(value) for name, value in vars(owner).items() if name != "__annotations__"} for owner in owners]


@pytest.mark.parametrize("name", STEPS)
def test_attributes_callbacks_and_tracing_are_put_back(name: str) -> None:
    check_quietly(escaping)  # whatever is made on first use is made now

    def own_trace(frame: Any, event: str, argument: Any) -> None:
        return None

    tracing = sys.gettrace()
    before = attributes()
    sys.settrace(own_trace)
    try:
        check_quietly(STEPS[name])
        assert sys.gettrace() is own_trace
    finally:
        sys.settrace(tracing)
    assert attributes() == before
    assert list(private.eager_context().op_callbacks) == []
    assert tf.executing_eagerly()


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", STEPS)
def test_variables_and_generators_stay_where_they_are(name: str, seeded: bool) -> None:
    if seeded:
        keras.utils.set_random_seed(3)
    generator = tf.random.get_global_generator()
    before = states(generator)
    check_quietly(STEPS[name])
    assert states(generator) == before


def states(generator: Any) -> Any:
    context = private.eager_context()
    rng = getattr(context, "_rng", None)
    own = (context._seed, None if rng is None else rng.getstate())
    numbers = (W.numpy().tobytes(), U.numpy().tobytes(), generator.state.numpy().tobytes())
    return random.getstate(), np.random.get_state()[1].tobytes(), np.random.get_state()[2], own, numbers


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


def step_of(made: Any, escapes: bool) -> Callable[[Any, Any], Any]:
    scale = tf.Variable(1.0, name="scale")

    def train_step(x: tf.Tensor, y: tf.Tensor) -> Any:
        noise = tf.random.normal(tf.shape(x)) + np.random.rand() + random.random()
        with tf.GradientTape() as tape:
            factor = float(scale * 1.1) if escapes else 1.1
            loss = tf.reduce_mean((made(x + noise, training=True) * factor - y) ** 2)
        variables = [*made.trainable_variables, *([scale] if escapes else [])]
        gradients = tape.gradient(loss, variables)
        made.optimizer.apply_gradients([(g, v) for g, v in zip(gradients, variables, strict=True) if g is not None])
        return loss

    return train_step


def train(escapes: bool, when: int | None) -> list[Any]:
    """Ten losses and what follows them, with a check before the step ``when``."""
    made = model()
    step = step_of(made, escapes)
    x, y = tf.random.normal([16, 4]), tf.random.normal([16, 1])
    losses = []
    for i in range(10):
        if i == when:
            report = tapetrace.check(step, x, y, mode="eager")
            assert report.ok is not escapes
        losses.append(step(x, y).numpy())
    slots = [v.numpy().tobytes() for v in made.optimizer.variables]
    return [*losses, *slots, *tf.random.normal([3]).numpy(), *np.random.normal(size=3), random.random(), made.get_weights()[0].tobytes()]


@pytest.mark.parametrize("escapes", [False, True])
@pytest.mark.parametrize("when", [0, 4])
def test_ten_steps_give_the_same_numbers_to_the_bit(when: int, escapes: bool) -> None:
    assert train(escapes, when) == train(escapes, None)


def test_training_in_a_function_goes_on_as_if_nothing_had_been() -> None:
    def run(checked: bool) -> list[float]:
        tf.random.set_seed(11)
        w = tf.Variable(1.0)

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = w * tf.random.normal([]) * tf.random.uniform([], seed=5)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        losses = [step().numpy() for _ in range(3)]
        if checked:
            assert verdicts(tapetrace.check(step, mode="eager")) == "connected"
        return [*losses, *(step().numpy() for _ in range(3)), tf.random.normal([]).numpy()]

    assert run(True) == run(False)


def test_what_a_check_keeps_is_let_go() -> None:
    import gc
    import weakref

    made = model()
    x, y = tf.ones([4, 4]), tf.ones([4, 1])
    report = tapetrace.check(step_of(made, True), x, y, mode="eager")
    report.to_dict()
    gone, batch = weakref.ref(made), weakref.ref(x)
    del made, report, x
    keras.backend.clear_session()
    for _ in range(3):
        gc.collect()
    assert gone() is None
    assert batch() is None

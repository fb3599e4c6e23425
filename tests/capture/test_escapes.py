"""Values that leave TensorFlow and come back: by each way out and each way back, the verdict, the cause and the very line where they left."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tapetrace.model.report import SourceResult
from tests.capture.cases import verdicts
from tests.capture.escapes import U, W, check, left_at

KEPT: dict[str, Any] = {}
HOLDER = SimpleNamespace()
HISTORY: list[Any] = []

Out = Callable[[Any], Any]
Back = Callable[[Any, Any], Any]


def back_at(source: SourceResult, marker: str = "# back") -> None:
    """Assert that the report shows the line where the value came back."""
    again = source.breaks[0].reenters
    assert again is not None
    assert again.code.endswith(marker), again


def by_helper(h: Any) -> Any:
    values = np.asarray(h)  # out
    return float((values * values).sum())


def in_lines(h: Any) -> Any:
    total = 0.0
    for row in h.numpy():  # out
        total += row * row
    return total


def over_three_lines(h: Any) -> Any:
    values = np.concatenate(  # out
        [h, h],
    )
    return values.sum()


def through_two_numpy_functions(h: Any) -> Any:
    mean = np.mean(h)  # out
    return np.sqrt(np.abs(mean))


def after_logging(h: Any) -> Any:
    print(f"norm {float(tf.norm(h)):.3f}")
    return np.max(h)  # out


OUTS: dict[str, Out] = {
    "numpy": lambda h: h.numpy(),  # out
    "np.mean": lambda h: np.mean(h),  # out
    "np.asarray": lambda h: np.asarray(h),  # out
    "np.exp": lambda h: np.exp(h),  # out
    "np.array of parts": lambda h: np.array([h[0], h[1]]),  # out
    "float": lambda h: float(h[0]),  # out
    "int": lambda h: int(h[1] * 1000.0),  # out
    "math": lambda h: math.sin(h[2]),  # out
    "tolist": lambda h: h.numpy().tolist(),  # out
    "item": lambda h: h[0].numpy().item(),  # out
    "iteration": lambda h: [float(part) for part in h],  # out
    "convert_to_numpy": lambda h: keras.ops.convert_to_numpy(h),  # out
    "json": lambda h: json.loads(json.dumps(h.numpy().tolist())),  # out
    "helper": by_helper,
    "loop over numpy": in_lines,
    "several lines": over_three_lines,
    "two functions": through_two_numpy_functions,
    "logged first": after_logging,
}


@pytest.mark.parametrize("name", OUTS)
def test_each_way_out(name: str) -> None:
    out = OUTS[name]

    def step() -> Any:
        with tf.GradientTape() as tape:
            value = out(W * 1.1)
            loss = tf.reduce_sum(value * U * 0.9)  # back
        return tape.gradient(loss, [W, U])

    report = check(step)
    assert verdicts(report) == "none connected"
    left_at(report.calls[0].sources[0])
    back_at(report.calls[0].sources[0])


def keep_in_a_dict(value: Any) -> Any:
    KEPT["value"] = value
    return tf.constant(KEPT["value"])  # back


def keep_in_an_object(value: Any) -> Any:
    HOLDER.value = value
    return tf.constant(HOLDER.value)  # back


def keep_a_history(value: Any) -> Any:
    HISTORY.append(value)
    return tf.constant(np.mean(HISTORY, axis=0))  # back


def assigned(value: Any) -> Any:
    slot = tf.Variable(tf.zeros([3]), trainable=False)
    slot.assign(value)  # back
    return slot


BACKS: dict[str, Callable[[Any], Any]] = {
    "constant": tf.constant,
    "convert_to_tensor": tf.convert_to_tensor,
    "cast": lambda v: tf.cast(v, tf.float32),  # back
    "arithmetic in Python": lambda v: tf.constant([float(x) * 0.5 + 1.0 for x in v]),  # back
    "new variable": lambda v: tf.Variable(v, trainable=False) * 1.0,  # back
    "assign": assigned,
    "dict": keep_in_a_dict,
    "object": keep_in_an_object,
    "history": keep_a_history,
    "numpy arithmetic": lambda v: (v + 1.0) ** 2,
}


@pytest.mark.parametrize("name", BACKS)
def test_each_way_back(name: str) -> None:
    back = BACKS[name]
    HISTORY.clear()

    def step() -> Any:
        with tf.GradientTape() as tape:
            value = (W * 1.1).numpy()  # out
            loss = tf.reduce_sum(back(value) * U)  # back
        return tape.gradient(loss, [W, U])

    report = check(step)
    assert verdicts(report) == "none connected"
    left_at(report.calls[0].sources[0])
    back_at(report.calls[0].sources[0])
    assert report.root_causes[0].reenters == report.calls[0].sources[0].breaks[0].reenters


def test_out_and_back_on_one_line_is_said_once() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.constant((W * 1.1).numpy()) * U)  # out
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    left_at(source)
    assert source.breaks[0].reenters is None


def test_an_argument_of_an_op() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            limit = float(tf.reduce_max(W))  # out
            loss = tf.reduce_sum(tf.clip_by_value(U * [1.0, 2.0], 0.0, limit * 3.0))
        return tape.gradient(loss, [W, U])

    left_at(check(step).calls[0].sources[0])


def test_an_attribute_of_an_op() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            slope = float(tf.reduce_max(W) * 0.1)  # out
            loss = tf.reduce_sum(tf.nn.leaky_relu(U * [-1.0, 2.0], alpha=slope))
        return tape.gradient(loss, [W, U])

    left_at(check(step).calls[0].sources[0])


@pytest.mark.parametrize("way", ["predict", "predict_on_batch", "get_weights"])
def test_models(way: str) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, name="only")])

    def step() -> Any:
        with tf.GradientTape() as tape:
            x = tf.constant([[1.0, 2.0, 3.0]])
            if way == "predict":
                y = model.predict(x, verbose=0)  # out
            elif way == "predict_on_batch":
                y = model.predict_on_batch(x)  # out
            else:
                y = x @ model.get_weights()[0]  # out
            loss = tf.reduce_sum(y * U)
        return tape.gradient(loss, [model.layers[0].kernel, U])

    report = check(step)
    assert verdicts(report) == "none connected"
    left_at(report.calls[0].sources[0])

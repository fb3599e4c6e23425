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

import tapetrace
from tapetrace.model.report import Report, SourceResult
from tapetrace.model.words import Cause, Verdict
from tests.capture.cases import verdicts

W = tf.Variable([0.3, -0.7, 1.2], name="w")
U = tf.Variable(1.7, name="u")
KEPT: dict[str, Any] = {}
HOLDER = SimpleNamespace()
HISTORY: list[Any] = []

Out = Callable[[Any], Any]
Back = Callable[[Any, Any], Any]


def check(step: Callable[..., Any], *args: Any) -> Report:
    report = tapetrace.check(step, *args, mode="eager")
    assert report.agreement.disagreed == ()
    return report


def left_at(source: SourceResult, marker: str = "# out") -> None:
    """Assert that the source is cut where its value left TensorFlow, on the line with the marker."""
    assert (source.verdict, source.cause) == (Verdict.NONE, Cause.NUMPY_ESCAPE)
    location = source.breaks[0].location
    assert location is not None
    assert location.code.endswith(marker), location


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


def test_what_is_only_logged_or_decided_or_measured_is_no_finding() -> None:
    metric = keras.metrics.Mean()

    def step() -> Any:
        with tf.GradientTape() as tape:
            h = W * 1.1
            loss = tf.reduce_sum(h * U)
            print(f"loss {float(loss):.2f}", np.mean(h))
            metric.update_state(float(loss))
            KEPT["loss"] = loss.numpy()
            if float(tf.norm(h)) > 100.0:
                loss = loss * 0.5
        return tape.gradient(loss, [W, U])

    report = check(step)
    assert verdicts(report) == "connected connected"
    assert report.root_causes == ()


def test_a_condition_is_not_an_escape() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            if float(tf.reduce_sum(W)) > 0.0:
                loss = U * 2.0
            else:
                loss = U * 3.0
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    assert source.cause is Cause.UNUSED_RESULT


def test_two_escapes_of_two_variables_are_told_apart() -> None:
    v = tf.Variable([2.5, 0.4], name="v")

    def step() -> Any:
        with tf.GradientTape() as tape:
            a = np.mean(W)  # out w
            b = np.square(v * 1.1)  # out v
            loss = tf.reduce_sum(U * a * b)
        return tape.gradient(loss, [W, v, U])

    sources = check(step).calls[0].sources
    left_at(sources[0], "# out w")
    left_at(sources[1], "# out v")


def test_two_escapes_of_one_variable_are_told_apart() -> None:
    def step() -> Any:
        with tf.GradientTape(persistent=True) as tape:
            a = float(tf.reduce_sum(W * W))  # out a
            b = float(tf.reduce_prod(W))  # out b
            first = U * (a + 1.0)
            second = U * (b * 2.0)
        return tape.gradient(first, W), tape.gradient(second, W)

    calls = check(step).calls
    left_at(calls[0].sources[0], "# out a")
    left_at(calls[1].sources[0], "# out b")


def test_an_index_that_left_as_an_integer() -> None:
    table = tf.constant([0.5, 1.5, 2.5])

    def step() -> Any:
        with tf.GradientTape() as tape:
            best = int(tf.argmax(W * 2.0).numpy())  # out
            loss = table[best] * U  # index
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    assert [b.cause for b in source.breaks] == [Cause.NON_FLOAT, Cause.NUMPY_ESCAPE, Cause.NON_FLOAT]
    assert [b.location and b.location.code.rpartition("# ")[2] for b in source.breaks] == ["out", "out", "index"]


def test_a_mask_that_left_as_booleans() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            mask = (W > 0.0).numpy()  # out
            loss = tf.reduce_sum(tf.where(mask, U, 0.1))
        return tape.gradient(loss, [W, U])

    source = check(step).calls[0].sources[0]
    assert [b.cause for b in source.breaks] == [Cause.NON_FLOAT, Cause.NUMPY_ESCAPE]


def test_a_count_that_only_says_how_often_is_no_escape() -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = U * 1.0
            for _ in range(int(tf.math.count_nonzero(W > 0.0))):
                loss = loss * U
        return tape.gradient(loss, [W, U])

    assert check(step).calls[0].sources[0].cause is Cause.UNUSED_RESULT


@pytest.mark.parametrize("most", [1, 4])
def test_when_no_more_runs_are_allowed_the_rest_is_said_of_all(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapetrace.capture.reruns.MOST_RUNS", most)
    several = [tf.Variable([0.3 + i, 0.7], name=f"several_{i}") for i in range(6)]
    runs = []

    def step() -> Any:
        runs.append(1)
        with tf.GradientTape() as tape:
            mean = np.mean([np.mean(v) for v in several])  # out
            loss = U * mean
        return tape.gradient(loss, [*several, U])

    report = check(step)
    assert len(runs) <= most + 3
    assert verdicts(report) == "none " * 6 + "connected"
    for source in report.calls[0].sources[:6]:
        left_at(source)


def test_a_number_that_is_another_each_time_was_not_computed_from_a_variable() -> None:
    turn = [0.0]

    def step() -> Any:
        turn[0] += 0.37
        with tf.GradientTape() as tape:
            unused = tf.reduce_sum(W)
            print(float(unused))
            loss = U * turn[0]
        return tape.gradient(loss, [W, U])

    assert check(step).calls[0].sources[0].cause is Cause.UNUSED_RESULT


def squared(w: Any, as_number: bool) -> Any:
    y = tf.reduce_sum(w**2)
    return float(y) if as_number else y  # out


@pytest.mark.parametrize("as_number", [True, False])
def test_float_in_a_plain_step_is_answered_by_a_run(as_number: bool) -> None:
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = U * squared(W, as_number)
        return tape.gradient(loss, [W, U]), float(loss)

    report = tapetrace.check(step)
    w, u = report.calls[0].sources
    assert u.verdict is Verdict.CONNECTED
    assert report.mode == ("eager" if as_number else "graph")
    assert [note.partition(" makes")[0].partition(" at ")[0] for note in report.notes] == ["`float()`"] * as_number
    if as_number:
        left_at(w)
    assert tapetrace.check(step, mode="graph").ok
    assert tapetrace.check(tf.function(step)).ok

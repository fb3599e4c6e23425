"""``watch``: the graphs that a program traces, while it runs."""

from __future__ import annotations

import threading
import time
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report
from tapetrace.model.words import Cause, Verdict
from tests.capture.cases import verdicts

X = tf.constant([1.0, 2.0])


def watched(run: Any, **options: Any) -> Report:
    with tapetrace.watch(**options) as seen:
        run()
    return seen.report


def variables() -> tuple[tf.Variable, tf.Variable]:
    return tf.Variable([1.0, 2.0], name="w"), tf.Variable([3.0, 4.0], name="v")


def test_each_function_that_is_traced() -> None:
    w, v = variables()

    @tf.function
    def first(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x * tf.stop_gradient(v))
        return tape.gradient(loss, [w, v])

    @tf.function
    def second(x: Any) -> Any:
        return tf.gradients(tf.reduce_sum(v * x), v)

    report = watched(lambda: [first(X), second(X), first(X)])
    assert verdicts(report) == "connected none | connected"
    assert [c.kind for c in report.calls] == ["gradient", "gradients"]
    assert report.calls[0].sources[1].cause is Cause.STOP_GRADIENT
    assert report.mode == "graph"
    assert report.agreement.checked == 3
    assert report.agreement.disagreed == ()


def test_a_function_that_makes_its_variables_is_told_of_once() -> None:
    made: list[tf.Variable] = []

    @tf.function
    def step(x: Any) -> Any:
        if not made:
            made.append(tf.Variable([1.0, 2.0]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(made[0] * x)
        return tape.gradient(loss, made)

    assert verdicts(watched(lambda: step(X))) == "connected"


def test_a_loop_is_judged_as_it_was_before_its_backward_pass() -> None:
    w, v = variables()

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            for _ in tf.range(3):
                x = x * w
            loss = tf.reduce_sum(x) + tf.reduce_sum(tf.round(v))
        return tape.gradient(loss, [w, v])

    report = watched(lambda: step(X))
    assert verdicts(report) == "connected none"
    assert report.agreement.disagreed == ()


def test_functions_that_are_gone_when_the_report_is_made() -> None:
    def main() -> None:
        w = tf.Variable([1.0, 2.0], name="w")

        @tf.function
        def inner(x: Any) -> Any:
            return tf.round(x * w)

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(inner(x))
            return tape.gradient(loss, w)

        step(X)

    import gc

    with tapetrace.watch() as seen:
        main()
        gc.collect()
    assert verdicts(seen.report) == "none"
    assert seen.report.root_causes[0].location is not None
    assert seen.report.root_causes[0].location.code == "return tf.round(x * w)"
    assert seen.report.to_dict()["graph"]["nodes"]


def test_a_lookup_error_goes_to_the_user_and_is_in_the_report() -> None:
    w, _ = variables()

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.image.adjust_contrast(tf.ones([1, 2, 2, 3]) * w[0], 2.0))
        return tape.gradient(loss, w)

    with pytest.raises(Exception, match="gradient registry has no entry for: AdjustContrastv2"), tapetrace.watch() as seen:
        step(X)
    (call,) = seen.report.calls
    assert call.sources[0].verdict is Verdict.ERROR
    assert call.error is not None
    assert call.error.type == "LookupError"
    assert seen.report.error is not None
    assert seen.report.error.type == "LookupError"
    assert not seen.report.ok


def test_an_error_that_the_program_catches_is_in_its_call_alone() -> None:
    w, _ = variables()

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.image.adjust_contrast(tf.ones([1, 2, 2, 3]) * w[0], 2.0))
        return tape.gradient(loss, w)

    def run() -> None:
        with pytest.raises(Exception, match="registry"):
            step(X)

    report = watched(run)
    assert verdicts(report) == "error"
    assert report.error is None


@pytest.mark.parametrize("traced", [True, False])
def test_a_tape_that_is_asked_twice_raises_as_it_does(traced: bool) -> None:
    w, _ = variables()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        tape.gradient(loss, w)
        return tape.gradient(loss, w)

    with (
        pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used to compute one set of gradients"),
        tapetrace.watch() as seen,
    ):
        (tf.function(step) if traced else step)(X)
    assert verdicts(seen.report) == "connected | error"
    assert seen.report.calls[1].sources[0].cause is Cause.TAPE_REUSED


def test_traces_that_differ_are_told_apart() -> None:
    w, v = variables()

    @tf.function
    def step(x: Any, training: bool, data: Any = None) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
            if training:
                loss += tf.reduce_sum(v)
        return tape.gradient(loss, [w, v])

    report = watched(lambda: [step(X, True), step(X, False), step(tf.ones([5, 2]), True)])
    assert verdicts(report) == "connected connected | connected none | connected connected"
    assert [c.inputs for c in report.calls] == [
        "x=float32[2], training=True", "x=float32[2], training=False", "x=float32[5,2], training=True",
    ]  # fmt: skip
    (found,) = report.intermittent
    assert (found.path, found.connected, found.broken) == ("v", (0, 2), (1,))
    assert found.location == report.calls[0].location


def test_a_function_that_is_traced_at_every_call_is_mentioned() -> None:
    w, _ = variables()

    @tf.function
    def step(n: float) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w) * n
        return tape.gradient(loss, w)

    report = watched(lambda: [step(float(n + 1)) for n in range(11)])
    assert len(report.calls) == 8
    assert "was traced again and again" in report.notes[0]


def fit(**options: Any) -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dropout(0.5), keras.layers.Dense(1, name="b")])
    model.compile("sgd", "mse", **options)
    model.fit(np.ones((10, 4)), np.ones((10, 1)), batch_size=4, verbose=0)
    return model


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}, {"steps_per_execution": 2}, {"run_eagerly": True}])
def test_fit(options: dict[str, Any]) -> None:
    report = watched(lambda: fit(**options))
    assert report.ok
    assert [s.label.rpartition("/")[0].rpartition("/")[2] for s in report.calls[0].sources] == ["a", "a", "b", "b"]
    assert {s.verdict for c in report.calls for s in c.sources} == {Verdict.CONNECTED}
    assert report.agreement.disagreed == ()
    location = report.calls[0].location
    assert location is not None
    assert location.code.startswith("model.fit(")


def test_what_was_traced_before_is_named() -> None:
    w, _ = variables()

    @tf.function
    def train_step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, w)

    train_step(X)
    with tapetrace.watch() as seen:
        train_step(X)
    with pytest.raises(tapetrace.TapetraceError, match="train_step had been traced before"):
        _ = seen.report


def test_nothing_to_see() -> None:
    with tapetrace.watch() as seen:
        tf.sin(X)
    with pytest.raises(tapetrace.TapetraceError, match="No gradient call was seen"):
        _ = seen.report


def test_a_report_is_there_after_the_block() -> None:
    seen = tapetrace.watch()
    with pytest.raises(tapetrace.TapetraceError, match="no report yet"):
        _ = seen.report
    with seen, pytest.raises(tapetrace.TapetraceError, match="in use already"):
        seen.__enter__()


def test_frozen_sources() -> None:
    w, v = variables()

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, [w, v])

    report = watched(lambda: step(X), frozen=["w", "v"])
    assert [f.path for f in report.unexpected] == ["w"]
    assert report.broken == ()
    assert not report.ok


def test_threads() -> None:
    w, v = variables()

    @tf.function
    def traced(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, [w])

    def eager() -> None:
        for _ in range(3):
            product = v * X
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(product * w)
            tape.gradient(loss, [w, v])

    threads = [threading.Thread(target=traced, args=(X,)), threading.Thread(target=eager), threading.Thread(target=eager)]

    def run() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    report = watched(run)
    assert sorted(verdicts(report).split(" | ")) == ["connected", "connected none"]
    (broken,) = report.broken
    assert broken.breaks[0].cause is Cause.OUTSIDE_TAPE
    assert broken.breaks[0].location is not None
    assert broken.breaks[0].location.code == "product = v * X"


def test_nested_watches_see_each_their_part() -> None:
    w, v = variables()

    def step(sources: list[tf.Variable]) -> None:
        @tf.function
        def traced(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * x)
            return tape.gradient(loss, sources)

        traced(X)

    with tapetrace.watch() as outer:
        step([w])
        with tapetrace.watch() as inner:
            step([w, v])
    assert verdicts(inner.report) == "connected none"
    assert verdicts(outer.report) == "connected | connected none"


def test_a_check_inside_is_not_the_program() -> None:
    w, v = variables()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
        return tape.gradient(loss, [w, v])

    with tapetrace.watch() as seen:
        tf.function(step)(X)
        checked = tapetrace.check(step, X)
        eager = tapetrace.check(step, X, mode="eager")
    assert verdicts(checked) == verdicts(eager) == "connected none"
    assert len(seen.report.calls) == 1


def test_a_recomputed_block_does_not_wait_for_the_watch() -> None:
    """Its gradient function opens a tape, in a thread of ours, while the watch that ends holds its lock."""
    w, _ = variables()
    block = tf.recompute_grad(lambda e: tf.sin(e) * 0.5)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(block(w * x))
        return tape.gradient(loss, [w])

    started = time.monotonic()
    assert verdicts(watched(lambda: step(X))) == "connected"
    assert time.monotonic() - started < 20

"""What a tape records: its windows, stop_recording and reset, and tapes that cross the borders of functions, branches and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import Case, Cases, verdicts

CASES = case = Cases()
X = tf.constant([0.3, -0.7, 1.2])
W = tf.Variable([0.4, 0.5, -0.6], name="w")


@case("none connected")
def before_the_tape() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        hidden = w * x
        with tf.GradientTape() as tape:
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none none")
def after_the_tape() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = w * x
        y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected connected")
def entered_twice() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        with tape:
            hidden = w * x
        with tape:
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def between_two_entries() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        with tape:
            hidden = w * x
        hidden = tf.sin(hidden)
        with tape:
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def stopped() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = v * x
            with tape.stop_recording():
                factor = tf.exp(w)
            y = hidden * factor
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected | connected none")
def gradient_asked_while_stopped() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            hidden = v * x
            with tape.stop_recording():
                first = tape.gradient(hidden, [w, v])
            y = w * x
        return first, tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def reset() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            hidden = w * x
            tape.reset()
            y = hidden * v
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("none connected")
def reset_forgets_what_was_watched() -> Any:
    v = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            tape.reset()
            y = x * v
        return tape.gradient(y, [x, v])

    return step, (X,)


@case("connected")
def asked_inside_the_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = w * x
            return tape.gradient(y, w)

    return step, (X,)


@case("connected | connected")
def persistent_asked_inside_for_a_second_derivative() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = w**3 * x
            first = tape.gradient(y, w)
        return tape.gradient(first, w)

    return step, (X,)


@case("connected none")
def opened_outside_asked_in_a_branch() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)

        def asking() -> Any:
            dw, dv = tape.gradient(y, [w, v])
            return dw if dv is None else dv

        return tf.cond(x[0] > -9.0, asking, lambda: x)

    return step, (X,)


@case("connected none")
def opened_outside_asked_in_a_function() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = tf.sin(w * x) + tf.stop_gradient(v)

        @tf.function
        def asking() -> Any:
            return tape.gradient(y, [w, v])

        return asking()

    return step, (X,)


@case("connected none")
def opened_outside_recording_in_a_branch() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > -9.0, lambda: tf.sin(w * x), lambda: tf.exp(w * x) + tf.stop_gradient(v))
        return tape.gradient(y, [w, v])

    return step, (X,)


@case("connected none")
def everything_inside_a_branch() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        result = x
        if tf.reduce_sum(x) > -99.0:
            with tf.GradientTape() as tape:
                y = tf.sin(w * x)
            dw, dv = tape.gradient(y, [w, v])
            result = dw if dv is None else dv
        return result

    return step, (X,)


@case("connected none")
def everything_inside_a_loop() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        total = x
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                y = tf.sin(w * total)
            dw, dv = tape.gradient(y, [w, v])
            total = total + (dw if dv is None else dv)
        return total

    return step, (X,)


@case("connected")
def everything_inside_a_loop_with_a_new_name() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                y = tf.sin(w * x)
            found = tape.gradient(y, w)
        return found

    return step, (X,)


@case("none connected")
def hidden_before_the_loop_tape_inside() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        hidden = tf.sin(w * x)
        total = x
        for _ in tf.range(2):
            with tf.GradientTape() as tape:
                y = v * hidden * total
            dw, dv = tape.gradient(y, [w, v])
            total = total + (dv if dw is None else dw)
        return total

    return step, (X,)


@case("connected none")
def everything_inside_a_while() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        total, i = x, 0
        while tf.reduce_sum(total) < 1e6 and i < 3:
            with tf.GradientTape() as tape:
                y = tf.sin(w * total)
            dw, dv = tape.gradient(y, [w, v])
            total = total + (dw if dv is None else dv)
            i += 1
        return total

    return step, (X,)


@case("connected | none connected")
def used_tape_entered_again() -> Any:
    w, v = tf.Variable(X), tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        with tape:
            hidden = w * x
        first = tape.gradient(hidden, w)
        with tape:
            y = hidden * v
        return first, tape.gradient(y, [w, v])

    return step, (X,)


@case("connected")
def tape_around_a_function_opened_by_hand() -> Any:
    w = tf.Variable(X)

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(w * x)

    def step(x: tf.Tensor) -> Any:
        tape = tf.GradientTape()
        tape.__enter__()
        y = layer(x)
        tape.__exit__(None, None, None)
        return tape.gradient(y, w)

    return step, (X,)


@case("none | connected")
def inner_tape_of_a_meta_step() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.stop_gradient(w) * x)
        missing = inner.gradient(y, w)
        with tf.GradientTape() as outer:
            z = tf.reduce_sum(w * w) if missing is None else tf.reduce_sum(missing)
        return outer.gradient(z, w)

    return step, (X,)


@case("connected | none")
def update_of_a_meta_step_outside_the_outer_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(w**3 * x)
        fast = w - 0.1 * inner.gradient(y, w)
        with tf.GradientTape() as outer:
            z = tf.reduce_sum(fast**2)
        return outer.gradient(z, w)

    return step, (X,)


@case("connected | connected")
def update_of_a_meta_step_inside_the_outer_tape() -> Any:
    w = tf.Variable(X)

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(w**3 * x)
            fast = w - 0.1 * inner.gradient(y, w)
            z = tf.reduce_sum(fast**2)
        return outer.gradient(z, w)

    return step, (X,)


@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_agrees_with_tensorflow(one: Case) -> None:
    one.check()


@pytest.mark.parametrize("traced_twice", [False, True])
def test_a_tape_that_opens_after_the_inner_gradient_is_told_to_open_around_it(traced_twice: bool) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    slots: list[tf.Variable] = []

    def step() -> Any:
        if traced_twice and not slots:
            slots.append(tf.Variable(0.0))
        with tf.GradientTape() as inner:
            energy = tf.reduce_sum(tf.pow(w, 3))  # cut
        slope = inner.gradient(energy, w)
        with tf.GradientTape() as outer:
            curvature = tf.reduce_sum(slope * 2.0)
        return outer.gradient(curvature, w)

    report = tapetrace.check(step)
    (source,) = report.calls[1].sources
    assert report.calls[0].location is not None
    assert source.cause is Cause.OUTSIDE_TAPE
    assert source.breaks[0].location is not None
    assert source.breaks[0].location.code.endswith("# cut")
    asked, opened = report.calls[0].location.line, report.calls[0].location.line + 1
    assert f"the gradient that line {asked} asks for run before `with tf.GradientTape()` on line {opened}" in source.breaks[0].remedy


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("called", [False, True])
def test_watched_after_an_op_that_was_recorded_for_another_input(called: bool, mode: str) -> None:
    product = tf.function(lambda a, b: tf.multiply(a, b)) if called else tf.multiply

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = product(x, W)
            z = tf.sin(x)
            tape.watch(x)
        return tape.gradient([y, z], [x, W]), z

    truth = step(X)[0]
    assert truth[0] is not None
    report = tapetrace.check(step, X, mode=mode)
    assert verdicts(report) == "connected connected"
    assert report.agreement.disagreed == ()


def passes_it_on(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        y = x
    return y


def uses_it(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        y = y + x
    return y


def carries_both(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        x, y = x * 2.0, y * 2.0
    return x


@pytest.mark.parametrize("loop", [passes_it_on, uses_it, carries_both])
def test_watched_after_a_loop_that_was_recorded_for_another_input(loop: Callable[..., Any]) -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = loop(x, W * 1.0)
            tape.watch(x)
        return tape.gradient(y, [x])

    assert tf.reduce_all(tf.function(step)(X)[0] != 0.0)
    report = tapetrace.check(step, X, mode="graph")
    assert (verdicts(report), report.agreement.disagreed) == ("connected", ())


def test_watched_after_a_loop_that_was_recorded_for_nobody() -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = uses_it(x, tf.zeros([3]))
            tape.watch(x)
        return tape.gradient(y + W, [x])

    assert tf.function(step)(X) == [None]
    assert verdicts(tapetrace.check(step, X, mode="graph")) == "none"


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_watched_after_an_op_that_was_recorded_for_nobody(mode: str) -> None:
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.sin(x) * W
            tape.watch(x)
        return tape.gradient(y, [x, W])

    assert step(X)[0] is None
    report = tapetrace.check(step, X, mode=mode)
    assert verdicts(report) == "none connected"
    assert report.calls[0].sources[0].cause is Cause.NOT_WATCHED

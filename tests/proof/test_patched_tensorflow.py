"""Users who patch TensorFlow themselves: their patch works and stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tests.proof.hostile_steps import X, broken, healthy
from tests.proof.ways import verdicts

pytestmark = pytest.mark.usefixtures("made_on_first_use")


def test_a_users_patch_from_before_works_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = tf.GradientTape.gradient, []

    def theirs(tape: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(tape)
        return original(tape, *args, **kwargs)

    monkeypatch.setattr(tf.GradientTape, "gradient", theirs)
    for mode in ("graph", "eager"):
        calls.clear()
        assert verdicts(tapetrace.check(broken, X, mode=mode)) == "none"
        assert calls
        assert tf.GradientTape.gradient is theirs
    with tapetrace.watch() as watched:
        broken(X)
    assert verdicts(watched.report) == "none"
    assert tf.GradientTape.gradient is theirs


@pytest.mark.parametrize("how", ["graph", "eager", "watch"])
def test_a_users_patch_from_meanwhile_stays_and_ours_rests(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.GradientTape, "gradient", tf.GradientTape.gradient)  # put back at the end
    original, calls = tf.GradientTape.gradient, []

    def step(x: Any) -> Any:
        inner = tf.GradientTape.gradient

        def theirs(tape: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(tape)
            return inner(tape, *args, **kwargs)

        tf.GradientTape.gradient = theirs
        return broken(x)

    if how == "watch":
        with tapetrace.watch() as watched:
            step(X)
        report = watched.report
    else:
        report = tapetrace.check(step, X, mode=how)
    assert verdicts(report) == "none"
    assert tf.GradientTape.gradient is not original
    calls.clear()
    assert np.array_equal(healthy(X), X)
    assert np.array_equal(tf.function(healthy)(X), X)
    assert len(calls) >= 2  # an eager check runs the step more than once, and each time it patches once more
    assert verdicts(tapetrace.check(healthy, X, mode="graph")) == "connected"
    with tapetrace.watch() as again:
        broken(X)
    assert verdicts(again.report) == "none"
    assert tf.GradientTape.gradient is not original


def test_a_users_patch_between_a_watch_and_a_check_inside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.GradientTape, "gradient", tf.GradientTape.gradient)  # put back at the end
    calls: list[Any] = []
    with tapetrace.watch() as watched:
        inner = tf.GradientTape.gradient

        def theirs(tape: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(tape)
            return inner(tape, *args, **kwargs)

        tf.GradientTape.gradient = theirs
        for mode in ("graph", "eager"):
            assert verdicts(tapetrace.check(broken, X, mode=mode)) == "none"
            assert tf.GradientTape.gradient is theirs
        healthy(X)
    assert calls
    assert verdicts(watched.report) == "connected"
    assert tf.GradientTape.gradient is theirs

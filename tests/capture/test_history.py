"""What happened while tapetrace imported the user's module: where variables were made, and what values were computed from before the step."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.capture import private
from tapetrace.capture.history import History, watching_imports
from tapetrace.model.locations import Location
from tapetrace.model.report import Break, Report
from tapetrace.model.words import Cause

Check = Callable[..., Report]
NUMBERS = count()

HEAD = """
import keras
import numpy as np
import tensorflow as tf

W = tf.Variable([0.3, -0.7, 1.2], name="w")  # made
U = tf.Variable(1.7, name="u")
"""
STEP = """
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum({loss} * U)
    return tape.gradient(loss, [W, U])
"""


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Checks the step of a module that is written to a file and imported for the first time."""

    def run(body: str, loss: str = "", **options: Any) -> Report:
        file = tmp_path / f"history_{next(NUMBERS)}.py"
        file.write_text(HEAD + dedent(body) + (STEP.format(loss=loss) if loss else ""))
        report = tapetrace.check(f"{file}:step", **options)
        assert report.agreement.disagreed == ()
        return report

    return run


def first_break(report: Report) -> Break:
    return report.calls[0].sources[0].breaks[0]


def stands_on(location: Location | None, marker: str) -> bool:
    return location is not None and location.code.endswith(f"# {marker}")


FROZEN = {
    "computed from it": ("FROZEN = tf.sin(W) * 2.0  # frozen", "FROZEN"),
    "concatenated": ("FROZEN = tf.concat([W, W], 0)  # frozen", "FROZEN[:3]"),
    "a constant of its numbers": ("FROZEN = tf.constant(W.numpy())  # frozen", "FROZEN"),
    "a Python float": ("FROZEN = float(tf.reduce_sum(W))  # frozen", "FROZEN"),
    "an array": ("FROZEN = W.numpy()  # frozen", "FROZEN"),
    "in an object": (
        """
        class Normal:
            def __init__(self, mean):
                self.mean = mean * 1.5  # frozen

            def log_prob(self, x):
                return -((x - self.mean) ** 2)

        PRIOR = Normal(W)
        """,
        "PRIOR.log_prob(1.0)",
    ),
}


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("name", FROZEN)
def test_a_value_from_before_the_step(check: Check, name: str, mode: str) -> None:
    body, loss = FROZEN[name]
    found = first_break(check(body, loss, mode=mode))
    assert found.cause is Cause.CAPTURED_VALUE
    assert stands_on(found.location, "frozen"), found.location


def test_a_large_value_from_before_the_step(check: Check) -> None:
    body = """
    V = tf.Variable(tf.random.normal([300]))
    FROZEN = tf.exp(V)  # frozen

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(FROZEN) * U
        return tape.gradient(loss, V)
    """
    found = first_break(check(body))
    assert (found.cause, stands_on(found.location, "frozen")) == (Cause.CAPTURED_VALUE, True)


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_weights_concatenated_when_a_layer_is_built(check: Check, mode: str) -> None:
    body = """
    class Split(keras.layers.Layer):
        def build(self, shape):
            self.left = self.add_weight(shape=(shape[-1], 2), name="left")
            self.right = self.add_weight(shape=(shape[-1], 2), name="right")
            self.kernel = tf.concat([self.left, self.right], 1)  # frozen

        def call(self, x):
            return x @ self.kernel  # used

    LAYER = Split()
    LAYER.build((None, 3))

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(LAYER(tf.ones([2, 3])))
        return tape.gradient(loss, LAYER.trainable_variables)
    """
    report = check(body, mode=mode)
    assert [s.cause for s in report.calls[0].sources] == [Cause.CAPTURED_VALUE] * 2
    assert stands_on(first_break(report).location, "frozen")
    assert stands_on(first_break(report).reenters, "used")


def test_a_forward_pass_that_was_kept(check: Check) -> None:
    body = """
    MODEL = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    FEATURES = MODEL(tf.ones([4, 3]))  # frozen

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(FEATURES) * U
        return tape.gradient(loss, MODEL.trainable_variables)
    """
    report = check(body)
    assert [s.cause for s in report.calls[0].sources] == [Cause.CAPTURED_VALUE] * 2
    assert stands_on(first_break(report).location, "frozen")


def test_arithmetic_in_numpy_before_the_step(check: Check) -> None:
    found = first_break(check("FROZEN = np.mean(W.numpy()) * 2.0  # frozen", "FROZEN"))
    assert found.cause is Cause.NEVER_READ
    assert "handed to Python before the step" in found.detail
    assert stands_on(found.location, "made")


def test_the_line_of_making(check: Check) -> None:
    body = """
    N = tf.Variable([1, 2], name="n")  # integer
    OTHER = tf.Variable(0.5, name="other")  # other

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cast(N, tf.float32)) * U * OTHER
        return tape.gradient(loss, [N, W, U])
    """
    report = check(body)
    integer, never, _ = report.calls[0].sources
    assert (integer.cause, stands_on(integer.breaks[0].location, "integer")) == (Cause.NON_FLOAT_SOURCE, True)
    assert (never.cause, stands_on(never.breaks[0].location, "made")) == (Cause.NEVER_READ, True)
    assert [(f.path, stands_on(f.location, "other")) for f in report.not_asked] == [("other", True)]


def test_tensorflow_that_is_imported_when_it_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "lazy.py"
    file.write_text(
        dedent(
            """
            def make():
                import tensorflow as tf

                w = tf.Variable([0.3, -0.7], name="w")
                frozen = tf.sin(w)  # frozen
                return (frozen, w)


            def step(frozen, w):
                import tensorflow as tf

                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(frozen)
                return tape.gradient(loss, w)
            """
        )
    )
    script = """
    import sys
    from tapetrace.capture.history import watching_imports
    with watching_imports():
        import lazy
        assert "tensorflow" not in sys.modules
        frozen, w = lazy.make()
    assert not [f for f in sys.meta_path if type(f).__module__.startswith("tapetrace")]
    import tapetrace
    report = tapetrace.check(lambda: lazy.step(frozen, w))
    found = report.calls[0].sources[0].breaks[0]
    print(found.cause.value, found.location.code)
    """
    run = subprocess.run(
        [sys.executable, "-c", dedent(script)], capture_output=True, text=True, cwd=tmp_path, timeout=300,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.stdout.splitlines()[-1:] == ["captured_value frozen = tf.sin(w)  # frozen"], run.stderr


def watched_attributes() -> list[Any]:
    import tensorflow.python.eager.execute as execute

    owners = [private.BaseResourceVariable, private.EagerTensorBase, private.fast_path, keras.Model, execute]
    return [{name: id(value) for name, value in vars(owner).items() if name != "__annotations__"} for owner in owners]


def test_the_instruments_are_taken_off(tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text(HEAD + "raise ValueError('no')\n")
    before, finders = watched_attributes(), list(sys.meta_path)
    with watching_imports():
        assert watched_attributes() != before
    assert watched_attributes() == before
    with pytest.raises(tapetrace.TapetraceError, match="cannot be imported: ValueError: no"):
        tapetrace.check(f"{tmp_path / 'raises.py'}:step")
    assert watched_attributes() == before
    assert sys.meta_path == finders
    assert list(private.eager_context().op_callbacks) == []


def test_what_is_gone_is_forgotten() -> None:
    history = History()
    history.install("tensorflow")
    try:
        w = tf.Variable([0.3, -0.7])
        kept = tf.sin(w)
        before = history.remembered
        for _ in range(300):
            tf.reduce_sum(tf.exp(w) * 2.0)
        assert history.remembered <= before + 10
        past = history.past_of(kept)
        assert past is not None
        assert [h is w.handle for h in history.handles(past)] == [True]
        handle = w.handle
        del w
        assert history.made(handle) is not None
        del handle
        assert history.handles(past) == []
    finally:
        history.stop()


def test_a_number_that_is_round_is_not_taken_for_another(check: Check) -> None:
    body = """
    V = tf.Variable([1.0, 0.5])
    print(V.numpy())

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.constant([1.0, 0.5]) * U)
        return tape.gradient(loss, V)
    """
    assert first_break(check(body)).cause is Cause.NEVER_READ


def test_an_open_watch_sees_where_variables_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "watched_module.py").write_text(
        HEAD + 'COUNT = tf.Variable(3, name="count")  # made\n' + STEP.format(loss="W").replace("[W, U]", "[COUNT, U]")
    )
    monkeypatch.syspath_prepend(tmp_path)
    before, finders = watched_attributes(), list(sys.meta_path)
    with tapetrace.watch() as outer:
        with tapetrace.watch():
            import watched_module
        watched_module.step()
        assert len(sys.meta_path) >= len(finders)
    found = first_break(outer.report)
    assert (found.cause, stands_on(found.location, "made")) == (Cause.NON_FLOAT_SOURCE, True)
    assert watched_attributes() == before
    assert sys.meta_path == finders


def test_watches_of_two_threads_may_overlap() -> None:
    before, finders = watched_attributes(), list(sys.meta_path)
    first = watching_imports()
    first.__enter__()
    second = watching_imports()
    thread = threading.Thread(target=second.__enter__)
    thread.start()
    thread.join()
    first.__exit__(None, None, None)
    assert watched_attributes() != before
    thread = threading.Thread(target=second.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert watched_attributes() == before
    assert sys.meta_path == finders
    assert list(private.eager_context().op_callbacks) == []


KEPT = tf.sin(tf.Variable([0.3, -0.7, 1.2], name="kept"))


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_without_a_history_captured_tensors_are_suspects(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr("tapetrace.capture.history._current", None)
    w = tf.Variable([1.0, 2.0, 3.0], name="w")

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(KEPT * 2.0) ** 3  # used
        return tape.gradient(loss, [w])

    report = tapetrace.check(step, mode=mode)
    assert [s.cause for s in report.calls[0].sources] == [Cause.NEVER_READ]
    (suspect,) = report.blind_spots
    assert (suspect.type, suspect.dtype, suspect.shape) == ("Captured", "float32", (3,))
    assert stands_on(suspect.location, "used")
    assert any("`tapetrace check FILE:FUNCTION`" in note for note in report.notes)

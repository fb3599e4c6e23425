"""Two hundred checks in one process leave it as two hundred bare traces do: memory, functions, threads, files and objects.

``make test`` runs fewer; the environment variable ``TAPETRACE_PROOF_LONG`` makes it the whole number.
"""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tapetrace
from tapetrace.capture import private
from tests.proof.process_state import differences, process_state

ROUNDS = 200 if os.environ.get("TAPETRACE_PROOF_LONG") else 2
WARM = 2
"""Checks before the first look: TensorFlow's pools and our caches fill in them."""

MEGABYTES = 12.0
"""What memory may grow by in all rounds together. One round allocates about that much, so a leak of a tenth of it would show in a long run."""

X = tf.ones([2, 3])


@dataclass(frozen=True, slots=True)
class Look:
    """What there is in the process."""

    megabytes: float
    functions: int
    threads: int
    files: frozenset[str]
    ours: Counter[str]


def look() -> Look:
    for _ in range(3):
        gc.collect()
    ours = Counter(f"{type(o).__module__}.{type(o).__qualname__}" for o in gc.get_objects() if str(type(o).__module__).startswith("tapetrace"))
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    files = frozenset(os.listdir(tempfile.gettempdir()))
    return Look(pages * 4096 / 1e6, len(context.context().list_function_names()), threading.active_count(), files, ours)


def make_step() -> Callable[[Any], Any]:
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    w = tf.Variable(tf.ones([3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) ** 2)
            loss += tf.reduce_sum(tf.cond(loss > 0.0, lambda: tf.round(x) * w, lambda: x))
        return tape.gradient(loss, [*layer.trainable_variables, w])

    return step


def leaving() -> Callable[[Any], Any]:
    w = tf.Variable(tf.ones([3]))

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x) * float(tf.reduce_sum(w))
        return tape.gradient(loss, w)

    return step


def bare(step: Any) -> None:
    tf.function(step).get_concrete_function(X)


def watched(step: Any) -> None:
    with tapetrace.watch() as seen:
        step(X)
        tf.function(step)(X)
    assert seen.report.calls


def raising(step: Any) -> None:
    def failing(x: Any) -> Any:
        step(x)
        raise ValueError

    for mode in ("graph", "eager"):
        assert tapetrace.check(failing, X, mode=mode).error is not None


def mixed(step: Any) -> None:
    for options in ({"mode": "graph"}, {"mode": "eager"}, {"mode": "graph", "numeric": True}):
        assert tapetrace.check(step, X, **options).calls  # type: ignore[arg-type]


WAYS: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "graph, eager and numeric": (make_step, mixed),
    "values that leave": (leaving, lambda step: tapetrace.check(step, X)),
    "watch": (make_step, watched),
    "steps that raise": (make_step, raising),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_grows(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes write into the real one
    make, run = WAYS[way]
    step = make()
    for _ in range(WARM):
        bare(make_step())
        run(step)
    start = look()
    for _ in range(ROUNDS):
        bare(make_step())
    traced = look()
    for _ in range(ROUNDS):
        run(step)
    end = look()
    assert end.ours - traced.ours == Counter()
    assert end.threads == start.threads
    assert end.functions - traced.functions <= max(0, traced.functions - start.functions)
    assert end.megabytes - traced.megabytes < MEGABYTES
    ours = [name for name in end.files - traced.files if not name.startswith("__autograph_generated_file")]
    assert ours == []
    # AutoGraph writes one file for each function that it converts, and removes it when the process ends.
    assert len(end.files - traced.files) <= len(traced.files - start.files) + ROUNDS // 10 + 4


def test_a_report_that_was_drawn_keeps_no_graph_of_tensorflows() -> None:
    def graphs() -> int:
        gc.collect()
        return sum(type(o) is private.FuncGraph for o in gc.get_objects())

    step = make_step()
    kept = [tapetrace.check(step, X, mode="graph")]
    kept[0].to_dict()
    before = graphs()
    kept.append(tapetrace.check(step, X, mode="graph"))
    assert graphs() > before  # the locations of its ops are read when they are asked for
    assert kept[1].to_dict() == kept[0].to_dict()
    assert graphs() == before


def test_the_process_is_as_before() -> None:
    step = make_step()
    mixed(step)
    before = process_state()
    mixed(step)
    watched(step)
    raising(step)
    assert differences(before, process_state()) == []

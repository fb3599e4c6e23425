"""Replicas of a MirroredStrategy are told as one, unless they differ."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "distributed"
MODES = ("graph", "eager", "watch graph", "watch eager")
FINE = ["connected", "", "", []]
CUT = "h = tf.stop_gradient(h)"


def cut(cause: str, code: str, *replicas: int) -> list[Any]:
    return ["none", cause, code, list(replicas)]


STEPS = {
    "healthy": {"w": FINE, "v": FINE},
    "stopped": {"w": cut("stop_gradient", CUT), "v": FINE},
    "argmax": {"w": cut("non_float", "h = tf.one_hot(tf.argmax(h, 1), 3)"), "v": FINE},
    "unread": {"w": FINE, "v": FINE, "unused": cut("never_read", "gradients = tape.gradient(loss, sources)")},
    "first_only": {"w": cut("stop_gradient", CUT, 0), "v": FINE},
    "second_only": {"w": cut("stop_gradient", CUT, 1), "v": FINE},
    "summed": {"w": FINE, "v": FINE},
    "gathered": {"w": FINE, "v": FINE},
    "nested": {"w": cut("stop_gradient", "loss = tf.reduce_sum(tf.stop_gradient(x @ w) @ v)"), "v": FINE},
    "tape_around": {"w": cut("outside_tape", "replicas = strategy.run(lambda x: tf.reduce_sum(x @ w @ v), args=(x,))")},
}
OTHERS = ("summed_stopped", "numpy", "outside", "different", "branch", "merged")


@lru_cache
def asked(module: str, mode: str, names: tuple[str, ...], legacy: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": legacy}
    command = [sys.executable, str(PROGRAMS / "answers.py"), module, mode, *names]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, env=environment)


def answers(module: str, mode: str, names: tuple[str, ...], legacy: str = "") -> dict[str, Any]:
    """What tapetrace says in a process of its own: logical devices are chosen before TensorFlow begins."""
    ended = asked(module, mode, names, legacy)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def steps(mode: str) -> dict[str, Any]:
    return answers("mirrored_steps", mode, (*STEPS, *OTHERS))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STEPS)
def test_a_line_is_one_call_and_a_variable_one_row(name: str, mode: str) -> None:
    told = steps(mode)[name]
    assert [call["rows"] for call in told["calls"]] == [STEPS[name]]
    assert told["calls"][0]["count"] == len(STEPS[name])
    assert told["calls"][0]["code"].startswith(("gradients = tape.gradient", "return tape.gradient"))
    assert told["agreement"] == [len(STEPS[name]), []]
    assert (told["not_asked"], told["intermittent"]) == ([], 0)


@pytest.mark.parametrize("mode", MODES)
def test_all_gradients_that_replicas_share_are_applied(mode: str) -> None:
    assert [steps(mode)[name]["not_applied"] for name in ("healthy", "summed", "gathered")] == [[], [], []]


@pytest.mark.parametrize("mode", MODES)
def test_what_python_computes_on_each_replica(mode: str) -> None:
    told = steps(mode)["numpy"]
    cause = "python_function" if "graph" in mode else "numpy_escape" if mode == "eager" else "unused_result"
    assert told["calls"][0]["rows"]["w"][:2] == ["none", cause]
    assert told["agreement"] == [2, []]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_stopped_before_replicas_add_it_up(mode: str) -> None:
    told = steps(mode)["summed_stopped"]
    # Eagerly TensorFlow adds up in threads of its own, so the way on is seen only where the step may be run again.
    cause = "unused_result" if mode == "watch eager" else "stop_gradient"
    assert told["calls"][0]["rows"] == {"w": cut(cause, 'h = context.all_reduce("mean", tf.stop_gradient(h))'), "v": FINE}
    assert told["agreement"] == [2, []]


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_outside_the_tape_of_each_replica(mode: str) -> None:
    told = steps(mode)["outside"]
    line = "loss = loss + tf.reduce_sum(w) * tf.reduce_sum(v)"
    assert told["calls"][0]["rows"] == {"w": cut("outside_tape", line), "v": cut("outside_tape", line)}
    assert told["agreement"] == [2, []]


@pytest.mark.parametrize("mode", MODES)
def test_replicas_broken_in_different_ways(mode: str) -> None:
    told = steps(mode)["different"]
    line = "h = tf.stop_gradient(h) if on_replica() == 1 else tf.round(h)"
    assert told["calls"][0]["rows"] == {"w": cut("gradient_is_none", line, 0), "v": FINE}
    assert [(cause, detail) for cause, _, detail in told["causes"]] == [
        ("gradient_is_none", "on replica 0 of 2 only, counted from 0"),
        ("stop_gradient", "on replica 1 of 2 only, counted from 0"),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_condition_on_the_number_of_the_replica(mode: str) -> None:
    told = steps(mode)["branch"]
    branch = "h = tf.cond(tf.equal(context.replica_id_in_sync_group, 1), lambda: tf.stop_gradient(h), lambda: h)"
    graph, eager = ["conditional", "other_branch", branch, []], cut("stop_gradient", branch, 1)
    assert told["calls"][0]["rows"]["w"] == (graph if "graph" in mode else eager)
    assert told["agreement"] == [2, []]


@pytest.mark.parametrize("mode", MODES)
def test_a_tape_does_not_see_what_replicas_compute_together(mode: str) -> None:
    told = steps(mode)["merged"]
    assert told["calls"][0]["rows"]["w"][:2] == ["none", "outside_tape"]
    assert told["calls"][0]["rows"]["v"] == FINE
    assert told["agreement"] == [2, []]


def test_the_picture_shows_another_replica_only_where_it_differs() -> None:
    assert steps("graph")["stopped"]["drawn"] == ["v", "w"]
    assert steps("graph")["second_only"]["drawn"] == ["v", "v", "w", "w"]


def test_a_step_that_only_returns_its_loss() -> None:
    told = answers("mirrored_steps", "graph", ("only_loss",))["only_loss"]
    assert told["calls"][0]["rows"] == {
        "w": cut("stop_gradient", "return tf.reduce_mean((tf.stop_gradient(tf.tanh(x @ w)) @ v - y) ** 2)"),
        "v": FINE,
    }
    assert told["calls"][0]["count"] == 2


MODELS = {
    "healthy": {},
    "cut": {"first/kernel": cut("stop_gradient", "return tf.stop_gradient(x)"), "first/bias": cut("stop_gradient", "return tf.stop_gradient(x)")},
    "cut_on_second": {
        "first/kernel": cut("stop_gradient", "return tf.stop_gradient(x)", 1),
        "first/bias": cut("stop_gradient", "return tf.stop_gradient(x)", 1),
    },
    "leaves_out": {"left_out/kernel": cut("unused_result", "self.left_out(x)"), "left_out/bias": cut("unused_result", "self.left_out(x)")},
}


@pytest.mark.parametrize("keras", ["", "1"], ids=["keras", "tf_keras"])
@pytest.mark.parametrize("mode", ["graph", "eager", "watch"])
def test_keras_models(mode: str, keras: str) -> None:
    if keras:
        pytest.importorskip("tf_keras", reason="not among the test dependencies: it would install another TensorFlow beside tensorflow-cpu")
    told = answers("mirrored_models", mode, tuple(MODELS), keras)
    for name, broken in MODELS.items():
        (call,) = told[name]["calls"]
        short = {"/".join(path.split("/")[-2:]): row for path, row in call["rows"].items()}
        assert {path: row for path, row in short.items() if row != FINE} == broken, name
        assert call["count"] == (4 if name == "leaves_out" else 6)
        assert told[name]["agreement"] == [call["count"], []]
        assert call["code"] == ("step.fit(*arguments, batch_size=4, epochs=2, verbose=0)" if mode == "watch" else "")

"""``tapetrace check`` with several sets of arguments, and with variables that should be frozen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapetrace import cli

STEP = """
import tensorflow as tf

w, v = tf.Variable([1.0, 2.0], name="critic/w"), tf.Variable([3.0, 1.0], name="actor/v")


def step(x, training=True):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
        if training:
            loss += tf.reduce_sum(v)
    return tape.gradient(loss, [w, v])


def sets():
    yield tf.ones([2]), True
    yield tf.zeros([2]), True
    yield tf.ones([2]), False
    yield tf.ones([4, 2]), True
    while True:
        yield tf.ones([2]), True


def data():
    return tf.data.Dataset.from_tensor_slices(tf.ones([5, 2])).batch(2)


def nothing():
    yield from ()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    import sys

    (tmp_path / "several_sets.py").write_text(STEP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("several_sets", None)


def check(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["tapetrace", "check", "several_sets:step", "-o", "report.json", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_each_set_that_differs_is_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, "--args", "several_sets:sets") == 1
    report = json.loads((folder / "report.json").read_text())
    assert [c["inputs"] for c in report["calls"]] == ["x=float32[2], training=True", "x=float32[2], training=False", "x=float32[4,2], training=True"]
    assert [[s["verdict"] for s in c["sources"]] for c in report["calls"]] == [["connected"] * 2, ["connected", "none"], ["connected"] * 2]
    (found,) = report["intermittent"]
    assert (found["path"], found["connected"], found["broken"]) == ("actor/v", [0, 2], [1])


def test_batches_of_two_sizes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, "--args", "several_sets:data") == 0
    assert [c["inputs"] for c in json.loads((folder / "report.json").read_text())["calls"]] == ["x=float32[2,2]", "x=float32[1,2]"]


@pytest.mark.parametrize(("pattern", "code"), [("actor/*", 1), ("critic/*", 1), ("other/*", 0)])
def test_frozen(folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, code: int) -> None:
    assert check(monkeypatch, "--args", "several_sets:data", "--frozen", pattern) == code


def test_frozen_and_broken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "several_sets.py").write_text(STEP + "\n\ndef one():\n    return tf.ones([2]), False\n")
    assert check(monkeypatch, "--args", "several_sets:one") == 1
    assert check(monkeypatch, "--args", "several_sets:one", "--frozen", "actor/*") == 0


def test_no_set(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(monkeypatch, "--args", "several_sets:nothing") == 2
    assert "several_sets:nothing gives no arguments" in capsys.readouterr().err

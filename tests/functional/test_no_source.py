"""With ``--no-source`` nothing that is written tells where the project lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STEP = """
import tensorflow as tf
from shapes.rounding import rounded
w = tf.Variable([1.0], name="w")
v = tf.Variable([1.0], name="v")
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(rounded(w * x) + v)
    return tape.gradient(loss, [w, v])
def untraceable(x):
    if not tf.executing_eagerly():
        raise ValueError(f"not in a graph, says {__file__}")
    return train_step(x)
"""
ROUNDING = "import tensorflow as tf\ndef rounded(x):\n    return tf.round(x)\n"
FILES = ("svg", "dot", "html", "json", "sarif", "md", "txt", "graphml", "gexf", "graph.json")


def tapetrace_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tapetrace", *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("function", ["train_step", "untraceable"])
@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_no_format_names_the_folder(tmp_path: Path, function: str, inside: bool) -> None:
    project, other = tmp_path / "secret_place", tmp_path / "other"
    here = project if inside else other
    (project / "shapes").mkdir(parents=True)
    other.mkdir()
    (project / "step.py").write_text(STEP)
    (project / "shapes" / "rounding.py").write_text(ROUNDING)
    outputs = [word for suffix in FILES for word in ("-o", f"report.{suffix}")]
    target = [f"{project / 'step.py'}:{function}", "--spec", "float32[1]", "--no-source"]
    run = tapetrace_in(here, "check", *target, *outputs)
    assert run.returncode == 1, run.stderr
    written = {file.name: file.read_text() for file in here.iterdir() if file.name.startswith("report")} | {"stdout": run.stdout}
    assert len(written) == len(FILES) + 2
    assert [name for name, text in written.items() if "secret_place" in text or str(tmp_path) in text] == []
    assert "shapes/rounding.py:3" in run.stdout
    assert f"step.py:{function}" in written["report.dot"]


def test_a_comparison_names_no_folder(tmp_path: Path) -> None:
    project, other = tmp_path / "secret_place", tmp_path / "other"
    (project / "shapes").mkdir(parents=True)
    other.mkdir()
    (project / "step.py").write_text(STEP)
    for name, body in (("before", "tf.identity(x)"), ("after", "tf.round(x)")):
        (project / "shapes" / "rounding.py").write_text(ROUNDING.replace("tf.round(x)", body))
        tapetrace_in(other, "check", f"{project / 'step.py'}:train_step", "--spec", "float32[1]", "-o", f"{name}.json")
    found = tapetrace_in(other, "diff", "before.json", "after.json", "--no-source", "-o", "diff.md", "-o", "diff.txt", "-o", "diff.json")
    assert found.returncode == 1, found.stderr
    said = {file.name: file.read_text() for file in other.glob("diff.*")} | {"stdout": found.stdout}
    assert [name for name, text in said.items() if "secret_place" in text or "return tf.round" in text] == []
    assert [name for name, text in said.items() if "rounding.py:3" not in text and '"file": "shapes/rounding.py"' not in text] == []

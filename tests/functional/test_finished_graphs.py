"""Finished graphs on the command line: a concrete function, a SavedModel, a GraphDef, and files that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tapetrace

ROOT = Path(tapetrace.__file__).parents[1]
PROGRAM = """
import tensorflow as tf


class Model(tf.Module):
    def __init__(self):
        self.live = tf.Variable(2.0, name="live")
        self.dead = tf.Variable(3.0, name="dead")

    @tf.function(input_signature=[tf.TensorSpec([3], name="x")])
    def train(self, x):
        return {"loss": tf.reduce_sum(x) * self.live * tf.stop_gradient(self.dead), "count": tf.size(x)}


model = Model()
concrete = model.train.get_concrete_function()

if __name__ == "__main__":
    tf.saved_model.save(model, "saved", signatures={"train": model.train})
    with tf.Graph().as_default() as graph:
        live, dead = (tf.compat.v1.get_variable(name, [3], use_resource=True) for name in ("live", "dead"))
        tf.reduce_sum(live * tf.stop_gradient(dead), name="total")
    tf.io.write_graph(graph, ".", "graph.pb", as_text=False)
"""


def _child(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TAPETRACE_", "KERAS_", "PYTEST_"))}
    environment = kept | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    (folder / "program.py").write_text(PROGRAM)
    _child(folder, "program.py").check_returncode()
    (folder / "empty").mkdir()
    (folder / "empty.pb").touch()
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["program.py:concrete"],
        ["saved:train", "--loss", "loss", "--variables", "live", "--variables", "de*"],
        ["saved/saved_model.pb", "--signature", "train", "--quick"],
        ["graph.pb", "--loss", "total"],
    ],
)
def test_a_finished_graph(folder: Path, arguments: list[str]) -> None:
    done = _child(folder, "-m", "tapetrace", "check", *arguments, "--format", "json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    (call,) = report["calls"]
    assert call["kind"] == "graph"
    assert call["location"] is None
    assert [(s["path"], s["verdict"], s["returned"], s["cause"]) for s in call["sources"]] == [
        ("live", "connected", None, None),
        ("dead", "none", None, "stop_gradient"),
    ]
    assert report["agreement"] == {"checked": 0 if "--quick" in arguments else 2, "disagreed": []}
    assert report["notes"][0].startswith("No tape was seen: these verdicts speak of the graph alone")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["program.py:concrete", "--loss", "los"], "program.py:concrete has no output or tensor named 'los', did you mean loss?"),
        (["saved", "--spec", "float32[3]"], "saved is a finished graph with inputs of its own: give no arguments, neither --spec nor --args."),
        (["empty"], "the folder empty holds no saved_model.pb: give the folder of a SavedModel, or a function, path/train.py:train_step"),
        (["empty.pb"], "empty.pb holds no op: write the graph again with tf.io.write_graph"),
    ],
)
def test_one_sentence_and_exit_code_2(folder: Path, arguments: list[str], said: str) -> None:
    done = _child(folder, "-m", "tapetrace", "check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"tapetrace: {said}")
    assert "Traceback" not in done.stderr

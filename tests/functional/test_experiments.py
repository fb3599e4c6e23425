"""The options that run a step again, from the command line to the text and the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tapetrace import cli

STEP = """
import tensorflow as tf

W = tf.Variable([0.3, -0.7], name="w")
NEVER = tf.Variable([0.3, -0.7], name="never")
V = tf.Variable(1.5, name="v")

def step():
    with tf.GradientTape() as tape:
        scale = float(tf.reduce_sum(W))
        loss = V * scale
    return tape.gradient(loss, [W, NEVER, V])
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "experiments_step.py"
    found.write_text(STEP)
    return found


def test_both_options_in_text_and_json(file: Path) -> None:
    asked = ["check", f"{file}:step", "--mode", "eager", "--perturb", "--compare-modes"]
    text = CliRunner().invoke(cli.app, asked)
    assert text.exit_code == 1, text.output
    flat = " ".join(text.stdout.split())
    assert "note: w: a graph returns a tensor, an eager run returns None: AutoGraph turns this into ops of the graph" in flat
    assert "note: w: the loss moves when it is changed" in flat
    assert "note: never: the loss does not move when it is changed: unused" in flat
    found = json.loads(CliRunner().invoke(cli.app, [*asked, "--format", "json"]).stdout)
    details = [s["breaks"][0]["detail"] if s["breaks"] else "" for s in found["calls"][0]["sources"]]
    assert [d.partition(":")[0] for d in details] == ["the loss moves when it is changed", "the loss does not move when it is changed", ""]
    assert len(found["notes"]) == 3

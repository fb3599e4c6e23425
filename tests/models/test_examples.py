"""Whole small programs as people write them: nothing is found in them as they are, and the planted fault is what is named first.

The oracle is TensorFlow: what ``tape.gradient`` returned, and in training whether a weight moved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapetrace
from tapetrace.capture.history import watching_imports
from tapetrace.importing import import_file
from tapetrace.model.report import Report
from tapetrace.model.words import Verdict
from tapetrace.targets import load_arguments
from tests.models.faults import FAULTS

FOLDER = Path(__file__).parent / "examples"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py"))
EAGER_ONLY = {"actor_critic"}
"""Examples whose step cannot be traced, which a note says."""
EAGER_TOO = ["dqn", "gan", "grad_cam", "maml", "seq2seq", "vae"]
RUN = ["fast_fit", "gan", "physics_informed"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*shuffle=True.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras asks NumPy in an old way
]


def as_asked(file: Path) -> tuple[str, tuple[Any, ...]]:
    """The target in a program's file, its train_step or else its model, and the batch that it makes; imported as the command line does."""
    with watching_imports():
        arguments, _ = load_arguments(f"{file}:make_batch")
        module = import_file(str(file), str(file))
    return f"{file}:{'train_step' if hasattr(module, 'train_step') else 'model'}", arguments


def assert_clean(report: Report) -> None:
    sources = [s for call in report.calls for s in call.sources]
    assert report.ok
    assert sources
    assert {s.verdict for s in sources} == {Verdict.CONNECTED}
    assert report.agreement.checked == len(sources)
    assert (report.agreement.disagreed, report.not_asked, report.not_applied, report.unexpected) == ((), (), (), ())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_a_healthy_program(name: str) -> None:
    target, arguments = as_asked(FOLDER / f"{name}.py")
    report = tapetrace.check(target, *arguments)
    assert_clean(report)
    assert report.mode == ("eager" if name in EAGER_ONLY else "graph")
    assert len(report.notes) == (name in EAGER_ONLY)


@pytest.mark.parametrize("name", EAGER_TOO)
def test_nor_when_it_runs_eagerly(name: str) -> None:
    target, arguments = as_asked(FOLDER / f"{name}.py")
    report = tapetrace.check(target, *arguments, mode="eager")
    assert_clean(report)
    assert (report.mode, report.notes) == ("eager", ())


@pytest.mark.parametrize("name", NAMES)
def test_nor_while_it_trains(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = import_file(str(FOLDER / f"{name}.py"), name)
    with tapetrace.watch() as watched:
        module.main()
    assert_clean(watched.report)
    assert watched.report.notes == ()
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_the_planted_fault_is_named_first(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    file = planted(name, tmp_path)
    target, arguments = as_asked(file)
    report = tapetrace.check(target, *arguments)
    first = report.root_causes[0]
    assert first.cause is fault.cause
    assert first.location is not None
    assert fault.line in first.location.code
    assert (first.location.frame.file, len(report.broken)) == (str(file), fault.blocks)
    assert (report.agreement.disagreed, report.not_applied) == ((), ())


@pytest.mark.parametrize("name", ["added_losses", "graph_network", "multi_output", "own_cell", "quantised", "recommender", "transformer", "video"])
def test_training_moves_the_others_only(name: str, tmp_path: Path) -> None:
    target, arguments = as_asked(planted(name, tmp_path))
    module = import_file(target.rpartition(":")[0], name)
    broken = {path.source.path for path in tapetrace.check(target, *arguments).broken}
    variables = {v.path: v for v in module.model.trainable_variables}
    before = {path: v.numpy() for path, v in variables.items()}
    with tapetrace.watch() as watched:
        module.main()
    still = {path for path, v in variables.items() if np.array_equal(v.numpy(), before[path])}
    assert still == broken == {path.source.path for path in watched.report.broken}
    first = watched.report.root_causes[0].location
    assert first is not None
    assert FAULTS[name].line in first.code


@pytest.mark.parametrize("name", RUN)
def test_run_leaves_what_a_program_prints_as_it_is(name: str, tmp_path: Path) -> None:
    plain = in_a_child(f"{name}.py")
    seen = in_a_child("-m", "tapetrace", "run", "-o", str(tmp_path / "report.json"), f"{name}.py")
    assert (plain.returncode, seen.returncode) == (0, 0), seen.stderr
    assert plain.stdout
    assert seen.stdout == plain.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ok"]
    assert (report["not_asked"], report["not_applied"], report["agreement"]["disagreed"], report["notes"]) == ([], [], [], [])


def planted(name: str, folder: Path) -> Path:
    """The example with its fault, in a file of its own."""
    fault, text = FAULTS[name], (FOLDER / f"{name}.py").read_text()
    assert text.count(fault.old) == 1
    file = folder / f"broken_{name}.py"
    file.write_text(text.replace(fault.old, fault.new))
    return file


def in_a_child(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run([sys.executable, *arguments], cwd=FOLDER, env=environment, capture_output=True, timeout=500)

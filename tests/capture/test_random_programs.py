"""Random programs, held against TensorFlow. ``TAPETRACE_PROGRAMS=2000`` makes a long run, ``TAPETRACE_FIRST_SEED`` says where it starts."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import tapetrace
from tapetrace.model.words import Verdict
from tests.capture.oracle import ask_tensorflow, contradictions
from tests.capture.random_programs import Writer

COUNT = int(os.environ.get("TAPETRACE_PROGRAMS", "60"))
FIRST = int(os.environ.get("TAPETRACE_FIRST_SEED", "0"))


def load(source: str, path: Path) -> Any:
    """The module of a program; in a file, since AutoGraph reads the source."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_program(seed: int, tmp_path: Path) -> None:
    source = Writer(seed).program()
    module = load(source, tmp_path / f"program_{seed}.py")
    step, args = module.make()
    truth_step, truth_args = module.make()
    try:
        report = tapetrace.check(step, *args, mode="graph")
    except tapetrace.TapetraceError:  # TensorFlow itself fails on some programs
        with pytest.raises(Exception, match=r"."):
            ask_tensorflow(truth_step, truth_args)
        return
    truth = ask_tensorflow(truth_step, truth_args, draws=6)
    found = contradictions(report, truth, may_vanish={Verdict.CONDITIONAL})
    if report.error is not None and truth.raised is None:
        found.append(str(report.error))
    assert not found, "\n".join([f"seed {seed}", *found, source])

"""Random programs, held against TensorFlow: a few at each run of the tests, thousands with ``make fuzz N=10000 SEED=1``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.capture.program_runs import complaints
from tests.capture.random_programs import Writer

COUNT = int(os.environ.get("TAPETRACE_PROGRAMS", "40"))
FIRST = int(os.environ.get("TAPETRACE_FIRST_SEED", "0"))


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_program(seed: int, mode: str, tmp_path: Path) -> None:
    source = Writer(seed).program()
    found = complaints(source, tmp_path / f"program_{seed}.py", mode)
    assert not found, "\n".join([f"seed {seed}, {mode}", *found, source])

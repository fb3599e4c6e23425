"""What `tapetrace check` prints for each sample is what samples/expected/ says. After a wanted change: `make samples`, and read the diff."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.functional.samples import ALL, SAMPLES


@pytest.fixture(scope="module")
def regenerate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate_samples", SAMPLES / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ALL)
def test_the_command_line_prints_it(regenerate: ModuleType, name: str) -> None:
    assert regenerate.printed_for(name) == (SAMPLES / "expected" / f"{name}.txt").read_text(encoding="utf-8")

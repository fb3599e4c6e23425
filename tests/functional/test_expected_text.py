"""What `tapetrace check` prints for each sample is what samples/expected/ says. After a wanted change: `make samples`, and read the diff."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.functional.samples import ALL, SAMPLES


@pytest.fixture(scope="module")
def printed() -> Iterator[dict[str, Future[str]]]:
    """The command line at work on all samples, as many at a time as there are processors."""
    spec = importlib.util.spec_from_file_location("regenerate_samples", SAMPLES / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    regenerate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(regenerate)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {name: pool.submit(regenerate.printed_for, name) for name in ALL}


@pytest.mark.parametrize("name", ALL)
def test_the_command_line_prints_it(printed: dict[str, Future[str]], name: str) -> None:
    assert printed[name].result() == (SAMPLES / "expected" / f"{name}.txt").read_text(encoding="utf-8")

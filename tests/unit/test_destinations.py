"""What is said about an output file before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tapetrace.destinations import SUFFIXES, check_destinations
from tapetrace.errors import OutputError


def test_files_that_can_be_written(tmp_path: Path) -> None:
    check_destinations([tmp_path / f"report{suffix}" for suffix in SUFFIXES] + [tmp_path / "REPORT.SVG"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("report", "names no format, end it in one of .svg .pdf"),
        ("report.svgg", "names no format, did you mean {folder}/report.svg?"),
        ("report.xyz", "names no format, end it in one of"),
        ("none/report.svg", "there is no folder {folder}/none: mkdir -p {folder}/none"),
        ("there.svg", "it is a folder"),
    ],
)
def test_files_that_cannot(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "there.svg").mkdir()
    with pytest.raises(OutputError) as caught:
        check_destinations([tmp_path / "fine.svg", tmp_path / name])
    assert words.format(folder=tmp_path) in str(caught.value)


@pytest.mark.parametrize("exists", [True, False])
def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool) -> None:
    file = tmp_path / "report.svg"
    if exists:
        file.touch()
    asked = []
    monkeypatch.setattr(os, "access", lambda path, mode: asked.append((path, mode)))
    with pytest.raises(OutputError, match="you have no permission"):
        check_destinations([file])
    assert asked == [(file if exists else tmp_path, os.W_OK)]

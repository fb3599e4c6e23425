"""`tapetrace diff` on saved reports: what is printed, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tapetrace
from tapetrace.cli import app
from tests.unit import reports


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    healthy = reports.report(reports.call(*(reports.source(path) for path in reports.LAYERS)))
    healthy.write(tmp_path / "healthy.json")
    reports.outside_tape().write(tmp_path / "broken.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["diff", *arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("before", "after", "code", "answer"),
    [
        ("healthy.json", "broken.json", 1, "✗ worse: 8 sources"),
        ("broken.json", "healthy.json", 0, "✓ nothing got worse, 8 sources mended"),
        ("broken.json", "broken.json", 0, "✓ nothing changed: 8 sources of 1 gradient call, as before"),
    ],
)
def test_exit_codes(folder: Path, before: str, after: str, code: int, answer: str) -> None:
    found, out, _ = run(before, after)
    assert (found, out.splitlines()[2]) == (code, answer)


def test_formats_and_files(folder: Path) -> None:
    code, out, err = run("healthy.json", "broken.json", "--format", "json", "-o", "d.md", "-o", "d.txt", "--no-source")
    assert (code, json.loads(out)["worse"], err) == (1, True, "wrote d.md\nwrote d.txt\n")
    assert "rec, mu, lv" not in out + (folder / "d.md").read_text(encoding="utf-8") + (folder / "d.txt").read_text(encoding="utf-8")
    assert run("healthy.json", "broken.json", "--format", "markdown")[1].startswith("## tapetrace diff: ")
    assert "\x1b[" in run("healthy.json", "broken.json", "--color", "always")[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "bad.json cannot be read (No such file or directory)"),
        ("", "bad.json: this is not JSON"),
        ("[" * 1_000_000, "bad.json: this is not JSON (it is nested too deep)"),
        ('{"schema": "tapetrace/2"}', "bad.json: this is not a report that tapetrace can read: `schema` is 'tapetrace/2'"),
        ('{"schema": "tapetrace/1", "target": []}', "bad.json: this is not a report that tapetrace can read: `target` should be a string"),
        ("9" * 10_000, "bad.json: this is not JSON"),
        ("\udcff", "bad.json is not text"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_what_is_no_report(folder: Path, text: str | None, words: str, first: bool) -> None:
    if text is not None:
        (folder / "bad.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    code, out, err = run(*(("bad.json", "healthy.json") if first else ("healthy.json", "bad.json")), "-o", "d.json")
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert not (folder / "d.json").exists()


def test_a_file_that_is_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapetrace.api._LARGEST", 1_000_000)
    (folder / "large.json").write_bytes(b" " * 1_000_001)
    code, _, err = run("large.json", "healthy.json")
    assert code == 2
    assert err.startswith("tapetrace: large.json is larger than 1 MB, no report is")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "d.svg"], "the suffix of 'd.svg' names no format of a comparison: end it in one of .txt .json .md"),
        (["-o", "none/d.md"], "none/d.md cannot be written, there is no folder none: mkdir -p none"),
    ],
)
def test_files_that_cannot_be_written(folder: Path, arguments: list[str], words: str) -> None:
    code, out, err = run("healthy.json", "broken.json", *arguments)
    assert (code, out, err) == (2, "", f"tapetrace: {words}\n")


def test_the_same_in_python(folder: Path) -> None:
    found = tapetrace.compare("healthy.json", folder / "broken.json")
    assert found.is_worse
    assert str(found) + "\n" == run("healthy.json", "broken.json")[1]

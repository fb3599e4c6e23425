"""Settings: which place wins, and the sentence for one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.config import Color, Detail, Format, Mode, Settings, is_true, resolve
from tapetrace.errors import UsageError


def pyproject(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(text)


def test_the_defaults(tmp_path: Path) -> None:
    assert resolve({}, {}, tmp_path) == Settings(Format.TEXT, Mode.AUTO, Detail.LINE, Color.AUTO, quick=False, source=True)


def test_typed_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    pyproject(tmp_path, '[tool.tapetrace]\nformat = "json"\nmode = "graph"\ndetail = "ops"\nquick = true\n')
    environment = {"TAPETRACE_MODE": "auto", "TAPETRACE_DETAIL": "layers", "TAPETRACE_SOURCE": "0", "TAPETRACE_COLOR": ""}
    settings = resolve({"detail": Detail.LINE, "quick": None, "source": None}, environment, tmp_path)
    assert settings == Settings(Format.JSON, Mode.AUTO, Detail.LINE, Color.AUTO, quick=True, source=False)


def test_a_switch_can_be_typed_off(tmp_path: Path) -> None:
    pyproject(tmp_path, "[tool.tapetrace]\nquick = true\nsource = false\n")
    settings = resolve({"quick": False, "source": True}, {}, tmp_path)
    assert (settings.quick, settings.source) == (False, True)


def test_the_nearest_file_with_a_table_counts(tmp_path: Path) -> None:
    pyproject(tmp_path, '[tool.tapetrace]\nformat = "sarif"\n')
    pyproject(tmp_path / "inner", "[tool.other]\n")
    assert resolve({}, {}, tmp_path / "inner").format is Format.SARIF
    pyproject(tmp_path / "inner", "[tool.tapetrace]\n")
    assert resolve({}, {}, tmp_path / "inner").format is Format.TEXT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[tool.tapetrace]\nformatt = "json"\n', "'formatt' in [tool.tapetrace] of {file} is not a setting, did you mean format?"),
        ("[tool.tapetrace]\nzzz = 1\n", "the settings are format, mode, detail, color, quick, numeric, source"),
        ('[tool.tapetrace]\nformat = "xml"\n', "'format' in [tool.tapetrace] of {file} is 'xml', it can be text, json, sarif, markdown, github"),
        ("[tool.tapetrace]\nformat = [1]\n", "is [1], it can be text"),
        ("[tool.tapetrace]\nquick = 1\n", "'quick' in [tool.tapetrace] of {file} is 1, write true or false"),
        ("[tool]\ntapetrace = 3\n", "tool.tapetrace in {file} is not a table"),
        ("tool = 3\n", "{file} cannot be read as TOML"),
        ("[tool\n", "{file} cannot be read as TOML"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    pyproject(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        resolve({}, {}, tmp_path)
    assert words.format(file=tmp_path / "pyproject.toml") in str(caught.value)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read as TOML"):
        resolve({}, {}, tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TAPETRACE_FORMAT", "xml", "the environment variable TAPETRACE_FORMAT is 'xml', it can be text, json"),
        ("TAPETRACE_QUICK", "maybe", "the environment variable TAPETRACE_QUICK is 'maybe', set it to 1 or 0"),
    ],
)
def test_a_wrong_environment_variable_is_named(tmp_path: Path, name: str, value: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve({}, {name: value}, tmp_path)
    assert words in str(caught.value)


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("TRUE", True), (" on ", True), ("0", False), ("", False), ("no", False)])
def test_switches(text: str, expected: bool) -> None:
    assert is_true(text) is expected

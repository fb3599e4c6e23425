"""Every public name and every word of a report is in the documentation."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import tapetrace
from tapetrace.model.graph import GraphNode
from tapetrace.model.locations import Frame
from tapetrace.model.report import Agreement, BlindSpot, Break, CallResult, Finding, Numbers, Report, RootCause, SourceResult
from tapetrace.model.trace import TraceError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", tapetrace.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert f"`{name}" in text or f"## {name}\n" in text


@pytest.mark.parametrize("word", [*tapetrace.Cause, *tapetrace.Verdict])
def test_a_word_has_its_row(word: tapetrace.Cause | tapetrace.Verdict) -> None:
    assert f"| `{word.value}` |" in (ROOT / "docs/words.md").read_text(encoding="utf-8")


def test_commands_and_options_are_those_of_the_page() -> None:
    from typer.main import get_command

    from tapetrace.cli import app

    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    commands = get_command(app).commands
    assert set(re.findall(r"^## tapetrace (\S+)", page, re.MULTILINE)) == set(commands)
    of_commands = {flag for c in commands.values() for p in c.params if p.param_type_name == "option" for flag in (*p.opts, *p.secondary_opts)}
    assert {flag for flag in of_commands if flag.startswith("--")} - {"--help"} == set(re.findall(r"`(--[a-z-]+)", page))


def test_the_json_page_names_every_field_of_a_report() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8").partition("## JSON")[2]
    for record in (Report, CallResult, SourceResult, Break, RootCause, Finding, BlindSpot, Agreement, TraceError, Frame, Numbers, GraphNode):
        hidden = {"build_graph", "replica"} | ({"location"} if record is GraphNode else set())
        missing = {f.name for f in fields(record)} - set(re.findall(r"\w+", page)) - hidden
        assert not missing, f"{record.__name__}: {missing}"


def test_the_changelog_names_this_version() -> None:
    assert f"## {tapetrace.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

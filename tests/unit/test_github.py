"""Workflow commands for GitHub: the right file and line, and nothing that could end a command early."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.model.words import Cause, Verdict
from tapetrace.render.github import render_github

from .reports import EXAMPLES, at, branches, call, connected, never_read, one_cause, outside_tape, raised, report, source


def test_a_place_becomes_an_error_at_its_line() -> None:
    assert render_github(outside_tape()) == (
        "::error file=samples/vae.py,line=33,title=tapetrace%3A outside_tape::"
        "keeps gradient from enc/kernel, enc/bias, mu/kernel, … 5 more%0A"
        "this line runs before `with tf.GradientTape()` on line 34: move it inside%0A"
        "33 │ rec, mu, lv = vae(x, training=True)\n"
    )


def test_branches_doubts_and_findings_are_warnings() -> None:
    assert [line.split(" ")[0] for line in render_github(branches()).splitlines()] == ["::warning", "::warning"]
    assert [line.split(" ")[0] for line in render_github(never_read()).splitlines()] == ["::error", "::warning", "::warning", "::warning"]


def test_a_connected_step_says_nothing() -> None:
    assert render_github(connected()) == ""


def test_a_failed_step_is_an_error() -> None:
    assert (
        render_github(raised())
        .splitlines()[-1]
        .startswith("::error file=samples/step.py,line=37,title=tapetrace%3A step failed::the step itself raised")
    )


def test_an_unexplained_source_is_an_error_at_the_call() -> None:
    found = render_github(report(call(source("w", Verdict.NONE))))
    assert found.startswith("::error file=samples/step.py,line=36,title=tapetrace::w: no gradient, and tapetrace found no break")


def test_special_characters_are_escaped() -> None:
    found = render_github(one_cause(Cause.STOP_GRADIENT, at(3, "x % y\r\n::error::z", file="a,b:c%d.py"), "w%\n::error::gotcha"))
    assert found.count("\n") == 1
    assert found.startswith("::error file=a%2Cb%3Ac%25d.py,line=3,title=tapetrace%3A stop_gradient::keeps gradient from w%25\\n::error::gotcha%0A")
    assert found.endswith("%0A3 │ x %25 y\\r\\n::error::z\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_line_is_one_command(name: str) -> None:
    assert all(line.startswith(("::error ", "::warning ")) for line in render_github(EXAMPLES[name]()).splitlines())
    assert "│" not in render_github(EXAMPLES[name](), source=False)


def test_a_file_elsewhere_is_named_in_the_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    found = render_github(one_cause(Cause.STOP_GRADIENT, at(3, file=str(tmp_path / "else.py")), "w"))
    assert found.startswith(f"::error title=tapetrace%3A stop_gradient::{tmp_path / 'else.py'}:3: keeps gradient from w%0A")

"""What the commands hand to the API, print and exit with, on an API that answers at once."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tapetrace
from tapetrace import cli
from tapetrace.capture import environment
from tapetrace.errors import ReportError
from tapetrace.model.report import CallResult, Finding, Report, SourceResult
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Returned, Verdict


def report(*verdicts: Verdict, error: TraceError | None = None, calls: bool = True) -> Report:
    sources = tuple(SourceResult(f"v{i}", "", "variable", "float32", (1,), v, Returned.TENSOR) for i, v in enumerate(verdicts))
    return Report("t:f", "2.21", "3", "graph", (CallResult("gradient", None, (), sources),) if calls else (), error=error)


class Api(ModuleType):
    """Stands in for `tapetrace.api`: notes what it is asked, runs the step, and answers ``answer``."""

    def __init__(self) -> None:
        super().__init__("tapetrace.api")
        self.asked: list[tuple[Any, ...]] = []
        self.answer: Any = report(Verdict.CONNECTED)

    def check(
        self, step: Any, *args: Any, specs: Any = None, mode: str = "", verify: bool = True, numeric: bool = False, target: str = "", **kwargs: Any
    ) -> Report:
        self.asked.append(("check", args, kwargs, specs, mode, verify, numeric, target))
        step(*args, **kwargs)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def load(self, path: Path) -> Report:
        if not path.exists():
            raise ReportError(f"there is no report {path}")
        return self.answer

    def write_report(self, found: Report, path: Path, *, detail: str, source: bool) -> Path:
        self.asked.append(("write", path, detail, source))
        return path

    def render_text(self, found: Report, format: str, *, color: bool, width: int | None, source: bool) -> str:
        self.asked.append(("print", format, color, width, source))
        return json.dumps({"format": format})

    def explain(self, cause: str) -> str:
        return f"about {cause}"

    def op_table(self, pattern: str) -> str:
        os.write(1, b"noise from C++\n")
        return f"ops {pattern}"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The stand-in, with a project as the current directory whose step is loud."""
    stand_in = Api()
    monkeypatch.setitem(sys.modules, "tapetrace.api", stand_in)
    monkeypatch.setattr(tapetrace, "api", stand_in, raising=False)
    monkeypatch.setattr(environment, "require_tensorflow", lambda: "2.21.0")
    for name in ("NO_COLOR", "FORCE_COLOR", "TAPETRACE_DEBUG", "TAPETRACE_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "loud_step.py").write_text(
        "import logging, os, sys\nlogging.basicConfig(stream=sys.stdout)\nprint('import')\n\n"
        "def step(x=None, **kwargs):\n    print('printed')\n    os.write(1, b'from C++\\n')\n    logging.warning('logged')\n    os.chdir('/')\n\n"
        "def batch():\n    return {'x': 1}\n\ndef taken():\n    return {'mode': 1}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield stand_in
    sys.modules.pop("loud_step", None)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tapetrace", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


ERROR = TraceError("ValueError", "no")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (report(Verdict.CONNECTED, Verdict.CONDITIONAL, Verdict.OPAQUE), 0),
        (report(Verdict.CONNECTED, Verdict.NONE), 1),
        (report(Verdict.ZERO), 1),
        (report(Verdict.NONE, error=ERROR), 1),
        (report(Verdict.CONNECTED, error=ERROR), 2),
        (replace(report(error=ERROR), not_asked=(Finding("v", "net/v"),)), 1),
        (report(error=ERROR, calls=False), 2),
        (report(calls=False), 2),
        (SystemExit(0), 2),
        (KeyboardInterrupt(), 2),
        (RuntimeError("broke\nmore"), 2),
    ],
)
def test_exit_codes(api: Api, monkeypatch: pytest.MonkeyPatch, answer: Any, code: int) -> None:
    api.answer = answer
    assert run(monkeypatch, "check", "loud_step:step") == code


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (report(calls=False), "t:f asked for no gradient, name the function that calls tape.gradient"),
        (SystemExit(3), "tapetrace: the step called sys.exit(3), so there is no answer"),
        (KeyboardInterrupt(), "tapetrace: interrupted"),
        (
            RuntimeError("broke\nmore"),
            "tapetrace: this is a fault of tapetrace (RuntimeError: broke), run again with --debug and report what it shows",
        ),
    ],
)
def test_why_there_is_no_answer(api: Api, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], answer: Any, words: str) -> None:
    api.answer = answer
    run(monkeypatch, "check", "loud_step:step")
    assert capfd.readouterr().err.splitlines()[-1] == words


def test_debug_does_not_hand_on_the_exit_code_of_the_step(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.answer = SystemExit(0)
    assert run(monkeypatch, "check", "loud_step:step", "--debug") == 2


def test_standard_output_holds_the_report_alone(api: Api, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "check", "loud_step:step", "--format", "json") == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == {"format": "json"}
    assert [line for line in ("import", "printed", "from C++") if line in err.splitlines()] == ["import", "printed", "from C++"]
    os.write(1, b"restored\n")
    assert capfd.readouterr().out == "restored\n"


def test_what_the_api_is_asked(api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(
        monkeypatch,
        "check",
        "loud_step:step",
        "--spec",
        "float32[8]",
        "--spec",
        "y=int32",
        "-o",
        "a.svg",
        "-o",
        "b.json",
        "--quick",
        "--mode",
        "graph",
        "--numeric",
    )
    assert api.asked == [
        ("check", (), {}, ["float32[8]", "y=int32"], "graph", False, True, "loud_step:step"),
        ("write", tmp_path / "a.svg", "line", True),
        ("write", tmp_path / "b.json", "line", True),
        ("print", "text", False, None, True),
    ]


@pytest.mark.parametrize("typed", [["--eager"], ["--mode", "eager"], ["--eager", "--mode", "eager"]])
def test_two_ways_to_ask_for_an_eager_run(api: Api, monkeypatch: pytest.MonkeyPatch, typed: list[str]) -> None:
    run(monkeypatch, "check", "loud_step:step", *typed)
    assert api.asked[0] == ("check", (), {}, None, "eager", True, False, "loud_step:step")


def test_settings_reach_the_api(api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tapetrace]\ndetail = 'ops'\nsource = false\n")
    monkeypatch.setenv("TAPETRACE_FORMAT", "github")
    run(monkeypatch, "check", "loud_step.py:step", "--args", "loud_step:batch", "-o", "a.svg", "--color", "always")
    assert api.asked == [
        ("check", (), {"x": 1}, None, "auto", True, False, "loud_step.py:step"),
        ("write", tmp_path / "a.svg", "ops", False),
        ("print", "github", True, None, False),
    ]


def test_an_argument_named_like_an_option_of_check(api: Api, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "check", "loud_step:step", "--args", "loud_step:taken") == 2
    assert "cannot be given an argument named 'mode' by --args" in capfd.readouterr().err
    assert api.asked == []


@pytest.mark.parametrize(("variables", "colored"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)])
def test_color(api: Api, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colored: bool) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run(monkeypatch, "check", "loud_step:step")
    assert api.asked[-1] == ("print", "text", colored, None, True)


def test_render_writes_or_prints(api: Api, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "report.json").touch()
    api.answer = report(Verdict.NONE)
    assert run(monkeypatch, "render", "report.json", "-o", "a.pdf", "--detail", "layers", "--no-source") == 0
    assert capfd.readouterr() == ("", "wrote a.pdf\n")
    assert run(monkeypatch, "render", "report.json") == 0
    assert capfd.readouterr() == ('{"format": "text"}\n', "")
    assert api.asked == [("write", Path("a.pdf"), "layers", False), ("print", "text", False, None, True)]
    assert run(monkeypatch, "render", "none.json") == 2
    assert capfd.readouterr() == ("", "tapetrace: there is no report none.json\n")


def test_explain_and_ops(api: Api, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "explain", "outside_tape") == 0
    assert capfd.readouterr() == ("about outside_tape\n", "")
    assert run(monkeypatch, "ops", "Gather*") == 0
    assert capfd.readouterr() == ("ops Gather*\n", "noise from C++\n")
    assert run(monkeypatch, "ops") == 0
    assert capfd.readouterr().out == "ops *\n"


def test_a_reader_that_goes_away_is_no_error(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe, contextlib.redirect_stdout(pipe):
        assert run(monkeypatch, "explain", "outside_tape") == 0


def test_a_terminal_without_unicode_gets_escapes(api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(api, "explain", lambda cause: "✗ broken")
    with open(tmp_path / "out.txt", "w", encoding="ascii") as file, contextlib.redirect_stdout(file):
        assert run(monkeypatch, "explain", "outside_tape") == 0
    assert (tmp_path / "out.txt").read_text() == "\\u2717 broken\n"

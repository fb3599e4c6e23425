"""Steps that raise at every moment: the process is as before, and no error is blamed on tapetrace."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tapetrace
from tests.proof.hostile_steps import MAKERS, Step, X
from tests.proof.process_state import differences, process_state
from tests.proof.ways import LONG, OTHER_WAYS, WAYS

pytestmark = pytest.mark.usefixtures("made_on_first_use")

PACKAGE = str(Path(tapetrace.__file__).parent)


class Unheard(BaseException):
    """What no handler for known errors expects."""


ERRORS: tuple[type[BaseException], ...] = (ValueError, KeyboardInterrupt)
if LONG:
    ERRORS += (SystemExit, GeneratorExit, MemoryError, RecursionError, Unheard)


@pytest.fixture
def blamed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Tracebacks that Python prints for errors which nobody catches, and in which tapetrace has the last word."""
    found: list[str] = []

    def look(error: Any) -> None:
        frames = traceback.extract_tb(error.exc_value.__traceback__)
        if frames and frames[-1].filename.startswith(PACKAGE):
            found.append("".join(traceback.format_exception(error.exc_value)))

    monkeypatch.setattr(sys, "unraisablehook", look)
    monkeypatch.setattr(threading, "excepthook", look)
    yield found
    assert found == []


def found_by(act: Callable[[], Any], kind: type[BaseException]) -> str:
    """What came of it: a report, a refusal in one sentence, or the very error of the step."""
    try:
        act()
    except tapetrace.TapetraceError as refused:
        return "refused" if "\n" not in str(refused) else f"more than a sentence: {refused}"
    except kind:
        return "raised"
    return "report"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", MAKERS, ids=[m.__name__ for m in MAKERS])
@pytest.mark.usefixtures("blamed")
def test_a_check_of_a_step_that_raises(make: Callable[[type[BaseException]], Step], way: str, capfd: pytest.CaptureFixture[str]) -> None:
    for kind in ERRORS:
        before = process_state()
        found = found_by(lambda kind=kind: tapetrace.check(make(kind), X, **WAYS[way]), kind)  # type: ignore[misc]
        assert found in ("report", "refused") or (found == "raised" and not issubclass(kind, Exception))
        assert differences(before, process_state()) == [], kind
    assert PACKAGE not in capfd.readouterr().err


@pytest.mark.parametrize("way", OTHER_WAYS)
@pytest.mark.usefixtures("blamed")
def test_each_option_with_a_step_that_raises(way: str) -> None:
    for make in (MAKERS[1], MAKERS[3], MAKERS[6], MAKERS[-1]):
        before = process_state()
        found_by(lambda make=make: tapetrace.check(make(KeyboardInterrupt), X, **OTHER_WAYS[way]), KeyboardInterrupt)  # type: ignore[misc]
        assert differences(before, process_state()) == [], make


@pytest.mark.parametrize("make", MAKERS, ids=[m.__name__ for m in MAKERS])
@pytest.mark.usefixtures("blamed")
def test_a_step_that_raises_while_it_is_watched(make: Callable[[type[BaseException]], Step]) -> None:
    for kind in ERRORS:
        step = make(kind)
        before = process_state()
        alone = outcome(step)
        middle = process_state()
        watching = tapetrace.watch()

        def run(watching: Any = watching, step: Step = step) -> None:
            with watching:
                step(X)

        assert outcome(lambda _, run=run: run()) == alone  # type: ignore[misc]
        with contextlib.suppress(tapetrace.TapetraceError):
            assert watching.report.calls
        own = differences(before, middle)  # what the step does to the process by itself
        assert [d for d in differences(middle, process_state()) if d not in own] == []


def outcome(step: Step) -> str:
    try:
        step(X)
    except BaseException as error:
        return f"{type(error).__name__}"
    return "came back"


SCRIPT = """
import atexit, threading
import tensorflow as tf

w = tf.Variable(2.0)


class Gone:
    def __del__(self):
        raise ValueError("in a destructor")


def step():
    with tf.GradientTape() as tape:
        y = w * w
    return tape.gradient(y, w)


def in_a_thread():
    step()
    raise ValueError("in a thread")


def last():
    step()
    raise ValueError("at exit")


atexit.register(last)
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
Gone()
print(float(step()))
raise KeyboardInterrupt
"""


def test_a_script_that_raises_everywhere_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TAPETRACE_", "PYTEST_"))} | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    env["PYTHONPATH"] = str(Path(PACKAGE).parent)
    done = subprocess.run(
        [sys.executable, "-m", "tapetrace", "run", "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 130
    assert done.stdout == "4.0\n"
    for moment in ("in a thread", "in a destructor", "at exit", "KeyboardInterrupt"):
        assert moment in done.stderr
    frames = [line for line in done.stderr.splitlines() if line.strip().startswith("File ")]
    assert [line for line in frames if PACKAGE in line] == []
    assert "interrupted" in done.stderr

"""The command line in places that are not as they should be: closed streams, full disks, folders that are gone, names of every kind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tapetrace
from tests.proof.hostile_files import BASE, ROOT, command, saved
from tests.unit import reports


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(ROOT), "T": f"{sys.executable} -m tapetrace"} | variables
    return subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    saved(tmp_path, BASE).rename(tmp_path / "r.json")
    yield tmp_path
    left = [p.name for p in tmp_path.rglob(".tapetrace-*")]
    assert left == [], "a half-written file was left behind"


ODD: dict[str, tuple[str, int, str]] = {
    "standard output closed": ("$T render r.json >&-", 0, ""),
    "standard error closed": ("$T render r.json 2>&-", 0, ""),
    "all closed": ("$T render r.json >&- 2>&- <&-", 0, ""),
    "closed, and a file to write": ("$T render r.json -o a.dot -o a.html >&- 2>&- <&- && head -c 9 a.dot && grep -q '</html>' a.html", 0, ""),
    "the version to nobody": ("$T --version >&-", 0, ""),
    "the first line only": ("$T render r.json --format json | head -1; exit ${PIPESTATUS[0]}", 0, ""),
    "standard output full": ("$T render r.json >/dev/full", 2, "standard output cannot be written (No space left on device)"),
    "standard error full": ("$T render r.json -o a.dot 2>/dev/full", 0, ""),
    "help to a full disk": ("$T --help >/dev/full", 2, "no room left"),
    "a folder that is gone": ("mkdir g; cd g; rmdir ../g; $T render ../r.json", 2, "the current folder has been deleted"),
    "run in a folder that is gone": ("mkdir g; cd g; rmdir ../g; $T run x.py", 2, "the current folder has been deleted"),
    "a name that is too long": (f"$T render r.json -o {'x' * 300}.html", 2, "File name too long"),
    "a folder for a report": ("$T render .", 2, "Is a directory"),
    "a user that does not exist": ("$T check '~nobody-here/x.py:step'", 2, "there is no file"),
}


@pytest.mark.parametrize("name", ODD)
def test_the_command_line_in_odd_places(name: str, folder: Path) -> None:
    line, code, words = ODD[name]
    done = shell(line, folder)
    said = done.stderr.decode()
    assert "Traceback" not in said
    assert "fault of tapetrace" not in said
    assert (done.returncode, said.count("\n") <= 1) == (code, True), said
    assert words in said


def test_no_locale_no_home_no_terminal_and_names_of_every_kind(folder: Path) -> None:
    names = ["with space.html", "üñí.html", "new\nline.html", "-dash.html", "quote'\".html"]
    odd = b"\xff\xfe.html"
    os.rename(folder / "r.json", os.fsencode(folder) + b"/in \xff\n.json")
    outputs = [part for n in names for part in ("-o", n if not n.startswith("-") else f"./{n}")]
    bare = {
        "PATH": "/nowhere",
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C",
        "PYTHONIOENCODING": "ascii",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "TERM": "dumb",
    }
    done = command("render", b"in \xff\n.json", *outputs, b"-o", odd, "--format", "text", cwd=folder, env=bare)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    done.stdout.decode("ascii")
    written = sorted(os.listdir(os.fsencode(folder)))
    assert written == sorted([b"in \xff\n.json", odd, *(os.fsencode(n) for n in names)])


def test_a_folder_that_may_not_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *a, **k: False)  # for root everything may be
    from tapetrace.destinations import check_destinations

    with pytest.raises(tapetrace.TapetraceError, match="you have no permission"):
        check_destinations([folder / "a.svg"])
    assert sorted(p.name for p in folder.iterdir()) == ["r.json"]


@pytest.mark.parametrize("failing", ["write", "chmod", "replace"])
@pytest.mark.parametrize("suffix", [".html", ".json", ".graph.json", ".dot"])
def test_a_full_disk_leaves_the_old_file(failing: str, suffix: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / f"old{suffix}"
    file.write_text("before")
    report = reports.in_series()

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    if failing == "write":
        opened: Callable[..., Any] = os.fdopen

        def opening(*args: Any, **kwargs: Any) -> Any:
            found = opened(*args, **kwargs)
            return Full(found)

        monkeypatch.setattr(os, "fdopen", opening)
    else:
        monkeypatch.setattr(os, failing, full)
    with pytest.raises(tapetrace.TapetraceError, match="No space left on device"):
        report.write(str(file))
    monkeypatch.undo()
    assert file.read_text() == "before"
    assert sorted(p.name for p in folder.iterdir()) == [f"old{suffix}", "r.json"]


class Full:
    """A file on a disk that is full."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        self._file.write(data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

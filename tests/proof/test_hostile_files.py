"""Reports that were made to do harm, and places that cannot be written: everything is refused in one sentence or handled, and nothing is run."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tapetrace
from tapetrace.api import render_text
from tests.unit import reports

ROOT = Path(tapetrace.__file__).parents[1]
LONG = bool(os.environ.get("TAPETRACE_PROOF_LONG"))
"""Set it for files of hundreds of megabytes."""

BASE: dict[str, Any] = json.loads(render_text(reports.in_series(), "json"))
KEPT = {"schema", "kind", "verdict", "returned", "cause", "status", "role", "dtype"}
"""Keys whose values are words of a fixed list."""

EVIL = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--",
    "]]>",
    "__proto__",
    "constructor",
    "a\nb\r\nc",
    "::error::x",
    "%0A::set-output name=a::b",
    "\u2028\u2029\x00\x07\x1b[31mred\x9b",
    "\ud800x\udfff",
    "\u202eevil",
    "{{7*7}}${x}",
    "$(touch pwned)`touch pwned`",
    "\\N\\G\\L\\",
    "'\"",
    "&amp;&lt;&#x3c;",
    "| a | b |\n|---|",
    "[x](javascript:alert(1)) ![y](http://h/z)",
    "javascript:alert(1)",
    "",
    "\t ",
    "\x7f\x80\ufeff\ufffe\uffff",
    "../../etc/passwd",
    "file:///etc/passwd",
    "C:\\x\\y",
    "\U0001f600" * 50,
    "x" * 20_000,
]
TEXTS = ("text", "json", "sarif", "markdown", "github")
FILES = (".html", ".dot", ".json", ".sarif", ".md", ".txt", ".graphml", ".gexf", ".graph.json")


def replaced(data: Any, text: str) -> Any:
    """``data`` with every free string in it replaced."""
    if isinstance(data, dict):
        return {k: v if k in KEPT else replaced(v, text) for k, v in data.items()}
    if isinstance(data, list):
        return [v if v in ("live", "dead", "break") else replaced(v, text) for v in data]
    return text if isinstance(data, str) else data


def hostile(text: str) -> dict[str, Any]:
    found: dict[str, Any] = replaced(BASE, text)
    found["graph"]["edges"] = BASE["graph"]["edges"]
    for i, node in enumerate(found["graph"]["nodes"]):  # names of nodes are unique
        node["name"] = f"{text}{i}" if i else text
    return found


def saved(folder: Path, data: Any) -> Path:
    file = folder / "hostile.json"
    text = data if isinstance(data, str | bytes) else json.dumps(data)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return file


class Scripts(HTMLParser):
    """What a browser would run or load: elements that do, and attributes that name code or another place."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "object", "embed", "link", "base", "form", "meta"):
            kept = {k: v for k, v in attrs if k != "content"}
            self.found.append(f"{tag} {kept}")
        for name, value in attrs:
            leads = name in ("src", "href", "xlink:href", "action", "formaction", "srcdoc", "srcset")
            if name.startswith("on") or (leads and not (value or "").startswith("#")):
                self.found.append(f"{tag} {name}={(value or '')[:40]}")


def scripts_of(page: str) -> list[str]:
    parser = Scripts()
    parser.feed(page)
    return parser.found


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    file = tmp_path_factory.mktemp("page") / "plain.html"
    reports.in_series().write(str(file))
    return scripts_of(file.read_text())


@pytest.mark.parametrize("text", EVIL, ids=[ascii(t)[:24] for t in EVIL])
def test_hostile_names_do_nothing(text: str, tmp_path: Path, harmless: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = tapetrace.load(saved(tmp_path, hostile(text)))
    began = time.monotonic()
    for suffix in FILES:
        report.write(str(tmp_path / f"out{suffix}"))
    assert time.monotonic() - began < 10
    assert scripts_of((tmp_path / "out.html").read_text()) == harmless
    for suffix in (".json", ".sarif", ".graph.json"):
        json.loads((tmp_path / f"out{suffix}").read_text(encoding="utf-8"))
    for suffix in (".graphml", ".gexf"):
        ElementTree.parse(tmp_path / f"out{suffix}")
    commands = render_text(report, "github").split("\n")[:-1]
    assert all(re.match(r"::(error|warning) ", line) for line in commands)
    assert len(commands) == len(render_text(reports.in_series(), "github").splitlines())
    for form in ("text", "markdown"):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ud800-\udfff]", render_text(report, form))
    prose = re.sub(r"`+[^`]*`+", "", render_text(report, "markdown"))
    assert not re.search(r"(?<!\\)(<img|<script|\]\()", prose)
    assert list(csv.reader(io.StringIO(render_text(report, "text"))))  # no bare NUL
    assert tapetrace.load(tmp_path / "out.json").calls == report.calls
    assert isinstance(tapetrace.compare(report, reports.in_series()).is_worse, bool)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("text", [EVIL[0], EVIL[9], EVIL[14], EVIL[-1]], ids=["script", "control", "escapes", "long"])
def test_hostile_names_in_a_drawn_picture(text: str, tmp_path: Path) -> None:
    report = tapetrace.load(saved(tmp_path, hostile(text)))
    report.write(str(tmp_path / "out.svg"))
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(tmp_path / "out.svg").iter()}
    assert "script" not in tags
    assert "svg" in tags
    assert "foreignObject" not in tags
    assert not re.search(r"href=\"(?!#)", (tmp_path / "out.svg").read_text())


def with_graph(**changes: Any) -> dict[str, Any]:
    return {**BASE, "graph": {"locations": [], "nodes": [{"name": "a", "type": "T", "status": "live"}], "edges": [], **changes}}


NODES = [{"name": f"n{i}", "type": "T", "status": "live"} for i in range(3)]
BROKEN: dict[str, Any] = {
    "deep list": "[" * 200_000,
    "deep list, closed": "[" * 100_000 + "]" * 100_000,
    "deep object": '{"a":' * 100_000,
    "deep under an unknown key": json.dumps(BASE)[:-1] + ',"z":' + "[" * 50_000 + "]" * 50_000 + "}",
    "NaN": json.dumps(BASE).replace('"checked": 3', '"checked": NaN'),
    "a number of a hundred thousand digits": json.dumps(BASE).replace('"checked": 3', '"checked": ' + "9" * 100_000),
    "an exponent": json.dumps(BASE).replace('"checked": 3', '"checked": 1e400'),
    "UTF-16": json.dumps(BASE).encode("utf-16"),
    "a byte order mark": "\ufeff" + json.dumps(BASE),
    "zeros": b"\0" * 1000,
    "nothing": "",
    "a list": "[]",
    "null": "null",
    "an edge to nowhere": with_graph(edges=[[0, 7, "live"]]),
    "a negative index": with_graph(edges=[[0, -1, "live"]]),
    "a fraction for an index": with_graph(edges=[[0, 0.5, "live"]]),
    "true for an index": with_graph(edges=[[0, True, "live"]]),
    "a circle": with_graph(nodes=NODES, edges=[[0, 1, "live"], [1, 2, "live"], [2, 0, "live"]]),
    "a node that leads to itself": with_graph(edges=[[0, 0, "live"]]),
    "a name twice": with_graph(nodes=[NODES[0], NODES[0]]),
    "a location that is not there": with_graph(nodes=[{**NODES[0], "at": 3}]),
    "calls that are an object": {**BASE, "calls": {}},
    "a path that is a number": {**BASE, "target": 7},
    "keys twice, the last is wrong": json.dumps(BASE)[:-1] + ',"calls":[],"calls":5}',
    "__proto__ in place of a report": '{"__proto__": ' + json.dumps(BASE) + "}",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_report_is_refused_at_once(name: str, tmp_path: Path) -> None:
    file = saved(tmp_path, BROKEN[name])
    began = time.monotonic()
    for read in (tapetrace.load, lambda f: tapetrace.compare(f, f)):
        with pytest.raises(tapetrace.TapetraceError) as refused:
            read(file)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 500
        assert refused.value.exit_code == 2
    assert time.monotonic() - began < 5


def test_many_nodes_are_read_in_a_time_that_grows_with_their_number(tmp_path: Path) -> None:
    """One million nodes are read as well, with the environment variable for long tests."""

    def seconds(count: int) -> float:
        nodes = [{"name": f"n{i}", "type": "T", "status": "live"} for i in range(count)]
        file = saved(tmp_path, with_graph(nodes=nodes, edges=[[i, i + 1, "live"] for i in range(count - 1)]))
        began = time.monotonic()
        assert len(tapetrace.load(file).drawing.nodes) == count
        return time.monotonic() - began

    few = max(seconds(5_000), 0.05)
    assert seconds(50_000) < 40 * few
    if LONG:
        assert seconds(1_000_000) < 120
    with pytest.raises(tapetrace.TapetraceError, match="1000001 elements"):
        tapetrace.load(saved(tmp_path, '{"schema":"tapetrace/1","graph":{"locations":[],"nodes":[' + "0," * 1_000_000 + "0]}}"))


def test_a_file_that_is_too_large_is_not_read_into_memory() -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))

    done = command("render", "/dev/zero", preexec_fn=limited)
    assert (done.returncode, done.stderr) == (
        2,
        b"tapetrace: /dev/zero is larger than 500 MB, no report is: give one that `tapetrace check -o report.json` wrote.\n",
    )


# The command line in places that are not as they should be.


def command(*arguments: str | bytes, cwd: Path | None = None, env: dict[str, str] | None = None, **how: Any) -> subprocess.CompletedProcess[bytes]:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(ROOT)} if env is None else env
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.run([sys.executable, "-m", "tapetrace", *arguments], cwd=cwd, env=variables, timeout=120, check=False, **streams)


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

"""Reports whose names were made to do harm: nothing is run, whatever they are written as."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tapetrace
from tapetrace.api import render_text
from tests.proof.hostile_files import BASE, saved
from tests.unit import reports

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

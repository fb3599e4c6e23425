"""The page: what its words are, that no name becomes markup or script, and that it asks nobody for anything.

After a wanted change of the words: ``UPDATE_GOLDEN=1 pytest tests/pictures/test_html.py``, then look at the page.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tapetrace.errors import OutputError
from tapetrace.model.graph import Role
from tapetrace.model.locations import Location
from tapetrace.model.report import Finding, Intermittent, Report, RootCause
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Verdict
from tapetrace.render import engines
from tapetrace.render.html import render_html, write_html
from tapetrace.render.html_markup import element, json_for_script, prose
from tapetrace.render.html_svg import inline_svg
from tapetrace.render.scene import Kind, Scene, SceneNode
from tapetrace.render.text import render_text
from tapetrace.render.visible import visible
from tests.unit import drawings
from tests.unit.reports import EXAMPLES, at, call, one_cause, report, source

GOLDEN = Path(__file__).parents[1] / "golden"

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]>",
    "\" onload='alert(1)' x=\"",
    "<img src=x onerror=alert(1)>",
    "back\\slash \\u003c \\N",
    "a\nb\r\tc\x00\x1b\u2028\u2029\u202e",
    "層/重み/カーネル 🙂",
    "x" * 300,
    "\ud800",
    "${style} $script {{data}}",
    "&lt;b&gt; &amp;",
    "javascript:alert(1)#source=../..",
    "",
)


class Page(HTMLParser):
    """The page as a browser would see it: elements, attributes, text, and whether every element that is opened is closed."""

    EMPTY = frozenset({"meta", "link", "input", "br", "path", "polygon", "polyline", "ellipse", "rect"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.packed: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.is_packed = dict(attrs).get("type") == "text/plain"
            self.packed |= {dict(attrs)["id"] or "": ""} if self.is_packed else {}
            self.scripts += [] if self.is_packed else [""]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script" and self.is_packed:
            self.packed[list(self.packed)[-1]] += data
        elif self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.text.append(data)

    def of(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [found for name, found in self.elements if name == tag and wanted.items() <= found.items()]

    def unpacked(self, name: str) -> str:
        return gzip.decompress(base64.b64decode(self.packed[f"packed-{name}"], validate=True)).decode("utf-8")

    @property
    def data(self) -> dict[str, list[dict[str, object]]]:
        return json.loads(self.scripts[0])


def words(page: Page) -> str:
    return " ".join(" ".join(page.text).split())


def named(text: str) -> Report:
    """A report that holds the text wherever a text of the user can stand."""
    where = at(3, text, f"{text}.py", text)
    base = one_cause(Cause.STOP_GRADIENT, where, text, f"{text}/kernel", op=text, type_=text)
    cause = replace(base.root_causes[0], detail=text, remedy=text)
    findings = (Finding(text, text, where),)
    return replace(
        base, target=text, root_causes=(cause,), not_asked=findings, unexpected=findings, notes=(text,), error=TraceError(text, text, where)
    )


def test_no_frame_covers_the_lines_in_it() -> None:
    text = render_html(drawings.vae())
    kinds = re.findall('<g class="(cluster|edge|node)', text)
    assert set(kinds) == {"cluster", "edge", "node"}
    assert kinds == sorted(kinds)


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden(name: str) -> None:
    page = render_html(EXAMPLES[name]())
    shown = page[page.index("<header>") : page.index('<section id="pictures"')]
    shown = re.sub(r"(<(?:/?(?:section|article|tr|table|form|main)|h[1-3]|p|li|d[ltd]|label|summary)\b)", r"\n\1", shown) + "\n"
    path = GOLDEN / f"{name}.html"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_number_of_the_text_report_is_on_the_page(name: str) -> None:
    found = EXAMPLES[name]()
    page = words(Page(render_html(found)))
    for sentence in re.findall(r"\d+ of \d+(?: [a-z]+)+|blocks \d+|decides \d+|reopening it [a-z]+ \w+|\w+ itself raised \w+", render_text(found)):
        assert sentence in page


def test_frozen_unexpected_and_intermittent_are_said_as_in_the_text() -> None:
    kept = replace(source("critic/kernel", Verdict.NONE), frozen=True)
    base = report(replace(call(kept, source("out/kernel")), inputs="x=float32[8]"))
    found = replace(base, unexpected=(Finding("b", "critic/b"),), intermittent=(Intermittent("w", "out/w", (0,), (0,)),))
    page = Page(render_html(found))
    said = words(page)
    for sentence in (
        "✓ 1 of 1 variable receives gradient", "traced with x=float32[8]", "1 more frozen, as they should be (critic/kernel)",
        "✗ 1 variable: should be frozen, and gets gradient (unexpected)", "! 1 source: connected at one time and not at another (intermittent)",
    ):  # fmt: skip
        assert sentence in said
    assert [row["data-verdict"] for row in page.of("tr") if "data-verdict" in row] == ["frozen", "connected"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_is_never_markup(text: str) -> None:
    page = Page(render_html(named(text)))
    assert len(page.scripts) == 2
    assert not page.of("img")
    assert {name for tag, found in page.elements for name in found if name.startswith("on")} == set()
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u2029\u202a-\u202e\ud800-\udfff]", "".join(page.text))
    assert visible(text) in "".join(page.text)
    assert page.data["sources"][0]["name"] == visible(text)
    assert page.data["sources"][1]["name"] == visible(f"{text}/kernel")


@pytest.mark.parametrize("name", ["vae", "gan", "branches", "hostile"])
def test_the_page_asks_nobody_for_anything(name: str) -> None:
    text = render_html(getattr(drawings, name)())
    page = Page(text)
    addresses = [value for _, found in page.elements for key, value in found.items() if key in ("href", "src", "action", "data", "srcset", "poster")]
    assert all(value is not None and (value.startswith("#") or value == "data:,") for value in addresses)
    policy = page.of("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML|insertAdjacent|eval\(|document\.write", text)
    assert re.findall(r"https?://[^\"' ]*", page.scripts[1]) == ["http://www.w3.org/2000/svg"]
    assert set(page.packed) == {"packed-engine", *(f"packed-levels-{found['data-call']}" for found in page.of("figure"))}


@pytest.mark.parametrize("name", ["vae", "gan", "branches", "hostile"])
def test_each_box_is_known_to_the_script(name: str) -> None:
    page = Page(render_html(getattr(drawings, name)()))
    drawn = {found["data-box"] for found in page.of("g") if "data-box" in found}
    assert drawn == {b["key"] for b in page.data["boxes"]}
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    anchors = {f"#{thing['anchor']}" for kind in ("sources", "places") for thing in page.data[kind]}
    assert {found["href"] for found in page.of("a") if found["href"] != "#pictures"} <= anchors


def test_without_an_engine_the_page_is_whole_and_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with_engine = Page(render_html(drawings.vae()))
    monkeypatch.setattr(engines.shutil, "which", lambda name: None)
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    page = Page(render_html(drawings.vae()))
    assert "drawn plainly: no layout engine was found" in words(page)
    assert page.data == with_engine.data
    assert len(page.of("g")) == len({n["key"] for n in page.data["boxes"]}) + len([g for g in page.of("g") if g.get("class") == "edge"])


def test_only_shapes_and_text_are_taken_from_the_engine() -> None:
    svg = b"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9"><g class="graph">
        <script>alert(1)</script><g class="node" onclick="alert(1)"><title>p0_0</title><a xlink:href="javascript:alert(1)" xlink:title="t">
        <image href="http://example.org/x.png"/><path d="M0,0" style="background:url(x)" onload="x" fill="#e6f5f0" stroke="url(#x)"/>
        <polygon points="0,0 javascript:x"/><text x="1" y="2"> &lt;b&gt;</text><foreignObject><p>hi</p></foreignObject></a></g></g></svg>"""
    node = SceneNode("p0_0", Kind.LINE, drawings.LIVE, "h")
    page = Page(inline_svg(svg, Scene("t", "s", (node,)), 0, "picture"))
    assert [tag for tag, _ in page.elements] == ["svg", "g", "title", "path", "polygon", "text"]
    assert page.of("path") == [{"class": "f-live-fill s-ink", "d": "M0,0"}]
    assert page.of("polygon") == [{"class": "f-none s-none"}]


def test_code_stays_out_when_asked() -> None:
    text = render_html(drawings.vae(), source=False)
    assert "reduce_mean" not in text
    assert "vae(x, training=True)" not in text
    assert "self.enc(x)" not in Page(text).unpacked("levels-0")
    assert "vae(x, training=True)" in render_html(drawings.vae())
    assert "self.enc(x)" in Page(render_html(drawings.vae())).unpacked("levels-0")


def test_the_page_does_not_tell_where_the_project_lies() -> None:
    d = drawings.Drawing()
    here = Location.new(str(Path.cwd() / "pkg" / "step.py"), 3, "step", "loss = tf.round(v)")
    d.source("v", drawings.DEAD)
    d.op("loss", "Round", ["v"], drawings.BREAK, here, role=Role.TARGET, cause=Cause.GRADIENT_IS_NONE, number=1)
    cause = RootCause(1, Cause.GRADIENT_IS_NONE, here, (("loss", "Round"),), ("v",), ("v",))
    page = render_html(drawings.report_of(d, causes=[cause], locations=[here]))
    assert "pkg/step.py:3" in page
    assert str(Path.cwd()) not in page


def test_the_engine_in_the_page_is_the_one_that_its_note_names() -> None:
    vendored = files("tapetrace.render") / "page" / "vendor"
    note = (vendored / "NOTE.md").read_text(encoding="utf-8")
    engine = Page(render_html(drawings.vae())).unpacked("engine")
    assert hashlib.sha256(engine.encode("utf-8")).hexdigest() in note
    assert re.match(r"/\*!\s+Viz\.js ([0-9.]+)", engine)[1] in note
    assert "Permission is hereby granted, free of charge" in (vendored / "LICENSE.txt").read_text(encoding="utf-8")
    assert len(engine) > 1_000_000


def test_a_page_with_nothing_to_draw_carries_no_engine() -> None:
    assert Page(render_html(report(call()))).packed == {}


def test_write_and_unknown_detail(tmp_path: Path) -> None:
    assert write_html(drawings.vae(), tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert drawings.vae().write(tmp_path / "a.HTML").read_bytes() == (tmp_path / "a.html").read_bytes()
    (tmp_path / "a.HTML").unlink()
    with pytest.raises(OutputError, match="choose one of line, ops, layers"):
        write_html(drawings.vae(), tmp_path / "b.html", detail="tensors")
    assert {p.name for p in tmp_path.iterdir()} == {"a.html"}


@given(st.text())
@example("".join(HOSTILE))
def test_json_cannot_leave_its_script_and_says_what_was_put_in(text: str) -> None:
    written = json_for_script({"a": text})
    assert not set(written) & set("<>&\u2028\u2029")
    written.encode("ascii")
    assert json.loads(written) == {"a": text}


def test_elements_and_prose() -> None:
    assert element("a", "<", href='"&', class_="x", hidden=True, title=None) == '<a href="&quot;&amp;" class="x" hidden="">&lt;</a>'
    assert prose("put `a < b` in <c>") == "put <code>a &lt; b</code> in &lt;c&gt;"

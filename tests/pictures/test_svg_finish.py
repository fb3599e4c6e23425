"""The finished SVG: named, described, with a dark twin for each colour; and a picture of what is never read."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tapetrace.model.graph import GraphNode, ReportGraph, Role, Status
from tapetrace.model.report import RootCause
from tapetrace.model.words import Cause
from tapetrace.render.dot import FAINT, INK, LOOKS
from tapetrace.render.folding import fold
from tapetrace.render.scene import Kind
from tapetrace.render.svg_finish import DARK_FAINT, DARK_INK, DARK_LOOKS, DARK_PAPER, dark_style, finish_svg
from tests.unit import drawings, reports

_NS = "{http://www.w3.org/2000/svg}"


def test_a_written_svg_says_what_it_is(tmp_path: Path) -> None:
    root = ElementTree.parse(drawings.vae().write(tmp_path / "vae.svg")).getroot()
    title, words = root.find(f"{_NS}title"), root.find(f"{_NS}desc")
    assert title is not None
    assert words is not None
    assert title.text == "tapetrace: samples/vae.py:train_step"
    assert words.text == (
        "8 of 8 variables receive no gradient · 1 gradient call · TensorFlow 2.21.0 · Keras 3.15.0; "
        "break 1 outside_tape, vae.py:33 in train_step, 13 ops: MatMul, BiasAdd …, blocks 8 variables, reopening it reconnects 8"
    )
    assert root.get("aria-labelledby") == f"{title.get('id')} {words.get('id')}"
    assert root.get("role") == "img"
    assert "tapetrace" not in {t.text for t in root.iter(f"{_NS}title")}, "the engine's own title hides ours"


def test_what_a_pointer_shows_is_the_hover_title_and_no_key_of_the_engine(tmp_path: Path) -> None:
    for make in (drawings.vae, drawings.hostile):
        root = ElementTree.parse(make().write(tmp_path / "a.svg")).getroot()
        parts = [g for g in root.iter(f"{_NS}g") if g.get("class") in ("node", "edge", "cluster")]
        titles = [(g.findtext(f"{_NS}title"), next(a.get("{http://www.w3.org/1999/xlink}title") for a in g.iter(f"{_NS}a"))) for g in parts]
        assert len(titles) > 8
        assert [key for key, title in titles if key != title] == []
    assert "color-scheme:light dark" in dark_style()


def test_every_colour_of_a_picture_has_a_dark_twin(tmp_path: Path) -> None:
    for report in (drawings.vae(), drawings.gan(), drawings.branches()):
        text = report.write(tmp_path / "a.svg").read_text(encoding="utf-8").partition("</style>")[2]
        style = dark_style().lower()
        for name, colour in set(re.findall(r'(fill|stroke)="(#[0-9a-fA-F]{6})"', text)):
            if colour.lower() == INK.lower():
                continue  # text, whose colour the rule for all texts sets
            assert f'[{name}="{colour.lower()}" i]' in style, (name, colour)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("status", list(Status))
def test_dark_colours_can_be_read(status: Status) -> None:
    line, fill = DARK_LOOKS[status]
    assert set(DARK_LOOKS) == set(LOOKS)
    assert min(contrast(text, ground) for text in (DARK_INK, DARK_FAINT) for ground in (fill, DARK_PAPER)) > 4.5
    assert min(contrast(line, fill), contrast(line, DARK_PAPER)) > 3.0
    assert FAINT.lower() in dark_style().lower()


def test_hostile_names_stay_inside_the_description(tmp_path: Path) -> None:
    root = ElementTree.parse(drawings.hostile().write(tmp_path / "h.svg")).getroot()
    assert not [e for e in root.iter() if isinstance(e.tag, str) and e.tag.rpartition("}")[2] in ("b", "script")]


@pytest.mark.parametrize("svg", [b"", b"<svg></svg>", b"<title>tapetrace</title>"])
def test_what_does_not_look_like_the_engine_comes_back(svg: bytes) -> None:
    assert finish_svg(svg, fold(drawings.vae())) == svg


def unread() -> RootCause:
    return RootCause(1, Cause.NEVER_READ, reports.at(4, "m.build((2, 4))"), (), ("head/kernel", "head/bias"), ())


def test_sources_that_lead_nowhere_are_their_own_break() -> None:
    sources = tuple(GraphNode(n, "Variable", Status.DEAD, Role.SOURCE, label=n) for n in ("head/kernel", "head/bias"))
    other = GraphNode("other", "Variable", Status.DEAD, Role.SOURCE, label="other")
    graph = ReportGraph((*sources, other, GraphNode("loss", "Mean", Status.LIVE, Role.TARGET)))
    scene = fold(replace(reports.report(graph=graph, root_causes=(unread(),)), calls=drawings.vae().calls))
    boxes = {(n.kind, n.heading, n.numbers, n.sources) for n in scene.nodes if not n.is_target}
    assert boxes == {(Kind.BREAK, "never_read", (1,), 2), (Kind.SOURCES, "other", (), 1)}
    assert [n.is_target for n in scene.nodes].count(True) == 1
    assert scene.notes == ()


def test_sources_that_are_read_are_not_the_break() -> None:
    d = drawings.Drawing()
    d.source("head/kernel", Status.DEAD)
    d.op("head/MatMul", "MatMul", ["head/kernel"], Status.DEAD)
    scene = fold(drawings.report_of(d, causes=[unread()]))
    assert [(n.kind, n.numbers) for n in scene.nodes if n.sources or n.numbers] == [(Kind.SOURCES, ()), (Kind.BREAK, (1,))]


def test_a_picture_without_ops_says_why() -> None:
    nothing = reports.report(reports.call())
    assert fold(nothing).notes == ("nothing to draw",)
    alone = reports.report(reports.call(), root_causes=(unread(),))
    scene = fold(alone)
    assert [n.heading for n in scene.nodes] == ["never_read"]
    assert scene.notes == ("no source leads anywhere, so there are no ops to draw",)

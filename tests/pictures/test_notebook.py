"""What a report is in a notebook and at a prompt: quick, harmless, and never an exception."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest

from tapetrace.errors import OutputError
from tapetrace.model.graph import ReportGraph
from tapetrace.model.report import Report
from tapetrace.render import notebook
from tapetrace.render.text import render_text
from tests.unit import drawings, reports

HTML, SVG, TEXT = "text/html", "image/svg+xml", "text/plain"
_DRAWN = "{http://www.w3.org/2000/svg}"


def test_a_notebook_gets_the_text_and_the_picture() -> None:
    found = drawings.vae()._repr_mimebundle_()
    assert set(found) == {TEXT, HTML, SVG}
    assert found[TEXT] + "\n" == render_text(drawings.vae())
    page = ElementTree.fromstring(found[HTML])
    (pre,) = page.iter("pre")
    assert pre.text == found[TEXT]
    (svg,) = page.iter(f"{_DRAWN}svg")
    words = [t.text or "" for t in svg.iter(f"{_DRAWN}text")]
    assert "8 of 8 variables receive no gradient · 1 gradient call · TensorFlow 2.21.0 · Keras 3.15.0" in words
    assert words.count("rec, mu, lv = vae(x, training=True)") == 1
    assert any("/home/ann/samples/vae.py:33" in (t.text or "") for t in svg.iter(f"{_DRAWN}title")), "the place as hover title"
    ElementTree.fromstring(found[SVG])


def test_nothing_in_it_reaches_beyond_it() -> None:
    page = ElementTree.fromstring(drawings.vae()._repr_mimebundle_()[HTML])
    assert {e.tag.rpartition("}")[2] for e in page.iter()} == {"div", "pre", "svg", "g", "title", "text", "path", "polygon"}
    attributes = {name for e in page.iter() for name in e.attrib}
    assert not {a for a in attributes if a == "id" or a == "class" or a.startswith("on") or "href" in a}
    assert "url(" not in "".join(v for e in page.iter() for v in e.attrib.values())


def test_hostile_names_are_text() -> None:
    for report in (drawings.hostile(), reports.hostile_names()):
        found = report._repr_mimebundle_()
        assert HTML in found
        page = ElementTree.fromstring(found[HTML])
        assert {e.tag.rpartition("}")[2] for e in page.iter()} <= {
            "div",
            "pre",
            "svg",
            "g",
            "title",
            "text",
            "path",
            "polygon",
            "polyline",
            "ellipse",
        }
        assert "\x1b" not in "".join(found.values())


def test_an_engine_that_answers_with_markup_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    svg = (
        b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9pt" height="9pt" onload="alert(1)"><g class="graph" transform="x;y">'
        b'<script>alert(2)</script><g class="node" onclick="alert(3)"><title>p0_0</title><image href="http://x/"/>'
        b'<path d="M0,0" fill="url(http://x/)" style="fill:red" stroke="#123456"/></g></g></svg>'
    )
    monkeypatch.setattr(notebook, "draw", lambda report, scene, form, **options: (scene, svg))
    page = drawings.vae()._repr_mimebundle_()[HTML]
    assert not [word for word in ("alert", "http://x", 'style="fill', "x;y") if word in page]
    assert 'stroke="#123456"' in page


@pytest.mark.parametrize(
    ("include", "exclude", "kinds"),
    [
        (None, None, {TEXT, HTML, SVG}),
        ({TEXT}, None, {TEXT}),
        ({HTML}, None, {TEXT, HTML}),
        (None, {HTML}, {TEXT, SVG}),
        ({"image/png"}, None, {TEXT}),
    ],
)
def test_the_kinds_that_are_asked_for(include: set[str] | None, exclude: set[str] | None, kinds: set[str]) -> None:
    assert set(drawings.vae()._repr_mimebundle_(include, exclude)) == kinds


def test_no_picture_is_laid_out_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "draw", lambda *args, **options: pytest.fail("a terminal cannot show it"))
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert set(drawings.vae()._repr_mimebundle_()) == {TEXT}


def test_with_a_kernel_there_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert set(drawings.vae()._repr_mimebundle_()) == {TEXT, HTML, SVG}


@pytest.mark.parametrize("error", [OutputError("no layout engine was found: install <b>Graphviz</b>"), RuntimeError("odd")])
def test_without_an_engine_there_is_the_text(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(notebook, "draw", fail)
    found = drawings.vae()._repr_mimebundle_()
    assert set(found) == {TEXT, HTML}
    page = ElementTree.fromstring(found[HTML])
    (note,) = page.iter("p")
    assert note.text == f"no picture: {error}"


def _no_graph() -> ReportGraph:
    raise RuntimeError("the file of the graph is gone")


def test_it_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = replace(drawings.vae(), build_graph=_no_graph)
    assert set(odd._repr_mimebundle_()) == {TEXT, HTML}
    monkeypatch.setattr(notebook, "render_text", lambda report: _no_graph())
    assert drawings.vae()._repr_mimebundle_() == {TEXT: repr(drawings.vae())}


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (drawings.vae(), "<tapetrace report: 'samples/vae.py:train_step', not ok, 8 of 8 sources without gradient; print() it to read it>"),
        (reports.report(reports.call(reports.source("w"))), "'samples/step.py:train_step', ok, 0 of 1 source without gradient;"),
        (reports.raised(), "not ok, 1 of 3 sources without gradient, ValueError raised;"),
        (reports.report(), "ok, no gradient call;"),
    ],
)
def test_at_a_prompt(report: Report, expected: str) -> None:
    assert expected in repr(report)
    assert "\n" not in repr(report)
    assert f"{report}\n" == render_text(report)


def test_the_text_is_not_shown_by_rich_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook Rich writes into the cell and not where it is told to, unless it is told not to."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(drawings.vae()).startswith("tapetrace  samples/vae.py:train_step")

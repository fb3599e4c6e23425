"""A report as a notebook shows it: the text, and the folded picture inline. Nothing runs, nothing is fetched, no style reaches beyond it.

Jupyter, VS Code and Colab take the richest format that they can show; what is not trusted or is printed falls back to the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from xml.etree import ElementTree

from tapetrace.model.report import Report
from tapetrace.render.folding import fold
from tapetrace.render.html_markup import Markup, element, lines
from tapetrace.render.picture import draw
from tapetrace.render.scene import Scene
from tapetrace.render.svg_finish import finish_svg
from tapetrace.render.text import render_text

TEXT, HTML, SVG = "text/plain", "text/html", "image/svg+xml"
TIME_LIMIT = 5.0
"""Seconds for each try to lay the picture out: a cell should not be waited for."""

_NS, _XLINK_TITLE = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}title"
_SHAPES = ("path", "polygon", "polyline", "ellipse", "text")
_KEPT = (
    "d", "points", "x", "y", "cx", "cy", "rx", "ry", "fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight",
    "text-anchor",
)  # fmt: skip
_HARMLESS = re.compile(r"[-+0-9.,# A-Za-z]*")
"""Colours, numbers, path data and names of fonts; nothing that CSS could call or load."""
_CARD = "background:#fff;color:#1a1a1a;padding:8px;overflow:auto;max-height:720px"
_PRE = "margin:0;background:#fff;color:#1a1a1a;font:12px/1.35 ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace;white-space:pre"


def mimebundle(report: Report, include: Collection[str] | None = None, exclude: Collection[str] | None = None) -> dict[str, str]:
    """The report in the formats that a notebook asks for, by MIME type: the text always, HTML and SVG where a picture can be shown.

    ``include`` and ``exclude`` are IPython's. Never raises: what cannot be made is left out.
    """
    wanted = {TEXT} if _is_terminal() else {TEXT, HTML, SVG} & set(include or (TEXT, HTML, SVG))
    wanted -= set(exclude or ())
    found = {TEXT: repr(report)}
    try:
        found[TEXT] = render_text(report).rstrip("\n")
        if wanted & {HTML, SVG}:
            found |= _pictured(report, found[TEXT])
    except Exception:
        # Showing a value must not fail in the user's notebook, whatever is odd about the report or the machine.
        pass
    return {kind: text for kind, text in found.items() if kind in wanted or kind == TEXT}


def _pictured(report: Report, text: str) -> dict[str, str]:
    words = element("pre", lines(text), style=_PRE)
    try:
        scene, svg = draw(report, fold(report), "svg", time_limit=TIME_LIMIT)
        picture = _inline(svg, scene)
    except Exception as error:  # no layout engine, or one that answers with what is no SVG
        note = element("p", f"no picture: {error}", style="margin:8px 0 0;color:#555")
        return {HTML: element("div", words, note, style=_CARD)}
    return {HTML: element("div", words, picture, style=_CARD), SVG: finish_svg(svg, scene).decode("utf-8")}


def _inline(svg: bytes, scene: Scene) -> Markup:
    """The engine's SVG made anew: shapes and texts alone, without ids, links and comments, each box with its hover title."""
    root = ElementTree.fromstring(svg)
    titles = {n.key: n.tooltip or n.heading for n in scene.nodes}
    drawing = next(root.iter(f"{_NS}g"))
    move = drawing.get("transform", "")
    groups = [_group(g, titles) for g in (drawing, *drawing.iter(f"{_NS}g")) if g.get("class") in ("graph", "cluster", "edge", "node")]
    inside = element("g", *groups, transform=move if re.fullmatch(r"[-0-9. ,()a-z]*", move) else None)
    sizes = {key: value for key in ("viewBox", "width", "height") if re.fullmatch(r"[-0-9. pt]+", value := root.get(key, ""))}
    return element("svg", inside, xmlns=_NS[1:-1], role="img", aria_label=f"{scene.title}: {scene.subtitle}", style="margin-top:8px", **sizes)


def _group(group: ElementTree.Element, titles: dict[str, str]) -> Markup:
    title = titles.get(group.findtext(f"{_NS}title") or "") or next((a.get(_XLINK_TITLE, "") for a in group.iter(f"{_NS}a")), "").strip()
    return element("g", *([element("title", lines(title))] if title else []), *_shapes(group))


def _shapes(group: ElementTree.Element) -> Iterator[Markup]:
    for found in group.iter() if group.get("class") != "graph" else _own(group):
        tag = found.tag.removeprefix(_NS) if isinstance(found.tag, str) else ""
        if tag in _SHAPES:
            kept = {name: value for name in _KEPT if (value := found.get(name, "")) and _HARMLESS.fullmatch(value)}
            yield element(tag, *([lines(found.text or "")] if tag == "text" else []), **kept)


def _own(drawing: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """What belongs to the graph itself: background, title, legend."""
    for child in drawing:
        if child.get("class") not in ("cluster", "edge", "node"):
            yield from child.iter()


def _is_terminal() -> bool:
    """Whether IPython runs without a kernel, in a terminal, which shows the text alone."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and not hasattr(shell, "kernel")

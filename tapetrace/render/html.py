"""The report as one HTML file: text on the left, pictures on the right, nothing fetched from anywhere, readable without JavaScript."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from tapetrace.errors import OutputError
from tapetrace.model.report import Report
from tapetrace.render.files import write_atomic
from tapetrace.render.html_levels import levels_json
from tapetrace.render.html_links import link
from tapetrace.render.html_markup import element, escape, join, json_for_script
from tapetrace.render.html_packed import engine, packed
from tapetrace.render.html_picture import MOST, draw_calls, figure
from tapetrace.render.html_sources import filters, page_data, source_list
from tapetrace.render.html_text import answers, header
from tapetrace.render.units import Details
from tapetrace.render.visible import shown_target

_SCRIPTS = ("elements.js", "packed.js", "picture.js", "gestures.js", "levels.js", "boxes.js", "layout.js", "choice.js", "groups.js", "filters.js")
"""One scope, in this order."""


def write_html(report: Report, path: Path, *, detail: str = "line", source: bool = True) -> Path:
    """Write the page to ``path`` and return the path. Without a layout engine the pictures are plainer, and say so.

    ``detail`` is what one box of a picture stands for: ``line``, ``ops`` or ``layers``; ``source=False`` leaves the user's code out.
    Raises `tapetrace.TapetraceError` for an unknown detail or a path that cannot be written.
    """
    if detail not in Details:
        raise OutputError(f"there is no picture at the detail {detail!r}: choose one of {', '.join(Details)}")
    write_atomic(path, render_html(report, detail=detail, source=source).encode("utf-8"))
    return path


def render_html(report: Report, *, detail: str = "line", source: bool = True) -> str:
    """The page as text."""
    pictures = draw_calls(report, detail=detail, source=source)
    links = link(report, {p.call: p.scene for p in pictures})
    data = page_data(report, links, pictures, source=source)
    drawn = join(*(figure(p) for p in pictures)) if pictures else element("p", "There is nothing to draw.", class_="note")
    missing = len(report.calls) - len(pictures)
    if pictures and missing > 0:
        drawn = join(drawn, element("p", f"{missing} more gradient calls are not drawn (at most {MOST} are, broken ones first)", class_="note"))
    # substitute() looks at the template alone: a $ in a name or in the script means nothing.
    return Template(_part("page.html")).substitute(
        title=escape(f"tapetrace: {shown_target(report.target)}"),
        style=_part("style.css"),
        header=header(report),
        filters=filters(report, links),
        answers=answers(report, links, source=source),
        sources=source_list(report, links),
        pictures=drawn,
        data=json_for_script(data),
        packed=join(*(packed(levels_json(p.levels, links, p.call), f"levels-{p.call}") for p in pictures), *([engine()] if pictures else [])),
        script="".join(_part(name) for name in _SCRIPTS),
    )


def _part(name: str) -> str:
    return (files("tapetrace.render") / "page" / name).read_text(encoding="utf-8")

"""The pictures of the page: one for each gradient call, laid out by the engine, or plainly where there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from xml.etree.ElementTree import ParseError

from tapetrace.errors import OutputError
from tapetrace.model.graph import ReportGraph
from tapetrace.model.report import Report
from tapetrace.render.dot import LOOKS
from tapetrace.render.folding import fold
from tapetrace.render.html_layered import layered_svg
from tapetrace.render.html_markup import Markup, element, prose
from tapetrace.render.html_svg import inline_svg
from tapetrace.render.html_text import headline
from tapetrace.render.levels import Levels, levels_of
from tapetrace.render.outline import CallOutline, outline
from tapetrace.render.picture import draw
from tapetrace.render.scene import Scene

MOST = 8
"""Pictures on one page; of more calls, those with something broken are drawn first."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One gradient call drawn, and what opens inside its boxes. ``notice`` says why the picture is plainer than it could be."""

    call: int
    title: str
    scene: Scene
    svg: Markup
    levels: Levels
    notice: str = ""


def draw_calls(report: Report, *, detail: str = "line", source: bool = True) -> tuple[Picture, ...]:
    """Pictures in the order of the calls; a call that the drawing has nothing of, and that no root cause belongs to, has none."""
    drawn = {c for n in report.drawing.nodes for c in n.calls} | {r.call for r in report.root_causes}
    calls = [c for c in outline(report) if c.index in drawn]
    chosen = sorted(calls, key=lambda c: not c.broken)[:MOST]
    return tuple(_draw_call(report, c, detail, source) for c in calls if c in chosen)


def _draw_call(report: Report, found: CallOutline, detail: str, source: bool) -> Picture:
    title = f"{found.asked(source)}: {headline(found)[0]}"
    if len(report.calls) > 1:
        title = f"Call {found.index + 1}: {title}"
    own = _of_call(report, found.index)
    scene = fold(own, detail=detail, source=source)
    label = f"Picture of {title}. Data flows from top to bottom; the text beside it says the same."
    notice = ""
    try:
        scene, svg = draw(own, scene, "svg", detail=detail, source=source, titled=False)
        picture = inline_svg(svg, scene, found.index, label)
    except (OutputError, ParseError) as error:
        notice = f"drawn plainly: {error}"
        picture = layered_svg(scene, found.index, label)
    return Picture(found.index, title, scene, picture, levels_of(own, scene, source=source), notice)


def _of_call(report: Report, call: int) -> Report:
    """The report with the drawing and the root causes of this call alone."""
    nodes = tuple(replace(n, calls=(call,)) for n in report.drawing.nodes if call in n.calls)
    names = {n.name for n in nodes}
    graph = ReportGraph(nodes, tuple(e for e in report.drawing.edges if e.tail in names and e.head in names))
    return replace(report, root_causes=tuple(r for r in report.root_causes if r.call == call), build_graph=lambda: graph)


def figure(picture: Picture) -> Markup:
    """The picture with its title, legend and notes."""
    samples = [
        element(
            "li", element("span", "✂" if status.value == "break" else "", class_=f"sample {status.value}", aria_hidden="true"), LOOKS[status].means
        )
        for status in picture.scene.statuses
    ]
    notes = [element("p", prose(note), class_="note") for note in picture.scene.notes]
    if picture.notice:
        notes.append(element("p", prose(picture.notice), class_="note plainer"))
    return element(
        "figure",
        element("figcaption", element("h3", picture.title), element("ul", *samples, class_="legend", aria_label="Legend"), *notes),
        element("p", "A picture that is wider than its frame scrolls inside it.", class_="note no-js"),
        element("div", picture.svg, class_="view", tabindex="0", role="group", aria_label=picture.title),
        class_="picture", data_call=str(picture.call), data_plain=bool(picture.notice),
    )  # fmt: skip

"""A report as a picture file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tapetrace.errors import OutputError
from tapetrace.model.report import Report
from tapetrace.render.dot import scene_to_dot
from tapetrace.render.engines import TIME_LIMIT, LayoutTimeout, lay_out
from tapetrace.render.files import write_atomic
from tapetrace.render.folding import BUDGET, fold
from tapetrace.render.frame_titles import sides_of_titles
from tapetrace.render.pdf_finish import finish_pdf
from tapetrace.render.scene import Scene
from tapetrace.render.source_links import Link, links_from
from tapetrace.render.svg_finish import finish_svg
from tapetrace.render.units import Details

picture_formats = frozenset({".svg", ".pdf", ".png", ".dot"})

_FINISH = {".svg": finish_svg, ".pdf": finish_pdf}

_BUDGETS = (BUDGET, 40, 12)
"""Boxes in the first picture, and in those that are tried when the layout of the one before takes too long."""


def write_picture(report: Report, path: Path, *, detail: str = "line", source: bool = True, time_limit: float = TIME_LIMIT) -> Path:
    """Draw the report into ``path``, in the format its suffix names, and return the path.

    ``detail`` is ``line``, ``ops`` or ``layers``; ``source=False`` leaves the user's code out. When the layout takes longer than ``time_limit``
    seconds the picture is folded further, and says so. Raises `OutputError` for an unknown suffix or detail, a path that cannot be written, or
    for want of a layout engine; in the last case the graph has been written next to ``path`` with the suffix ``.dot``.
    """
    suffix = path.suffix.lower()
    if suffix not in picture_formats:
        raise OutputError(f"cannot draw {str(path)!r}: end its name in {', '.join(sorted(picture_formats))}")
    if detail not in Details:
        raise OutputError(f"there is no picture at the detail {detail!r}: choose one of {', '.join(Details)}")
    scene = fold(report, detail=detail, source=source)
    if suffix == ".dot":
        write_atomic(path, scene_to_dot(scene).encode("utf-8"))
        return path
    try:
        drawn, picture = draw(report, scene, suffix[1:], detail=detail, source=source, time_limit=time_limit, link=links_from(path))
    except OutputError as error:
        beside = path.with_suffix(".dot")
        write_atomic(beside, scene_to_dot(scene).encode("utf-8"))
        raise OutputError(f"{str(path)!r} was not drawn, its graph is in {str(beside)!r}: {error}") from error
    finish = _FINISH.get(suffix)
    write_atomic(path, finish(picture, drawn) if finish else picture)
    return path


def draw(
    report: Report,
    scene: Scene,
    form: str,
    *,
    detail: str = "line",
    source: bool = True,
    titled: bool = True,
    time_limit: float = TIME_LIMIT,
    link: Link | None = None,
) -> tuple[Scene, bytes]:
    """A scene of the report laid out by the engine, folded further as long as the layout takes too long, with the scene that was drawn at last.

    Raises `OutputError` when even the coarsest takes too long, or for want of a layout engine.
    """
    for further in (*_BUDGETS[1:], None):
        try:
            sides = _sides(scene, titled, time_limit)
            return scene, lay_out(scene_to_dot(scene, titled=titled, link=link, sides=sides), form, time_limit=time_limit)
        except LayoutTimeout:
            if further is None:
                break
        folded = fold(report, detail=detail, budget=further, source=source)
        note = f"folded to at most {further} boxes, since the layout of more took longer than {time_limit:g} s"
        scene = replace(folded, notes=(*folded.notes, note))
    raise OutputError(f"the layout took longer than {time_limit:g} s even with {_BUDGETS[-1]} boxes: draw it with `dot` where there is more time")


def _sides(scene: Scene, titled: bool, time_limit: float) -> dict[str, str]:
    """The sides of the titles of frames; an engine that cannot tell where things lie may still draw them."""
    if not scene.groups:
        return {}
    try:
        return sides_of_titles(lay_out(scene_to_dot(scene, titled=titled), "json0", time_limit=time_limit))
    except (OutputError, ValueError, KeyError):
        return {}

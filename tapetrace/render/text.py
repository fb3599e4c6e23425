"""The report for a terminal or a bug report: root causes first, each with the line, what it blocks, and what to do."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from tapetrace.model.report import Report
from tapetrace.render.text_calls import call_lines
from tapetrace.render.text_layout import Layout
from tapetrace.render.text_step import header_lines, step_lines
from tapetrace.render.visible import plain


def render_text(report: Report, *, color: bool = False, width: int | None = None, source: bool = True, ascii: bool = False) -> str:
    """The report as text that ends with a line end.

    ``color`` adds terminal colours and changes no character. ``width`` is the column at which sentences wrap, 110 by default; code and paths
    are never broken. ``source=False`` leaves the user's code out. ``ascii=True`` is for a stream that cannot encode ✗, │ and …: everything
    outside ASCII is replaced or escaped. Names come out literally, brackets included, with control characters escaped.
    """
    layout = Layout(width=max(40, width or 110), source=source)
    blocks = [header_lines(report)]
    blocks += call_lines(report, layout)
    blocks += step_lines(report, layout)
    lines = [line for block in blocks if block for line in [*block, Text()]]
    return print_lines(lines[:-1], color, ascii)


def print_lines(lines: list[Text], color: bool, ascii: bool) -> str:
    """The lines as text, one a line, in terminal colours or without, in ASCII alone if asked for."""
    out = io.StringIO()
    console = Console(
        file=out, width=1_000_000, force_terminal=color, no_color=not color, color_system="standard" if color else None, markup=False, emoji=False,
        highlight=False, legacy_windows=False, force_jupyter=False,
    )  # fmt: skip
    for line in lines:
        line.rstrip()
        if ascii:
            line = _in_ascii(line)
        console.print(line, soft_wrap=True)
    return out.getvalue()


def _in_ascii(line: Text) -> Text:
    """The line in ASCII, each of its spans keeping its style."""
    spans = [(piece.plain, piece.spans[-1].style if piece.spans else "") for piece in line.divide(_borders(line))]
    return Text.assemble(*((plain(text), style) for text, style in spans), style=line.style)


def _borders(line: Text) -> list[int]:
    return sorted({offset for span in line.spans for offset in (span.start, span.end)})

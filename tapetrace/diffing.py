"""`tapetrace diff`: what changed from one saved report to another. 0: nothing got worse, 1: something did, 2: no answer."""

# Python 3.10 needs Optional for the older Typers.
import os
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from tapetrace.answering import BROKEN, OK, answering
from tapetrace.config import resolve
from tapetrace.destinations import check_folder
from tapetrace.options import ColorOption, Debug, SourceOption
from tapetrace.streams import color_wanted, complain, put, terminal_width


class DiffFormat(str, Enum):
    """What a comparison can be printed as."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE.json", help="A report that `tapetrace check -o before.json` wrote.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER.json", help="A later report of the same step.")],
    output: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option("--output", "-o", metavar="FILE", help="Also write it: .txt .json .md; may be repeated."),
    ] = None,
    format: Annotated[DiffFormat, typer.Option(help="What is printed.")] = DiffFormat.TEXT,
    source: SourceOption = None,
    color: ColorOption = None,
    debug: Debug = False,
) -> None:
    """Say what changed between two reports of a step: sources that lost or regained their gradient, other causes, what is new or gone."""
    with answering(debug):
        from tapetrace.api import load
        from tapetrace.comparing import check_suffix, compare, render_comparison, write_comparison
        from tapetrace.model.encoding import report_with_short_paths

        settings = resolve({"source": source, "color": color}, os.environ, Path.cwd())
        for file in output or []:
            check_suffix(file)
            check_folder(file)
        reports = [load(before), load(after)]  # calls are matched by their code, which must not be gone before
        found = compare(*(reports if settings.source else map(report_with_short_paths, reports)))
        for file in output or []:
            write_comparison(found, file, source=settings.source)
            complain(f"wrote {file}")
        colored = color_wanted(settings.color.value) and format is DiffFormat.TEXT
        put(render_comparison(found, format.value, color=colored, width=terminal_width(), source=settings.source))
        raise typer.Exit(BROKEN if found.is_worse else OK)

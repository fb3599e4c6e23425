"""Two reports of one step held against each other: before and after a change, or an upgrade of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from tapetrace.api import load
from tapetrace.errors import OutputError, UsageError
from tapetrace.model.comparison import Comparison
from tapetrace.model.report import Report

FORMATS = {".txt": "text", ".json": "json", ".md": "markdown"}
"""Suffixes of a file that a comparison can be written to, and the format that each names."""


def compare(before: Report | str | Path, after: Report | str | Path) -> Comparison:
    """What changed from one report of a step to another: each is a `Report`, or the path of one that was saved as JSON.

    Gradient calls are matched by function and text of their line, so that moved lines change nothing, sources by call and path. ``is_worse`` is what
    `tapetrace diff` makes its exit code of. Raises `tapetrace.TapetraceError` for a file that cannot be read or is no report.

    >>> found = tapetrace.compare("before.json", "after.json")      # doctest: +SKIP
    >>> found.is_worse, [s.label for s in found.sources]            # doctest: +SKIP
    (True, ['vae/enc/kernel'])
    """
    from tapetrace.analysis.comparison import compare as compared

    return compared(_report(before), _report(after))


def _report(found: Report | str | Path) -> Report:
    return found if isinstance(found, Report) else load(found)


def render_comparison(found: Comparison, format: str = "text", *, color: bool = False, width: int | None = None, source: bool = True) -> str:
    """The comparison as ``text``, ``json`` or ``markdown``; ``source=False`` leaves lines of code out."""
    if format == "text":
        from tapetrace.render.comparison_text import render_comparison_text

        return render_comparison_text(found, color=color, width=width, source=source)
    if format == "json":
        from tapetrace.model.comparison_encoding import comparison_to_json

        return comparison_to_json(found, source=source)
    if format == "markdown":
        from tapetrace.render.comparison_markdown import render_comparison_markdown

        return render_comparison_markdown(found, source=source)
    raise UsageError(f"format={format!r} is not one of {', '.join(FORMATS.values())}: a comparison is told in these alone.")


def write_comparison(found: Comparison, path: Path, *, source: bool = True) -> Path:
    """Write the comparison in the format that the suffix of ``path`` names; a file that is there is replaced only when the new one is whole."""
    from tapetrace.render.files import write_atomic

    check_suffix(path)
    write_atomic(path, render_comparison(found, FORMATS[path.suffix.lower()], source=source).encode("utf-8", "replace"))
    return path


def check_suffix(path: Path) -> None:
    """Raise `OutputError` when the suffix of ``path`` names no format of a comparison."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"the suffix of {str(path)!r} names no format of a comparison: end it in one of {' '.join(FORMATS)}")

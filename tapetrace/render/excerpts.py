"""A few lines of the user's code around a place, as the file has them when the report is written."""

from __future__ import annotations

import linecache
import os
import textwrap
from collections.abc import Sequence

from tapetrace.model.locations import Frame

AROUND = 3
"""Lines shown above and below."""

_LARGEST = 5_000_000


def excerpt(frame: Frame, around: int = AROUND) -> Sequence[tuple[int, str]]:
    """(line number, text) of the lines around a frame, their common indentation removed.

    Of a file that cannot be read, or has changed since, only the line that the report holds. A report may come from anybody and name any file:
    neighbours are read from Python files only, and only where the line itself is known.

    >>> excerpt(Frame("nowhere.py", 7, "step", "y = f(x)"))
    [(7, 'y = f(x)')]
    """
    if not frame.code:
        return []
    found = _lines(frame.file)
    if not 0 < frame.line <= len(found) or found[frame.line - 1].strip() != frame.code.strip():
        return [(frame.line, frame.code)]
    first, last = _block(found, frame.line, max(1, frame.line - around), min(len(found), frame.line + around))
    shown = textwrap.dedent("".join(f"{line.rstrip()}\n" for line in found[first - 1 : last])).split("\n")[:-1]
    return list(zip(range(first, last + 1), shown, strict=True))


def _block(found: Sequence[str], line: int, first: int, last: int) -> tuple[int, int]:
    """The lines from ``first`` to ``last`` that no two empty lines in a row part from ``line``, and without empty ones at the ends."""
    is_empty = [not text.strip() for text in found]
    top = line
    while top > first and not (is_empty[top - 2] and (top < 3 or is_empty[top - 3])):
        top -= 1
    bottom = line
    while bottom < last and not (is_empty[bottom] and (bottom + 1 >= len(found) or is_empty[bottom + 1])):
        bottom += 1
    while top < line and is_empty[top - 1]:
        top += 1
    while bottom > line and is_empty[bottom - 1]:
        bottom -= 1
    return top, bottom


def _lines(file: str) -> list[str]:
    try:
        if not file.endswith(".py") or not os.path.isfile(file) or os.path.getsize(file) > _LARGEST:
            return []
        linecache.checkcache(file)
        return linecache.getlines(file)
    except (OSError, ValueError, SyntaxError, MemoryError):
        return []

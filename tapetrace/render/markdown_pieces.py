"""Names, code and sentences of a report as Markdown in which no text of the user can become markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tapetrace.model.locations import Location
from tapetrace.render.text_layout import place_text
from tapetrace.render.visible import visible, visible_sentence

MOST = 8
"""Names that are listed before the rest folds."""


def at_place(location: Location | None) -> str:
    return f" at {code_span(place_text(location.frame))}" if location else ""


def code_names(names: Sequence[str]) -> str:
    shown = ", ".join(code_span(n) for n in names[:MOST])
    return shown + (f", … {len(names) - MOST} more" if len(names) > MOST else "")


def code_span(text: str) -> str:
    """A code span, fenced by more backticks than the text has in a row."""
    text = visible(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def code_fence(location: Location | None, source: bool) -> list[str]:
    if not source or location is None or not location.code:
        return []
    code = visible(location.code)
    ticks = "`" * max(3, max((len(run) for run in re.findall("`+", code)), default=0) + 1)
    return [f"{ticks}python\n{code}  # line {location.line}\n{ticks}"]


def escape(text: str) -> str:
    """Text in which no character means anything to Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]()#+\-!|<>~&@])", r"\\\1", visible_sentence(text))


def prose(text: str) -> str:
    """Our own sentence: what stands between backticks is code, the rest is escaped."""
    pieces = re.split(r"`([^`]*)`", visible_sentence(text))
    return "".join(code_span(piece) if i % 2 else re.sub(r"([\\*_\[\]<>&|~])", r"\\\1", piece) for i, piece in enumerate(pieces))

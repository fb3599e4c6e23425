"""How lines of the text report are laid out: columns, hanging indents, code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from tapetrace.model.locations import Frame, Location
from tapetrace.render.visible import shown_path, visible

BAD, GOOD, MAYBE, FAINT, NAME = "bold red", "bold green", "bold yellow", "bright_black", "bold"
"""Styles of what is broken, connected, undecided, beside the point, and named."""

LABEL = 5
"""Column of the labels (blocks, mend) under a place."""
BODY = 12
"""Column of what stands behind a label."""

_WORDS = re.compile(r"( *)((?:`[^`]*`|[^ ])+)")


def place_text(frame: Frame | None) -> str:
    """``file:line`` with the path shortened; says so when the place is not known."""
    return f"{shown_path(frame.file)}:{frame.line}" if frame else "place not known"


@dataclass(frozen=True, slots=True)
class Layout:
    """``width``: column at which sentences wrap. ``source``: whether the user's code is shown."""

    width: int
    source: bool

    def labelled(self, label: str, sentence: str, style: str = "") -> list[Text]:
        """A label and a sentence that wraps behind it."""
        column = max(BODY, LABEL + len(label) + 3)
        lines = _wrap(sentence, self.width - column)
        first = Text(" " * LABEL).append(label.ljust(column - LABEL), FAINT).append(lines[0], style)
        return [first, *(Text(" " * column).append(line, style) for line in lines[1:])]

    def sentence(self, sentence: str, indent: int = 2, style: str = "") -> list[Text]:
        """A sentence that wraps under its own first word."""
        return [Text(" " * indent).append(line, style) for line in _wrap(sentence, self.width - indent)]

    def code(self, location: Location | None) -> list[Text]:
        """The line of code with its number, if there is code and it may be shown."""
        if not self.source or location is None or not location.code:
            return []
        return [Text().append(f"{location.line:>{BODY - 1}} │ ", FAINT).append(visible(location.code))]

    def headline(self, sign: str, style: str, text: str, where: str) -> Text:
        """A sign, what is the matter, and where, far enough apart to be read as two columns."""
        line = Text().append(f"{sign} {text}", style)
        return line.append("      ").append(where, FAINT) if where else line


def _wrap(sentence: str, width: int) -> list[str]:
    """Words onto lines of at most ``width`` columns. Code between backticks is one word; a word that is too long stands alone, unbroken."""
    lines, line = [], ""
    for gap, word in _WORDS.findall(sentence):
        if line and cell_len(f"{line}{gap}{word}") > width:
            lines.append(line)
            line = word
        else:
            line += gap + word
    return [*lines, line]

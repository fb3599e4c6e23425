"""Names, code and paths of the user, made safe and short to print."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from tapetrace.model.privacy import short_path, short_target

LONGEST = 300
"""Characters of one name or line of code that are printed; what is longer came from a machine."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, longest: int = LONGEST) -> str:
    """The text with everything escaped that a terminal would obey or not show: control characters, line ends, bidirectional marks."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _HIDDEN else c for c in short)


def visible_sentence(text: str) -> str:
    """The same for prose, which may be longer, and whose line ends are spaces."""
    return visible(" ".join(text.split()), 4 * LONGEST)


_ASCII = str.maketrans({"✗": "x", "✓": "ok", "│": "|", "…": "...", "·": "-", "→": "->", "—": "-"})


def plain(text: str) -> str:
    """The text in ASCII: the report's own signs get a plain twin, other characters are escaped."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def shown_path(file: str) -> str:
    """A path as short as it can be, made harmless."""
    return visible(short_path(file))


def shown_target(target: str) -> str:
    """A target such as ``/home/me/train.py:step`` with its path shortened, made harmless."""
    return visible(short_target(target))


def fold_names(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c, … 5 more``: at most ``most`` names, and never a fold that hides a single one."""
    if len(names) <= most + 1:
        return ", ".join(visible(n) for n in names)
    return f"{', '.join(visible(n) for n in names[:most])}, … {len(names) - most} more"

"""The words on a box of the picture: short, in the terms of the text report."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from tapetrace.model.graph import GraphNode
from tapetrace.model.locations import Location
from tapetrace.model.report import RootCause, SourceResult
from tapetrace.model.words import Returned, Verdict

CODE_WIDTH = 60
"""Columns of code in a box; the hover title has the whole line."""
NAME_WIDTH = 46
NAMES_SHOWN = 3


def columns(text: str) -> int:
    """How many columns of a fixed-width font the text takes; an East Asian wide character takes two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clip(text: str, width: int, keep_end: bool = False) -> str:
    """The text on one line of at most ``width`` columns, with … for what is left out, in the middle if the end is to be kept."""
    text = " ".join(text[: 40 * width].split()) if not keep_end else " ".join(text.split())
    if columns(text) <= width:
        return text
    tail = ""
    if keep_end:
        for c in reversed(text):
            if columns(tail) + columns(c) > width // 2:
                break
            tail = c + tail
    head = ""
    for c in text:
        if columns(head) + columns(c) + 1 + columns(tail) > width:
            break
        head += c
    return f"{head}…{tail}"


def count(number: int, word: str) -> str:
    """``1 op``, ``3,012 ops``, ``2 branches``."""
    plural = word + ("es" if word.endswith(("ch", "s")) else "s")
    return f"{number:,} {word if number == 1 else plural}"


def names(all_names: Sequence[str], shown: int = NAMES_SHOWN) -> str:
    """The first few names and how many more, without the path that they share."""
    unique = list(dict.fromkeys(all_names))
    if len(unique) > shown + 1:
        more = f" … {len(unique) - shown} more"
        unique = unique[:shown]
    else:
        more = ""
    return ", ".join(clip(n, max(14, NAME_WIDTH // max(1, len(unique))), keep_end=True) for n in unique) + more


def sources_heading(labels: Sequence[str]) -> str:
    """``vae/enc  kernel, bias`` for the variables of one layer; names and a count for those of several."""
    owners = {label.rpartition("/")[0] for label in labels}
    if len(labels) == 1:
        return clip(labels[0], NAME_WIDTH, keep_end=True)
    owner = owners.pop() if len(owners) == 1 else ""
    if owner:
        own = names([label.rpartition("/")[2] for label in labels])
        return f"{clip(owner, max(NAME_WIDTH // 2, NAME_WIDTH - columns(own)), keep_end=True)}: {own}"
    if len(labels) <= NAMES_SHOWN:
        return names(labels)
    return f"{clip(labels[0], NAME_WIDTH // 2, keep_end=True)} … {clip(labels[-1], NAME_WIDTH // 2, keep_end=True)}"


def sources_footnote(found: Sequence[SourceResult | None], total: int, kind: str, place: Callable[[Location | None], str]) -> str:
    """How many sources, what TensorFlow hands back for those without gradient, and where it is decided whether others get theirs."""
    words: list[str] = []
    handed = {s.returned for s in found if s is not None and s.is_broken}
    if handed == {Returned.NONE}:
        words.append("gradient is None")
    elif handed == {Returned.TENSOR}:
        words.append("gradient is all zeros")
    elif handed == {Returned.ERROR} or any(s is not None and s.verdict is Verdict.ERROR for s in found):
        words.append("the gradient call raises")
    elif handed:
        words.append("no gradient")
    elif deciding := {place(s.breaks[0].location) for s in found if s is not None and s.verdict is Verdict.CONDITIONAL and s.breaks}:
        words.append(f"decided by {deciding.pop()}" if len(deciding) == 1 else "in some branches")
    if total > 1:
        words.insert(0, count(total, kind))
    return " · ".join(words)


def op_types(nodes: Sequence[GraphNode], shown: int = 3) -> str:
    """The commonest op types: ``MatMul, BiasAdd, Relu …``."""
    counted = Counter(n.type for n in nodes)
    quiet = ("Identity", "ReadVariableOp", "Const", "Cast", "NoOp")
    ranked = sorted(counted, key=lambda t: (t in quiet, -counted[t]))
    return ", ".join(clip(t, 30) for t in ranked[:shown]) + (" …" if len(ranked) > shown else "")


def blocked(cause: RootCause | None, kinds: Mapping[str, str]) -> str:
    """``blocks 8 variables, reopening it reconnects 8``, as in the text report; ``kinds`` says of names whether they are of variables or tensors."""
    if cause is None or not cause.blocks:
        return ""
    again = f", reopening it reconnects {len(cause.reconnects)}" if cause.reconnects else ""
    blocked_kinds = {kinds[name] for name in cause.blocks if name in kinds}
    return f"blocks {count(len(cause.blocks), blocked_kinds.pop() if len(blocked_kinds) == 1 else 'source')}{again}"


def lines_of(parts: Iterable[str]) -> str:
    """The parts that are not empty, one a line."""
    return "\n".join(p for p in parts if p)

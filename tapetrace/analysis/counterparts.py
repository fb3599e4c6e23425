"""Which call, source and root cause of one report is which of another, although lines moved, files are elsewhere and names were counted anew."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import TypeVar

from tapetrace.model.locations import Location
from tapetrace.model.report import CallResult, RootCause, SourceResult

T = TypeVar("T")
Key = Callable[[T], Hashable]
Pairs = list[tuple[int, int]]

_MOST_WEIGHED = 10_000
"""Pairs of equal keys that are held against each other; of more, the first goes with the first."""


def match_calls(before: Sequence[CallResult], after: Sequence[CallResult]) -> Pairs:
    """Positions of the calls that are the same one: by function and text of the line, then by target, by line, and by the sources asked for."""
    keys: tuple[Key[CallResult], ...] = (
        lambda c: (c.kind, _file(c.location), _function(c.location), _code(c.location), _targets(c), c.inputs),
        lambda c: (c.kind, _function(c.location), _code(c.location), _targets(c)),
        lambda c: (c.kind, _function(c.location), _code(c.location)),
        lambda c: (c.kind, _file(c.location), _function(c.location), _targets(c)),
        lambda c: (c.kind, _file(c.location), c.location.line if c.location else 0),
        lambda c: (c.kind, frozenset(s.label for s in c.sources)),
    )
    ours, theirs = ([{s.label for s in c.sources} for c in calls] for calls in (before, after))

    def alike(b: int, a: int) -> int:
        return len(ours[b] & theirs[a])

    pairs = _match(before, after, keys, alike=alike)
    # A line that was written anew: what is left is the same call when most of what it asks for is the same.
    rest = _match(before, after, (lambda c: c.kind,), matched=pairs, alike=alike)
    return sorted(pairs + [(b, a) for b, a in rest if 2 * alike(b, a) > max(len(ours[b]), len(theirs[a]))])


def match_sources(before: Sequence[SourceResult], after: Sequence[SourceResult]) -> Pairs:
    """Positions of the sources that are the same one: by path, and then by path without the numbers that Keras counts up, where that is clear."""
    pairs = _match(before, after, (lambda s: (s.label, s.kind, s.shape), lambda s: (s.label, s.kind)))
    numbers = [Counter(_uncounted(s) for s in _left(items, taken)) for items, taken in zip((before, after), _taken(pairs), strict=True)]
    rest = _match(before, after, (_uncounted,), matched=pairs)
    return sorted(pairs + [(b, a) for b, a in rest if numbers[0][_uncounted(before[b])] == numbers[1][_uncounted(after[a])]])


def match_root_causes(before: Sequence[RootCause], after: Sequence[RootCause]) -> Pairs:
    """Positions of the root causes that are the same one: of one cause, by function and text of the line, then by line."""
    keys: tuple[Key[RootCause], ...] = (
        lambda r: (r.cause, _file(r.location), _function(r.location), _code(r.location), frozenset(r.blocks)),
        lambda r: (r.cause, _function(r.location), _code(r.location), r.detail),
        lambda r: (r.cause, _function(r.location), _code(r.location)) if r.location else (r.cause, r.blocks),
        lambda r: (r.cause, _file(r.location), r.location.line) if r.location else (r.cause, r.blocks),
    )
    return sorted(_match(before, after, keys))


def same_place(before: Location | None, after: Location | None) -> bool:
    """Whether two locations are the same line of the program, which may have moved."""
    if before is None or after is None:
        return before is after
    if (before.function, before.code) == (after.function, after.code) and before.code:
        return True
    return (_file(before), before.line) == (_file(after), after.line)


def _match(
    before: Sequence[T], after: Sequence[T], keys: Sequence[Key[T]], *, matched: Pairs | None = None, alike: Callable[[int, int], int] | None = None
) -> Pairs:
    """Pairs of equal keys, tried in the order of ``keys``; where several are equal, those that are most alike, then the first with the first."""
    left = [dict.fromkeys(i for i in range(len(items)) if i not in taken) for items, taken in zip((before, after), _taken(matched), strict=True)]
    pairs: Pairs = []
    for key in keys:
        groups: dict[Hashable, tuple[list[int], list[int]]] = {}
        for side, items in enumerate((before, after)):
            for i in left[side]:
                groups.setdefault(key(items[i]), ([], []))[side].append(i)
        for ours, theirs in groups.values():
            for b, a in _in_group(ours, theirs, alike):
                pairs.append((b, a))
                del left[0][b], left[1][a]
    return pairs


def _in_group(ours: list[int], theirs: list[int], alike: Callable[[int, int], int] | None) -> Pairs:
    if alike is None or min(len(ours), len(theirs)) == 0 or len(ours) * len(theirs) > _MOST_WEIGHED or len(ours) == len(theirs) == 1:
        return list(zip(ours, theirs, strict=False))
    ranked = sorted((-alike(b, a), abs(i - j), b, a) for i, b in enumerate(ours) for j, a in enumerate(theirs))
    pairs: Pairs = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for _, _, b, a in ranked:
        if b not in taken[0] and a not in taken[1]:
            pairs.append((b, a))
            taken[0].add(b)
            taken[1].add(a)
    return pairs


def _taken(pairs: Pairs | None) -> tuple[set[int], set[int]]:
    return {b for b, _ in pairs or ()}, {a for _, a in pairs or ()}


def _left(items: Sequence[T], taken: set[int]) -> list[T]:
    return [item for i, item in enumerate(items) if i not in taken]


def _uncounted(source: SourceResult) -> Hashable:
    return (re.sub(r"_[0-9]+(?=/|:|$)", "", source.label), source.kind, source.dtype, source.shape)


def _file(location: Location | None) -> str:
    """The name of the file alone: the two reports may come from two checkouts."""
    return PurePath(location.file.replace("\\", "/")).name if location else ""


def _function(location: Location | None) -> str:
    return location.function if location else ""


def _code(location: Location | None) -> str:
    return " ".join(location.code.split()) if location else ""


def _targets(call: CallResult) -> tuple[str, ...]:
    return tuple(t.name for t in call.targets)

"""A Comparison in the order in which every written form tells it: what got worse first, what is as before not at all. It knows no format."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tapetrace.model.comparison import Change, Comparison, SourceChange
from tapetrace.model.locations import Location
from tapetrace.model.report import Report, SourceResult
from tapetrace.render.captions import count
from tapetrace.render.outline import outline
from tapetrace.render.visible import shown_target, visible


class Tone(Enum):
    """What a section means to the reader, with the sign that it starts with."""

    WORSE = "✗"
    BETTER = "✓"
    OTHER = "~"
    NEW = "+"
    GONE = "-"


@dataclass(frozen=True, slots=True)
class Entry:
    """Things that share one fate: ``names``; ``what`` happened, ``why`` and ``location`` now, ``mend`` if there is a remedy. Without ``what`` it is
    told in one line."""

    names: tuple[str, ...]
    what: str
    why: str = ""
    location: Location | None = None
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A headline, the gradient call it is about (``asked`` and ``location``, None for the step as a whole), and what is under it."""

    tone: Tone
    headline: str
    entries: tuple[Entry, ...]
    asked: str = ""
    location: Location | None = None


_WORDS = {
    Change.BROKEN: (Tone.WORSE, "no real gradient any more"),
    Change.MENDED: (Tone.BETTER, "a real gradient again"),
    Change.VERDICT: (Tone.OTHER, "another verdict"),
    Change.CAUSE: (Tone.OTHER, "no gradient as before, for another reason"),
    Change.NUMBER: (Tone.OTHER, "a gradient of another size"),
    Change.NEW: (Tone.NEW, "asked for now"),
    Change.GONE: (Tone.GONE, "asked for no more"),
}

_FINDINGS = {
    "unexpected": ("should be frozen, and gets gradient", "got gradient though frozen, and does so no more"),
    "not_asked": ("trainable and live, but no call asks for it", "was trainable and live though no call asked for it, and is so no more"),
    "not_applied": (
        "its gradient is computed, but never handed to an optimizer",
        "its gradient was never handed to an optimizer, which is over",
    ),
    "error": ("the step itself raises", "the step itself raised, and does so no more"),
}


def title(found: Comparison) -> tuple[str, str]:
    """The target, and the versions; two of each where they differ."""
    before, after = found.before, found.after
    names = (("TensorFlow", before.tensorflow, after.tensorflow), ("Keras", before.keras, after.keras))
    versions = [f"{name} {_both(visible(old), visible(new))}" for name, old, new in names if old or new]
    return _both(shown_target(before.target), shown_target(after.target)), " · ".join(versions)


def verdict(found: Comparison) -> tuple[Tone, str]:
    """The answer in one sentence."""
    if found.is_same:
        sources = sum(len(c.sources) for c in found.after.calls)
        return Tone.BETTER, f"nothing changed: {count(sources, 'source')} of {count(len(found.after.calls), 'gradient call')}, as before"
    if not found.is_worse:
        mended = len(found.of(Change.MENDED))
        return Tone.BETTER, f"nothing got worse{f', {count(mended, _SOURCE)} mended' if mended else ''}"
    sources, findings = sum(s.is_worse for s in found.sources), sum(f.is_worse for f in found.findings)
    parts = [count(sources, _SOURCE)] * bool(sources) + [count(findings, "finding")] * bool(findings)
    return Tone.WORSE, f"worse: {' and '.join(parts) or 'no gradient call is left'}"


def sections(found: Comparison, source: bool = True) -> tuple[Section, ...]:
    """What changed, the worst first. ``source=False`` keeps the user's code out of the words."""
    told = [*_sources(found, source), *_calls(found, source), *_root_causes(found), *_findings(found)]
    return tuple(sorted(told, key=lambda s: _ORDER.index(s.tone)))


_SOURCE = "source"
_ORDER = (Tone.WORSE, Tone.OTHER, Tone.BETTER, Tone.NEW, Tone.GONE)


def _both(before: str, after: str) -> str:
    return before if before == after else f"{before or '(none)'} → {after or '(none)'}"


def _sources(found: Comparison, source: bool) -> Iterator[Section]:
    """A section for each gradient call that both have and each thing that happened to its sources; of a call that only one has, what is broken."""
    groups: dict[tuple[tuple[int | None, int | None], Change, bool], list[SourceChange]] = {}
    matched = set(found.matched)
    for s in found.sources:
        if s.calls in matched or s.change is Change.BROKEN:
            groups.setdefault((s.calls, s.change, s.is_worse), []).append(s)
    for (calls, change, is_worse), changed in groups.items():
        tone, words = _WORDS[change]
        if is_worse and all(s.before is None for s in changed):
            words = "new, with no real gradient"
        report, index = (found.after, calls[1]) if calls[1] is not None else (found.before, calls[0])
        assert index is not None
        yield _section(Tone.WORSE if is_worse else tone, f"{_number(changed)} {words}", _entries(changed), report, index, source)


def _number(changed: Sequence[SourceChange]) -> str:
    kinds = {s.kind for c in changed if (s := c.after or c.before)}
    return f"{count(len(changed), kinds.pop() if len(kinds) == 1 else _SOURCE)}:"


def _entries(changed: Sequence[SourceChange]) -> tuple[Entry, ...]:
    groups: dict[Hashable, tuple[Entry, list[str]]] = {}
    for s in changed:
        entry = _entry(s)
        key = (entry.what, entry.why, entry.location.key if entry.location else None)
        groups.setdefault(key, (entry, []))[1].append(_renamed(s))
    return tuple(replace(entry, names=tuple(names)) for entry, names in groups.values())


def _renamed(s: SourceChange) -> str:
    return f"{s.label} (was {s.before.label})" if s.before and s.after and s.before.label != s.after.label else s.label


def _entry(s: SourceChange) -> Entry:
    if s.change is Change.NUMBER:
        return Entry((), f"norm {_size(s.before)} → {_size(s.after)}")
    now = s.after or s.before
    assert now is not None
    verdicts = _both(*(side.verdict.value if side else "" for side in (s.before, s.after))) if s.before and s.after else now.verdict.value
    told = s.before if s.change is Change.MENDED else now
    first = told.breaks[0] if told and told.breaks else None
    if first is None:
        return Entry((), verdicts)
    was = s.before.cause if s.change is Change.CAUSE and s.before else None
    why = f"{was.value} → {first.cause.value}" if was and was is not first.cause else first.cause.value
    mend = first.remedy if s.change in (Change.BROKEN, Change.CAUSE) else ""
    return Entry((), verdicts, f"was {why}" if s.change is Change.MENDED else why, first.location, mend)


def _size(found: SourceResult | None) -> str:
    """A norm to its order of magnitude, so that those of many variables can be told together."""
    norm = found.numbers.norm if found and found.numbers else 0.0
    return f"{norm:.0e}" if norm and math.isfinite(norm) else f"{norm:g}"


def _calls(found: Comparison, source: bool) -> Iterator[Section]:
    for c in found.calls:
        report = found.after if c.change is Change.NEW else found.before
        groups: dict[str, list[str]] = {}
        for s in c.call.sources:
            groups.setdefault(s.verdict.value, []).append(s.label)
        entries = tuple(Entry(tuple(names), word) for word, names in groups.items())
        new = c.change is Change.NEW
        words = f"a gradient call that {'is new' if new else 'is gone'}"
        yield _section(Tone.NEW if new else Tone.GONE, words, entries, report, c.index, source)


def _section(tone: Tone, headline: str, entries: tuple[Entry, ...], report: Report, index: int, source: bool) -> Section:
    call = outline(replace(report, calls=(report.calls[index],), root_causes=(), intermittent=()))[0]
    return Section(tone, headline, entries, call.asked(source), report.calls[index].location)


def _root_causes(found: Comparison) -> Iterator[Section]:
    groups: dict[Change, list[Entry]] = {}
    for r in found.root_causes:
        cause = r.after or r.before
        assert cause is not None
        blocks = f"blocks {len(cause.blocks)}" if r.change is Change.NEW else f"blocked {len(cause.blocks)}"
        if r.before and r.after:
            blocks = f"blocks {len(r.after.blocks)}, blocked {len(r.before.blocks)}"
        groups.setdefault(r.change, []).append(Entry((), "", f"{cause.cause.value}, {blocks}", cause.location))
    tones = {Change.NEW: (Tone.NEW, "that is new"), Change.GONE: (Tone.GONE, "that is gone"), Change.EXTENT: (Tone.OTHER, "that blocks others")}
    for change, entries in groups.items():
        tone, words = tones[change]
        yield Section(tone, f"{count(len(entries), 'root cause')} {words if len(entries) == 1 else words.replace('is', 'are')}", tuple(entries))


def _findings(found: Comparison) -> Iterator[Section]:
    groups: dict[tuple[str, Change, bool], list[Entry]] = {}
    for f in found.findings:
        groups.setdefault((f.kind, f.change, f.is_worse), []).append(Entry((f.name,), "", "", f.location))
    for (kind, change, is_worse), entries in groups.items():
        tone = Tone.WORSE if is_worse else Tone.NEW if change is Change.NEW else Tone.BETTER
        yield Section(tone, _FINDINGS[kind][change is Change.GONE], tuple(entries))

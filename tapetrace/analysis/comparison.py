"""What is different between two reports of one step: sources, gradient calls, root causes, findings. A pure function of the two."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tapetrace.analysis.counterparts import match_calls, match_root_causes, match_sources, same_place
from tapetrace.model.comparison import CallChange, Change, Comparison, FindingChange, RootCauseChange, SourceChange
from tapetrace.model.report import Break, Report, RootCause, SourceResult
from tapetrace.model.words import Verdict

FACTOR = 10.0
"""A norm that changed by less is the same number for what this is about: other weights, another batch."""

_SURENESS = {Verdict.CONNECTED: 2, Verdict.CONDITIONAL: 1, Verdict.OPAQUE: 1}
"""How surely a real gradient comes; broken ones 0."""


def compare(before: Report, after: Report) -> Comparison:
    """The changes from ``before`` to ``after``, each told once, in the order of the second report; what is gone comes last."""
    matched = match_calls([*before.calls], [*after.calls])
    sources: list[SourceChange] = []
    for b, a in sorted(matched, key=lambda pair: pair[1]):
        sources += _in_call(before, after, b, a)
    calls: list[CallChange] = []
    for i, call in enumerate(after.calls):
        if i not in {a for _, a in matched}:
            calls.append(CallChange(Change.NEW, i, call))
            sources += [_new(s, (None, i)) for s in call.sources]
    for i, call in enumerate(before.calls):
        if i not in {b for b, _ in matched}:
            calls.append(CallChange(Change.GONE, i, call))
            sources += [SourceChange(Change.GONE, s, None, (i, None)) for s in call.sources]
    causes, findings = tuple(_root_causes(before, after)), tuple(_findings(before, after))
    return Comparison(before, after, tuple(sources), tuple(calls), causes, findings, tuple(matched))


def _in_call(before: Report, after: Report, b: int, a: int) -> Iterator[SourceChange]:
    ours, theirs = before.calls[b].sources, after.calls[a].sources
    pairs = match_sources(ours, theirs)
    partner = {j: i for i, j in pairs}
    for j, source in enumerate(theirs):
        if j in partner:
            yield from _changed(ours[partner[j]], source, (b, a))
        else:
            yield _new(source, (b, a))
    kept = {i for i, _ in pairs}
    yield from (SourceChange(Change.GONE, s, None, (b, a)) for i, s in enumerate(ours) if i not in kept)


def _new(source: SourceResult, calls: tuple[int | None, int | None]) -> SourceChange:
    return SourceChange(Change.BROKEN if source.is_broken else Change.NEW, None, source, calls, source.is_broken)


def _changed(before: SourceResult, after: SourceResult, calls: tuple[int | None, int | None]) -> Iterator[SourceChange]:
    if before.is_broken != after.is_broken:
        yield SourceChange(Change.BROKEN if after.is_broken else Change.MENDED, before, after, calls, after.is_broken)
    elif before.verdict is not after.verdict:
        yield SourceChange(Change.VERDICT, before, after, calls, _SURENESS.get(after.verdict, 0) < _SURENESS.get(before.verdict, 0))
    elif not _same_breaks(before.breaks, after.breaks):
        yield SourceChange(Change.CAUSE, before, after, calls)
    if not after.is_broken and before.numbers and after.numbers and _differs(before.numbers.norm, after.numbers.norm):
        yield SourceChange(Change.NUMBER, before, after, calls, _soundness(after.numbers.norm) < _soundness(before.numbers.norm))


def _same_breaks(before: tuple[Break, ...], after: tuple[Break, ...]) -> bool:
    return len(before) == len(after) and all(b.cause is a.cause and same_place(b.location, a.location) for b, a in zip(before, after, strict=True))


def _differs(before: float, after: float) -> bool:
    if not (math.isfinite(before) and math.isfinite(after)):
        return math.isfinite(before) or math.isfinite(after)
    smaller, larger = sorted((abs(before), abs(after)))
    return larger > 0.0 and larger >= FACTOR * smaller


def _soundness(norm: float) -> int:
    return 0 if not math.isfinite(norm) else 1 if norm == 0.0 else 2


def _root_causes(before: Report, after: Report) -> Iterator[RootCauseChange]:
    pairs = match_root_causes(before.root_causes, after.root_causes)
    partner = {a: b for b, a in pairs}
    for a, cause in enumerate(after.root_causes):
        if a not in partner:
            yield RootCauseChange(Change.NEW, None, cause)
        elif _blocks(before.root_causes[partner[a]]) != _blocks(cause):
            yield RootCauseChange(Change.EXTENT, before.root_causes[partner[a]], cause)
    kept = set(partner.values())
    yield from (RootCauseChange(Change.GONE, cause, None) for b, cause in enumerate(before.root_causes) if b not in kept)


def _blocks(cause: RootCause) -> frozenset[str]:
    return frozenset(cause.blocks)


def _findings(before: Report, after: Report) -> Iterator[FindingChange]:
    asked_before = {s.label for c in before.calls for s in c.sources}
    for kind in ("unexpected", "not_asked", "not_applied"):
        ours, theirs = ({f.path or f.name: f for f in getattr(report, kind)} for report in (before, after))
        for label, found in theirs.items():
            if label not in ours:
                # A variable that the first report does not know was never asked for; one that it does has lost what it had.
                yield FindingChange(Change.NEW, kind, label, found.location, kind == "unexpected" or label in asked_before)
        yield from (FindingChange(Change.GONE, kind, label, found.location) for label, found in ours.items() if label not in theirs)
    raised, raises = before.error, after.error
    if raises and (raised is None or raised.type != raises.type):
        yield FindingChange(Change.NEW, "error", raises.type, raises.location, raised is None)
    if raised and (raises is None or raised.type != raises.type):
        yield FindingChange(Change.GONE, "error", raised.type, raised.location)

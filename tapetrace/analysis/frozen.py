"""What should be frozen: a gradient that is missing there is no fault, one that is there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tapetrace.model.graph import ReportGraph
from tapetrace.model.report import CallResult, Finding, Report, RootCause, SourceResult
from tapetrace.model.words import Verdict

_NUMBER = re.compile(r" \([0-9]+\)$")
_LIVE = (Verdict.CONNECTED, Verdict.CONDITIONAL)


def apply_frozen(report: Report, patterns: Sequence[str]) -> Report:
    """The report for a user who says that sources whose path or name matches one of ``patterns`` (``critic/*``) must get no gradient.

    Those that get some are in ``unexpected``; those that do not are no longer broken, and what kept the gradient away is no root cause for them.
    A pattern that matches neither a source nor a variable that no call asks for is mentioned in the notes.
    """
    if not patterns:
        return report
    calls = tuple(replace(c, sources=tuple(replace(s, frozen=matches(s.path, s.name, patterns)) for s in c.sources)) for c in report.calls)
    causes = tuple(found for r in report.root_causes if (found := _for_others(r, calls[r.call])) is not None)
    kept = {r.number for r in causes}
    calls = tuple(replace(c, sources=tuple(_only_kept(s, kept) for s in c.sources)) for c in calls)
    sources = [s for c in calls for s in c.sources]
    meant = [(s.path, s.name) for s in sources] + [(f.path, f.name) for f in report.not_asked]
    idle = [p for p in patterns if not any(matches(path, name, [p]) for path, name in meant)]
    return replace(
        report,
        calls=calls,
        root_causes=causes,
        unexpected=tuple(dict.fromkeys(Finding(s.name, s.path, c.location) for c in calls for s in c.sources if s.frozen and s.verdict in _LIVE)),
        not_asked=tuple(f for f in report.not_asked if not matches(f.path, f.name, patterns)),
        intermittent=tuple(i for i in report.intermittent if not matches(i.path, i.name, patterns)),
        notes=(*report.notes, *(f"frozen pattern {p!r} matches no source: no call asks for the gradient of such a variable" for p in idle)),
        build_graph=_without_numbers(report, kept),
    )


def matches(path: str, name: str, patterns: Sequence[str]) -> bool:
    """Whether ``path`` or ``name`` matches one of the patterns, in which ``*`` stands for any characters, ``/`` included.

    The number in a path such as ``Variable (2)`` may be left out, and then means all of the name.
    """
    return any(fnmatchcase(text, p) for p in patterns for text in (path, _NUMBER.sub("", path), name) if text)


def _for_others(cause: RootCause, call: CallResult) -> RootCause | None:
    """The root cause with the sources that should get gradient; None when there are none."""
    frozen = {text for s in call.sources if s.frozen for text in (s.path, s.name)} - {
        text for s in call.sources if not s.frozen for text in (s.path, s.name)
    }
    blocks = tuple(b for b in cause.blocks if b not in frozen)
    if not blocks:
        return None
    return replace(cause, blocks=blocks, reconnects=tuple(r for r in cause.reconnects if r not in frozen))


def _only_kept(source: SourceResult, numbers: set[int]) -> SourceResult:
    if not source.frozen:
        return source
    return replace(source, breaks=tuple(b if b.root_cause in numbers else replace(b, root_cause=0) for b in source.breaks))


def _without_numbers(report: Report, kept: set[int]) -> Callable[[], ReportGraph]:
    def build() -> ReportGraph:
        drawing = report.drawing
        return replace(drawing, nodes=tuple(n if n.number in kept else replace(n, number=0) for n in drawing.nodes))

    return build

"""A Comparison: what is different between two reports of one step, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tapetrace.model.locations import Location
from tapetrace.model.report import CallResult, Report, RootCause, SourceResult


class Change(str, Enum):
    """What happened to a source, a gradient call, a root cause or a finding."""

    BROKEN = "broken"
    """No real gradient reaches the source any more; or a source that nobody asked for before is asked for now, and none reaches it."""
    MENDED = "mended"
    """A real gradient reaches the source again."""
    VERDICT = "verdict"
    """Another verdict, neither from nor to a broken one, or from one broken one to another."""
    CAUSE = "cause"
    """Broken as before, and by another cause or at another place."""
    NUMBER = "number"
    """The norm of the gradient changed by a factor of ten or more, or it is zero, NaN or infinite now, or is so no more."""
    EXTENT = "extent"
    """A root cause that blocks other sources than before."""
    NEW = "new"
    """Only in the second report."""
    GONE = "gone"
    """Only in the first report."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """One source that is not as before. ``before`` or ``after`` is None for one that is new or gone.

    ``calls`` are the indices of its gradient call in ``Report.calls`` of the two reports.
    """

    change: Change
    before: SourceResult | None
    after: SourceResult | None
    calls: tuple[int | None, int | None]
    is_worse: bool = False

    @property
    def label(self) -> str:
        """The path that it has now, or had."""
        found = self.after or self.before
        return found.label if found else ""


@dataclass(frozen=True, slots=True)
class CallChange:
    """A gradient call that is new or gone; ``index`` is that in ``Report.calls`` of the report that has it."""

    change: Change
    index: int
    call: CallResult


@dataclass(frozen=True, slots=True)
class RootCauseChange:
    """A root cause that is new, gone, or blocks other sources than before."""

    change: Change
    before: RootCause | None
    after: RootCause | None


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding of the step (``not_asked``, ``not_applied``, ``unexpected``) or what it raised (``error``) that is new or gone."""

    change: Change
    kind: str
    name: str
    location: Location | None = None
    is_worse: bool = False


@dataclass(frozen=True)
class Comparison:
    """What is different between two reports. Sources, calls and root causes that are as before are in none of the lists."""

    before: Report = field(repr=False)
    after: Report = field(repr=False)
    sources: tuple[SourceChange, ...] = ()
    calls: tuple[CallChange, ...] = ()
    root_causes: tuple[RootCauseChange, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    matched: tuple[tuple[int, int], ...] = ()
    """For each gradient call that both have, its index in the two reports."""

    @property
    def is_same(self) -> bool:
        """Whether the two say the same."""
        return not (self.sources or self.calls or self.root_causes or self.findings)

    @property
    def is_worse(self) -> bool:
        """Whether anything got worse: a source lost its gradient or gets it less surely, a new one gets none, a number is not finite any more,
        the step raises, a gradient reaches what should be frozen, or one is not asked for or not applied any more."""
        lost = bool(self.before.calls) and not self.after.calls
        return lost or any(s.is_worse for s in self.sources) or any(f.is_worse for f in self.findings)

    def of(self, change: Change) -> tuple[SourceChange, ...]:
        """The sources to which this happened."""
        return tuple(s for s in self.sources if s.change is change)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, schema ``tapetrace-diff/1``."""
        from tapetrace.model.comparison_encoding import comparison_to_dict

        return comparison_to_dict(self)

    def __str__(self) -> str:
        from tapetrace.comparing import render_comparison

        return render_comparison(self).rstrip("\n")

"""A Report with the numbers of a run merged in: what is live and yet zero, what Python code decided, and where NaN began."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapetrace.analysis.numeric_causes import merge_root_causes
from tapetrace.analysis.numeric_drawing import redraw
from tapetrace.analysis.remedies import Situation, remedy_for
from tapetrace.analysis.vanishing import Loss, Lost, Vanishing, find_not_finite
from tapetrace.model.measurements import CallNumbers, Experiment, Flow, is_finite
from tapetrace.model.report import Agreement, Break, CallResult, Numbers, Report, SourceResult
from tapetrace.model.words import Cause, Verdict

FAINT = 1e-6
"""A gradient is looked into when its norm is at most this, relative to the norm of all other gradients of the call or to 1, whichever is more."""

_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_CONDITIONALS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})


def add_numbers(report: Report, experiment: Experiment | None) -> Report:
    """The report after the step was run.

    Every gradient that TensorFlow returned gets its numbers. A live source whose gradient is exactly zero in every run becomes ``zero``, its break
    ``numerically_zero`` at the op where the number is lost; so does one that is zero but for rounding: at most ``FAINT`` of its neighbours and
    lost at one op or by cancellation (see `Vanishing`). A gradient that is NaN or infinite leaves the verdict as it is and adds a break, whose
    detail says where that begins. A ``conditional`` source stays so when its branch was not taken. An ``opaque`` one becomes ``connected``, ``zero``
    or, when the Python code fails on the way back, ``error``. When the step cannot be run, the report is the old one with a note that says why.
    """
    if experiment is None or experiment.problem:
        problem = experiment.problem if experiment else "the numbers of the gradients are known only for a step that is traced as a graph"
        return replace(report, notes=(*report.notes, problem))
    measured = [experiment.numbers(i) for i in range(len(report.calls))]
    notes = list(report.notes)
    notes += dict.fromkeys(m.problem for m in measured if m.problem)
    if experiment.generated and any(m.runs for m in measured):
        runs = max(len(m.runs) for m in measured)
        notes.append(f"the numbers are from {runs} runs on generated values, give real ones with --args for those of your data")
    calls = tuple(_Merging(i, call, m, experiment).merged() for i, (call, m) in enumerate(zip(report.calls, measured, strict=True)))
    calls, root_causes = merge_root_causes(report, calls)
    merged = replace(report, calls=calls, root_causes=root_causes, notes=tuple(notes), agreement=_held_against_numbers(report, calls))
    return replace(merged, build_graph=lambda: redraw(report, merged))


def _held_against_numbers(report: Report, calls: Sequence[CallResult]) -> Agreement:
    """The agreement, with a sentence for each source that is not live and whose gradient was a number other than zero."""
    found = [
        f"{after.label}: verdict {before.verdict.value}, but its gradient had the norm {after.numbers.norm:.3g} when the step ran"
        for old, new in zip(report.calls, calls, strict=True)
        for before, after in zip(old.sources, new.sources, strict=True)
        if before.verdict in (Verdict.ZERO, Verdict.NONE) and after.numbers is not None and after.numbers.norm > 0.0
    ]
    return replace(report.agreement, disagreed=(*report.agreement.disagreed, *found))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What all runs said about one source."""

    numbers: Numbers
    exact: bool
    faint: bool
    finite: bool


class _Merging:
    def __init__(self, index: int, call: CallResult, measured: CallNumbers, experiment: Experiment) -> None:
        self.index = index
        self.call = call
        self.measured = measured
        self.experiment = experiment
        self.seen = {s: seen for s in range(len(call.sources)) if (seen := self._see(s)) is not None}
        self.flow: Flow | None = None
        self.vanishing: Vanishing | None = None

    def merged(self) -> CallResult:
        suspects = [s for s, seen in self.seen.items() if self._is_live(s) and (seen.exact or seen.faint or not seen.finite)]
        self.flow = self.experiment.flow(self.index, suspects) if suspects else None
        self.vanishing = Vanishing(self.flow) if self.flow else None
        return replace(self.call, sources=tuple(self._source(s, result) for s, result in enumerate(self.call.sources)))

    def _is_live(self, s: int) -> bool:
        return self.call.sources[s].verdict in (Verdict.CONNECTED, Verdict.CONDITIONAL, Verdict.OPAQUE)

    def _see(self, s: int) -> _Seen | None:
        found = [(run, n) for run in self.measured.runs if s < len(run) and (n := run[s]) is not None]
        if not found:
            return None
        numbers = [n for _, n in found]
        shown = next((n for n in numbers if not is_finite(n)), None) or max(numbers, key=lambda n: n.norm)
        exact = all(n.norm == 0.0 and n.zeros > 0 for n in numbers)
        faint = all(n.norm <= FAINT * max(1.0, _others(run, s)) for run, n in found)
        return _Seen(shown, exact, faint and not exact and all(n.zeros or n.norm for n in numbers), all(map(is_finite, numbers)))

    def _source(self, s: int, result: SourceResult) -> SourceResult:
        seen = self.seen.get(s)
        if s in self.measured.failed and result.verdict is Verdict.OPAQUE:
            return self._failed(result, self.measured.failed[s])
        if seen is None:
            return result
        result = replace(result, numbers=seen.numbers)
        if not self._is_live(s):
            return result
        if not seen.finite:
            return self._not_finite(s, result)
        if seen.exact or seen.faint:
            return self._zero(s, result, seen)
        return replace(result, verdict=Verdict.CONNECTED, breaks=()) if result.verdict is Verdict.OPAQUE else result

    def _zero(self, s: int, result: SourceResult, seen: _Seen) -> SourceResult:
        loss = self.vanishing.find_loss(s, seen.exact and result.verdict is not Verdict.CONDITIONAL) if self.vanishing else None
        if result.verdict is Verdict.CONDITIONAL and (loss is None or loss.op.type in _CONDITIONALS):
            return result
        if result.verdict is Verdict.OPAQUE:
            if seen.exact and (loss is None or loss.op.type in _PYTHON_OPS):
                return replace(result, verdict=Verdict.ZERO)
            if loss is None:
                return replace(result, verdict=Verdict.CONNECTED, breaks=())
        if loss is None and not seen.exact:
            return result
        return replace(result, verdict=Verdict.ZERO, breaks=(self._break(loss, Lost.VANISHES, "the gradient was exactly zero when the step ran"),))

    def _not_finite(self, s: int, result: SourceResult) -> SourceResult:
        loss = find_not_finite(self.flow, s) if self.flow else None
        kept = () if result.verdict is Verdict.OPAQUE else result.breaks
        verdict = Verdict.CONNECTED if result.verdict is Verdict.OPAQUE else result.verdict
        kind = "NaN" if self.seen[s].numbers.nan else "Inf"
        return replace(result, verdict=verdict, breaks=(*kept, self._break(loss, Lost.NOT_FINITE, f"the gradient was {kind} when the step ran")))

    def _failed(self, result: SourceResult, message: str) -> SourceResult:
        detail = f"its backward pass fails when it runs: {message}"
        return replace(result, verdict=Verdict.ERROR, breaks=tuple(replace(b, detail=detail) for b in result.breaks))

    def _break(self, loss: Loss | None, how: Lost, otherwise: str) -> Break:
        """The break at ``loss``; where that is not known, one at the gradient call, in the words of ``how`` and ``otherwise``."""
        if loss is None:
            location = self.call.location
            remedy = remedy_for(Situation(Cause.NUMERICALLY_ZERO, location=location, lost=how))
            return Break(Cause.NUMERICALLY_ZERO, "", "", location, remedy, otherwise)
        op = loss.op
        location = self.experiment.locate(self.index, op.name)
        remedy = remedy_for(Situation(Cause.NUMERICALLY_ZERO, op_type=op.type, location=location, lost=loss.how))
        return Break(Cause.NUMERICALLY_ZERO, op.name, op.type, location, remedy, loss.detail)


def _others(run: Sequence[Numbers | None], s: int) -> float:
    """The norm of all gradients of a run but one."""
    return math.sqrt(sum(n.norm**2 for i, n in enumerate(run) if i != s and n is not None and is_finite(n)))

"""The self-check: verdicts held against what TensorFlow handed back in the same trace."""

from __future__ import annotations

from collections.abc import Sequence

from tapetrace.model.report import Agreement, CallResult, SourceResult
from tapetrace.model.trace import GradientCall
from tapetrace.model.words import Returned, Verdict

_NEVER_NONE = frozenset({Verdict.CONNECTED, Verdict.CONDITIONAL})


def disagreement(result: SourceResult) -> str:
    """One sentence when the verdict cannot be true beside what TensorFlow returned, empty when it can."""
    if result.returned is Returned.NONE and result.verdict in _NEVER_NONE:
        return f"{result.label}: tapetrace says {result.verdict.value}, TensorFlow returned None"
    if result.returned is Returned.NONE and result.verdict is Verdict.ZERO:
        return f"{result.label}: tapetrace says zero, TensorFlow returned None"
    if result.returned is Returned.TENSOR and result.verdict is Verdict.NONE:
        return f"{result.label}: tapetrace says none, TensorFlow returned a tensor"
    if result.returned is Returned.TENSOR and result.verdict is Verdict.ERROR:
        return f"{result.label}: tapetrace says error, TensorFlow returned a tensor"
    if result.returned is Returned.ERROR and result.verdict in _NEVER_NONE:
        return f"{result.label}: tapetrace says {result.verdict.value}, TensorFlow raised"
    return ""


def find_agreement(calls: Sequence[tuple[GradientCall, CallResult]]) -> Agreement:
    """How many verdicts were checked, and which disagree."""
    checked = 0
    disagreed: list[str] = []
    for _, result in calls:
        for source in result.sources:
            if source.returned is None:
                continue
            checked += 1
            sentence = disagreement(source)
            if sentence:
                disagreed.append(sentence)
    return Agreement(checked, tuple(disagreed))

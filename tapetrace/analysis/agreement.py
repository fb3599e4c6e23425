"""The self-check: verdicts held against what TensorFlow handed back in the same trace."""

from __future__ import annotations

from collections.abc import Sequence

from tapetrace.model.report import Agreement, CallResult, SourceResult
from tapetrace.model.trace import GradientCall
from tapetrace.model.words import Returned, Verdict

_EXCLUDED = {
    Returned.NONE: frozenset({Verdict.CONNECTED, Verdict.CONDITIONAL, Verdict.ZERO, Verdict.ERROR}),
    Returned.TENSOR: frozenset({Verdict.NONE, Verdict.ERROR}),
    Returned.ERROR: frozenset({Verdict.CONNECTED, Verdict.CONDITIONAL}),
}
"""What cannot be true beside what TensorFlow did."""
_DID = {Returned.NONE: "returned None", Returned.TENSOR: "returned a tensor", Returned.ERROR: "raised"}


def disagreement(result: SourceResult) -> str:
    """One sentence when the verdict cannot be true beside what TensorFlow returned, empty when it can."""
    verdict, returned = result.verdict, result.returned
    if returned is None or verdict not in _EXCLUDED[returned]:
        return ""
    return f"{result.label}: tapetrace says {verdict.value}, TensorFlow {_DID[returned]}"


def find_agreement(calls: Sequence[tuple[GradientCall, CallResult]]) -> Agreement:
    """How many verdicts were checked, and which disagree. A call that raised for another reason than a gradient says nothing about its sources."""
    checked = 0
    disagreed: list[str] = []
    for call, result in calls:
        if call.error is not None and call.error.type != "LookupError" and not call.tape_reused:
            continue
        for source in result.sources:
            if source.returned is None:
                continue
            checked += 1
            sentence = disagreement(source)
            if sentence:
                disagreed.append(sentence)
    return Agreement(checked, tuple(disagreed))

"""Whether the loss moves when a variable is changed, told beside the breaks of the variables that no gradient reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from tapetrace.model.report import CallResult, Report, SourceResult
from tapetrace.model.words import Cause


class Movement(Enum):
    """What a target did when one variable was changed and all else, random numbers included, was the same."""

    A_LITTLE = "a little"
    """It moved when the variable was changed a little."""
    MUCH = "much"
    """It moved only when the variable was changed by a lot."""
    NONE = "none"
    """It did not move."""


_UNUSED = frozenset({Cause.NEVER_READ, Cause.UNUSED_RESULT, Cause.NON_FLOAT_SOURCE})


def tell_movement(report: Report, moves: Mapping[tuple[int, int], Movement]) -> Report:
    """The report with a sentence in the first break of each source of ``moves``, given as (index of the call, index in it), and with notes that say
    the same of all of them together."""
    told: dict[str, list[str]] = {}
    calls = []
    for c, call in enumerate(report.calls):
        sources = list(call.sources)
        for s, source in enumerate(sources):
            if (c, s) in moves:
                sentence = _sentence(moves[c, s], source)
                told.setdefault(sentence, []).append(source.label)
                sources[s] = _told(source, sentence)
        calls.append(_with_sources(call, sources))
    notes = [f"{_listed(list(dict.fromkeys(names)))}: {sentence}" for sentence, names in told.items()]
    return replace(report, calls=tuple(calls), notes=(*report.notes, *notes))


def _sentence(movement: Movement, source: SourceResult) -> str:
    if movement is Movement.A_LITTLE:
        return "the loss moves when it is changed: there is a dependency that the tape does not see"
    if movement is Movement.MUCH:
        return "the loss moves only when it is changed by a lot: there is a dependency, in which the value is rounded or compared"
    unused = source.cause in _UNUSED
    return f"the loss does not move when it is changed{': unused' if unused else ', so nothing of its value gets there'}"


def _told(source: SourceResult, sentence: str) -> SourceResult:
    if not source.breaks:
        return source
    first, *others = source.breaks
    return replace(source, breaks=(replace(first, detail="; ".join(filter(None, (first.detail, sentence)))), *others))


def _with_sources(call: CallResult, sources: list[SourceResult]) -> CallResult:
    return replace(call, sources=tuple(sources))


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")

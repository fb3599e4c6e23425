"""Where TensorFlow itself answers differently: the same step traced as a graph, and run eagerly."""

from __future__ import annotations

from collections.abc import Iterator

from tapetrace.model.locations import Location
from tapetrace.model.report import CallResult, Report, SourceResult
from tapetrace.model.words import Cause, Returned, Verdict

_DOES = {Returned.NONE: "returns None", Returned.TENSOR: "returns a tensor", Returned.ERROR: "raises"}
_FROZEN = frozenset({Cause.CAPTURED_VALUE, Cause.NEVER_READ, Cause.UNUSED_RESULT})


def differences(graph: Report, eager: Report) -> tuple[str, ...]:
    """A sentence for each reason for which the two differ, with the sources; one that says so when they do not."""
    told: dict[tuple[str, str], list[str]] = {}
    for traced, run in _pairs(graph, eager):
        answers = {s.label: s for s in run.sources}
        for source in traced.sources:
            other = answers.get(source.label)
            if other is None or source.returned is other.returned or None in (source.returned, other.returned):
                continue
            assert source.returned is not None
            assert other.returned is not None
            what = f"a graph {_DOES[source.returned]}, an eager run {_DOES[other.returned]}"
            told.setdefault((what, _reason(source, other, traced, run)), []).append(source.label)
    found = [f"{', '.join(dict.fromkeys(names))}: {what}: {why}" for (what, why), names in told.items()]
    if len(graph.calls) != len(eager.calls):
        found.append(f"a graph makes {len(graph.calls)} gradient calls, an eager run {len(eager.calls)}: Python decides differently in the two")
    return tuple(found) or ("a graph and an eager run return the same: None, tensors and errors for the same sources",)


def _pairs(graph: Report, eager: Report) -> Iterator[tuple[CallResult, CallResult]]:
    """The calls that belong together: made by the same line, in the same turn; all of them in order when their number is the same."""
    if len(graph.calls) == len(eager.calls):
        yield from zip(graph.calls, eager.calls, strict=True)
        return
    waiting = list(eager.calls)
    for call in graph.calls:
        same = next((w for w in waiting if _line(w) == _line(call)), None)
        if same is not None:
            waiting.remove(same)
            yield call, same


def _line(call: CallResult) -> tuple[str, int] | None:
    return call.location.key if call.location else None


def _reason(graph: SourceResult, eager: SourceResult, traced: CallResult, run: CallResult) -> str:
    if Returned.ERROR in (graph.returned, eager.returned):
        error = (traced if graph.returned is Returned.ERROR else run).error
        return f"the call raises {error.type} there" if error else "the call raises there"
    if graph.returned is Returned.NONE:
        return _only_eager(graph)
    return _only_graph(graph, eager)


def _only_eager(graph: SourceResult) -> str:
    where = _at(graph)
    if graph.cause is Cause.DATASET:
        return f"a loop over a dataset{where} is run by Python in an eager run, and is an op without a gradient in a graph"
    if graph.cause is Cause.CUSTOM_GRADIENT:
        return f"a graph differentiates the function with the custom gradient{where} by its arguments alone, not by what it captures"
    if graph.cause in _FROZEN:
        return f"the value was fixed when the step was traced{where}, and is a constant of the graph"
    return _unknown(graph, where)


def _only_graph(graph: SourceResult, eager: SourceResult) -> str:
    where = _at(eager)
    if eager.cause is Cause.NUMPY_ESCAPE:
        return f"AutoGraph turns this into ops of the graph, while in an eager run the value leaves TensorFlow{where}"
    if graph.verdict is Verdict.CONDITIONAL:
        return f"a graph holds both branches{_at(graph)} and returns zeros for the one not taken, an eager run only took the other"
    if graph.verdict is Verdict.ZERO:
        return f"the gradient is cut in both{where}, and a graph returns zeros for it"
    return _unknown(eager, where)


def _unknown(source: SourceResult, where: str) -> str:
    return f"the path is cut there by {source.cause.value}{where}" if source.cause else "tapetrace does not know why"


def _at(source: SourceResult) -> str:
    location: Location | None = source.breaks[0].location if source.breaks else None
    return f" at {location.place}" if location else ""

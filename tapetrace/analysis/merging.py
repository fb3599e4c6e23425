"""Several reports as one: of the traces that a program made, or of a step that was checked with several sets of arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tapetrace.analysis.intermittent import find_intermittent
from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph
from tapetrace.model.report import Agreement, BlindSpot, CallResult, Finding, Report, RootCause, SourceResult

_Kept = TypeVar("_Kept", bound="Finding | BlindSpot")


def merge(reports: Sequence[Report], target: str) -> Report:
    """All calls of ``reports``, which must not be empty, in their order, with root causes numbered through and findings told once.

    Sources that are connected in one call of a line and not in another are listed in ``intermittent``.
    """
    calls: list[CallResult] = []
    causes: list[RootCause] = []
    ranks: list[int] = []
    for rank, report in enumerate(reports):
        first_call, first_number = len(calls), len(causes)
        calls += [_shifted(c, first_number) for c in report.calls]
        ranks += [rank] * len(report.calls)
        causes += [replace(r, number=r.number + first_number, call=r.call + first_call) for r in report.root_causes]
    modes = list(dict.fromkeys(r.mode for r in reports))
    first = reports[0]
    asked = {_identity(s) for c in calls for s in c.sources if s.kind == "variable"}
    return Report(
        target=target,
        tensorflow=first.tensorflow,
        keras=next((r.keras for r in reports if r.keras), ""),
        mode=modes[0] if len(modes) == 1 else "mixed",
        calls=tuple(calls),
        root_causes=tuple(causes),
        not_asked=tuple(f for f in _once(f for r in reports for f in r.not_asked) if (f.path or f.name) not in asked),
        not_applied=_once(f for r in reports for f in r.not_applied),
        agreement=Agreement(sum(r.agreement.checked for r in reports), tuple(d for r in reports for d in r.agreement.disagreed)),
        blind_spots=_once(b for r in reports for b in r.blind_spots),
        error=next((r.error for r in reports if r.error), None),
        notes=tuple(dict.fromkeys(n for r in reports for n in r.notes)),
        intermittent=find_intermittent(calls, ranks),
        build_graph=lambda: _drawn(reports),
    )


def without_repeats(reports: Sequence[Report]) -> list[Report]:
    """The reports without those that say of the same calls, made with the same inputs, what a later one says as well.

    TensorFlow traces a function that makes variables twice and throws the first trace away; an eager step is seen more than once.
    """
    told = [tuple(_said(c) for c in r.calls) for r in reports]
    return [r for i, r in enumerate(reports) if told[i] not in told[i + 1 :]]


def _said(call: CallResult) -> tuple[object, ...]:
    answers = tuple(
        (_identity(s), s.verdict, s.returned, tuple((b.cause, b.location.key if b.location else None) for b in s.breaks)) for s in call.sources
    )
    return call.kind, call.location.key if call.location else None, call.inputs, answers


def _identity(source: SourceResult) -> str:
    return source.path or source.name


def _shifted(call: CallResult, by: int) -> CallResult:
    sources = tuple(replace(s, breaks=tuple(replace(b, root_cause=b.root_cause + by if b.root_cause else 0) for b in s.breaks)) for s in call.sources)
    return replace(call, sources=sources)


def _once(found: Iterable[_Kept]) -> tuple[_Kept, ...]:
    return tuple({(getattr(f, "path", "") or f.name, f.location.key if f.location else None): f for f in reversed(list(found))}.values())[::-1]


def _drawn(reports: Sequence[Report]) -> ReportGraph:
    """The drawings beside each other; ops of the same name in several of them are told apart by the rank of their report."""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    taken: set[str] = set()
    first_call = first_number = 0
    for rank, report in enumerate(reports, 1):
        drawing = report.drawing
        names = {n.name: n.name if n.name not in taken else f"trace {rank}: {n.name}" for n in drawing.nodes}
        taken |= set(names.values())
        for n in drawing.nodes:
            calls = tuple(c + first_call for c in n.calls)
            nodes.append(replace(n, name=names[n.name], number=n.number + first_number if n.number else 0, calls=calls))
        edges += [replace(e, tail=names[e.tail], head=names[e.head]) for e in drawing.edges]
        first_call += len(report.calls)
        first_number += len(report.root_causes)
    return ReportGraph(tuple(nodes), tuple(edges))

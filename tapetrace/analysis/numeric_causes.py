"""Root causes after numbers were merged into the calls: those of opaque sources that turned out alive go, those of lost numbers come."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tapetrace.analysis.root_causes import Place, place_of
from tapetrace.model.report import Break, CallResult, Report, RootCause, SourceResult
from tapetrace.model.words import Cause, Verdict


@dataclass(slots=True)
class _Group:
    first: Break
    ops: dict[str, str] = field(default_factory=dict)
    blocks: list[SourceResult] = field(default_factory=list)


def merge_root_causes(report: Report, calls: tuple[CallResult, ...]) -> tuple[tuple[CallResult, ...], tuple[RootCause, ...]]:
    """The calls with their breaks numbered anew, and the root causes in that order: those that reconnect most sources of a call first."""
    causes: list[RootCause] = []
    numbered: list[CallResult] = []
    for index, call in enumerate(calls):
        kept = [_still(r, call) for r in report.root_causes if r.call == index]
        found: list[tuple[Place | int, RootCause]] = [(r.number, r) for r in kept if r is not None]
        found += [(place, _root_cause(group, index)) for place, group in _group(call).items()]
        found.sort(key=lambda pair: (-len(pair[1].reconnects), -len(pair[1].blocks)))
        numbers = {key: len(causes) + 1 + i for i, (key, _) in enumerate(found)}
        causes += [replace(r, number=numbers[key]) for key, r in found]
        sources = tuple(replace(s, breaks=tuple(replace(b, root_cause=_number(b, numbers)) for b in s.breaks)) for s in call.sources)
        numbered.append(replace(call, sources=sources))
    return tuple(numbered), tuple(causes)


def _number(b: Break, numbers: dict[Place | int, int]) -> int:
    return numbers.get(place_of(b) if b.cause is Cause.NUMERICALLY_ZERO else b.root_cause, 0)


def _still(cause: RootCause, call: CallResult) -> RootCause | None:
    """A root cause of the structure, without the sources that it blocks no longer; None when nothing is left.

    A place that only Python code could judge now keeps gradient from what proved to be zero, and reopening it would bring that back.
    """
    behind = [s for s in call.sources if any(b.root_cause == cause.number for b in s.breaks)]
    if not behind:
        return None
    blocks = tuple(dict.fromkeys(s.label for s in behind))
    alone = [s.label for s in behind if s.verdict.is_broken and len(s.breaks) == 1 and cause.cause is Cause.PYTHON_FUNCTION]
    detail = cause.detail or next((b.detail for s in behind for b in s.breaks if b.root_cause == cause.number), "")
    return replace(cause, blocks=blocks, reconnects=tuple(dict.fromkeys((*cause.reconnects, *alone))), detail=detail)


def _group(call: CallResult) -> dict[Place, _Group]:
    groups: dict[Place, _Group] = {}
    for source in call.sources:
        for b in source.breaks:
            if b.cause is Cause.NUMERICALLY_ZERO:
                group = groups.setdefault(place_of(b), _Group(b))
                if b.op:
                    group.ops[b.op] = b.type
                group.blocks.append(source)
    return groups


def _root_cause(group: _Group, call: int) -> RootCause:
    first = group.first
    blocks = tuple(dict.fromkeys(s.label for s in group.blocks))
    alone = tuple(dict.fromkeys(s.label for s in group.blocks if s.verdict is Verdict.ZERO and len(s.breaks) == 1))
    return RootCause(
        0, first.cause, first.location, tuple(sorted(group.ops.items())), blocks, alone, first.remedy, first.detail, first.reenters, False, call
    )

"""What ``tf.distribute`` did on several replicas, told as one.

A call for each line of the user's, and a source for each variable, unless replicas differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph
from tapetrace.model.locations import Location
from tapetrace.model.report import CallResult, Report, RootCause, SourceResult
from tapetrace.model.words import Cause, Verdict

_WORST_FIRST = (Verdict.ERROR, Verdict.NONE, Verdict.ZERO, Verdict.OPAQUE, Verdict.CONDITIONAL, Verdict.CONNECTED)

_Spot = tuple[str, tuple[str, int] | str]


@dataclass(frozen=True, slots=True)
class _Group:
    """The calls, given by their index, that the replicas of one run made on one line; ``told`` are those that are drawn."""

    members: tuple[int, ...]
    told: tuple[int, ...]
    sources: tuple[SourceResult, ...]


def merge_replicas(report: Report) -> Report:
    """The report with the calls of replicas made one.

    A source has the worst of its answers. Where replicas differ, its ``replicas`` and the detail of the root cause say which are meant. A report
    without replicas is returned as it is.
    """
    if all(c.replica is None for c in report.calls):
        return report
    groups = [_group(report, members) for members in _grouped(report.calls)]
    causes, numbers = _root_causes(report, groups)
    calls = tuple(_numbered(replace(report.calls[g.members[0]], sources=g.sources, replica=None), numbers) for g in groups)
    return replace(
        report,
        calls=calls,
        root_causes=causes,
        agreement=replace(report.agreement, checked=max(0, report.agreement.checked - _repeated(report.calls, groups))),
        not_asked=tuple(dict.fromkeys(report.not_asked)),
        not_applied=tuple(dict.fromkeys(report.not_applied)),
        blind_spots=tuple({(b.type, b.location.key if b.location else b.name): b for b in reversed(report.blind_spots)}.values())[::-1],
        notes=(*report.notes, *_elsewhere(report.calls)),
        build_graph=lambda: _drawn(report, groups, numbers),
    )


def _elsewhere(calls: Sequence[CallResult]) -> list[str]:
    """A sentence when some replicas were run by other processes."""
    replicas = [c.replica for c in calls if c.replica is not None]
    here, total = sorted({r.number for r in replicas}), max(r.total for r in replicas)
    if len(here) == total:
        return []
    numbers = ", ".join(map(str, here))
    return [f"this process ran replica{'s' if len(here) > 1 else ''} {numbers} of {total}, counted from 0: the other processes tell of theirs"]


def _grouped(calls: Sequence[CallResult]) -> list[tuple[int, ...]]:
    """Calls of one run and line belong together: the first that each replica made, the second, …"""
    groups: dict[object, list[int]] = {}
    met: dict[object, int] = {}
    for i, call in enumerate(calls):
        if call.replica is None:
            groups[i] = [i]
            continue
        line = (call.replica.run, call.kind, call.location.key if call.location else None, len(call.sources))
        ordinal = met[line, call.replica.number] = met.get((line, call.replica.number), 0) + 1
        groups.setdefault((line, ordinal), []).append(i)
    return [tuple(members) for members in groups.values()]


def _repeated(calls: Sequence[CallResult], groups: Sequence[_Group]) -> int:
    """How many verdicts were checked again on another replica than the first."""
    others = [calls[m] for g in groups for m in g.members[1:]]
    return sum(s.returned is not None for c in others if c.error is None or c.error.type == "LookupError" for s in c.sources)


def _group(report: Report, members: tuple[int, ...]) -> _Group:
    rows = [_merged_row(report.calls, members, s) for s in range(len(report.calls[members[0]].sources))]
    told = {members[0]} | {member for member, _ in rows}
    return _Group(members, tuple(m for m in members if m in told), tuple(source for _, source in rows))


def _merged_row(calls: Sequence[CallResult], members: tuple[int, ...], s: int) -> tuple[int, SourceResult]:
    """The member with the worst answer for its source ``s``, and that answer, with its replicas when others say something else."""
    answers = {m: calls[m].sources[s] for m in members}
    worst = min(members, key=lambda m: _WORST_FIRST.index(answers[m].verdict))
    same = [m for m in members if _said(answers[m]) == _said(answers[worst])]
    if len(same) == len(members):
        return members[0], answers[members[0]]
    return worst, replace(answers[worst], replicas=tuple(r.number for m in same if (r := calls[m].replica) is not None))


def _said(source: SourceResult) -> object:
    return source.verdict, tuple(_spot(b.cause, b.location, "") for b in source.breaks)


def _spot(cause: Cause, location: Location | None, otherwise: str) -> _Spot:
    return cause.value, location.key if location else otherwise


def _root_causes(report: Report, groups: Sequence[_Group]) -> tuple[tuple[RootCause, ...], dict[int, int]]:
    """The root causes of all groups, numbered anew, and the new number of each old one."""
    found: list[RootCause] = []
    numbers: dict[int, int] = {}
    for index, group in enumerate(groups):
        places: dict[_Spot, list[RootCause]] = {}
        for r in report.root_causes:
            if r.call in group.members:
                places.setdefault(_spot(r.cause, r.location, f"{r.detail} {' '.join(r.blocks)}"), []).append(r)
        for same in sorted(places.values(), key=lambda rs: (-len(rs[0].reconnects), -len(rs[0].blocks))):
            numbers.update((r.number, len(found) + 1) for r in same)
            found.append(_one(report, group, same, len(found) + 1, index))
    return tuple(found), numbers


def _one(report: Report, group: _Group, same: list[RootCause], number: int, call: int) -> RootCause:
    first = same[0]
    on = [r for m in group.members if any(s.call == m for s in same) and (r := report.calls[m].replica) is not None]
    detail = first.detail
    if on and len({s.call for s in same}) < len(group.members):
        only = f"on replica{'s' if len(on) > 1 else ''} {', '.join(str(r.number) for r in on)} of {on[0].total} only, counted from 0"
        detail = f"{detail}; {only}" if detail else only
    return replace(
        first,
        number=number,
        call=call,
        ops=tuple(dict.fromkeys(op for s in same for op in s.ops)),
        blocks=tuple(dict.fromkeys(name for s in same for name in s.blocks)),
        reconnects=tuple(dict.fromkeys(name for s in same for name in s.reconnects)),
        dominates=all(s.dominates for s in same),
        detail=detail,
    )


def _numbered(call: CallResult, numbers: dict[int, int]) -> CallResult:
    sources = tuple(replace(s, breaks=tuple(replace(b, root_cause=numbers.get(b.root_cause, 0)) for b in s.breaks)) for s in call.sources)
    return replace(call, sources=sources)


def _drawn(report: Report, groups: Sequence[_Group], numbers: dict[int, int]) -> ReportGraph:
    """The first replica of each group, and those that differ from it."""
    drawing = report.drawing
    prefixes: dict[int, str] = {}
    index_of: dict[int, int] = {}
    for index, group in enumerate(groups):
        for m in group.told:
            r = report.calls[m].replica
            index_of[m] = index
            prefixes[m] = (f"call {index + 1}: " if index else "") + (f"replica {r.number}: " if r is not None and m != group.members[0] else "")
    kept = {n.name: n for n in drawing.nodes if n.calls[0] in index_of}
    names = {name: prefixes[n.calls[0]] + name.removeprefix(f"call {n.calls[0] + 1}: ") for name, n in kept.items()}

    def renamed(n: GraphNode) -> GraphNode:
        return replace(n, name=names[n.name], number=numbers.get(n.number, 0), calls=(index_of[n.calls[0]],))

    edges: list[GraphEdge] = [replace(e, tail=names[e.tail], head=names[e.head]) for e in drawing.edges if e.tail in kept and e.head in kept]
    return ReportGraph(tuple(renamed(n) for n in kept.values()), tuple(edges))

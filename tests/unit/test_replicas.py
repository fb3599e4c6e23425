"""Calls that replicas of ``tf.distribute`` made on one line, as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.analysis.replicas import merge_replicas
from tapetrace.model.encoding import report_from_json, report_to_json
from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Agreement, Break, CallResult, Report, RootCause, SourceResult
from tapetrace.model.trace import Replica
from tapetrace.model.words import Cause, Returned, Verdict

ASKED = Location.new("a.py", 9, "train", "tape.gradient(loss, [w])")
STOP, ROUND = Location.new("a.py", 4), Location.new("a.py", 5)


def source(verdict: Verdict, at: Location | None = None, number: int = 0) -> SourceResult:
    breaks = (Break(Cause.STOP_GRADIENT, "stop", "StopGradient", at, root_cause=number),) if at else ()
    returned = Returned.TENSOR if verdict is Verdict.CONNECTED else Returned.NONE
    return SourceResult("w:0", "w", "variable", "float32", (), verdict, returned, breaks)


def call(replica: Replica | None, *sources: SourceResult) -> CallResult:
    return CallResult("gradient", ASKED, (), sources, replica=replica)


def cause(number: int, at: Location, of: int) -> RootCause:
    return RootCause(number, Cause.STOP_GRADIENT, at, (("stop", "StopGradient"),), ("w",), ("w",), call=of)


def report(calls: list[CallResult], causes: list[RootCause]) -> Report:
    nodes = [GraphNode(f"call {i + 1}: w" if i else "w", "Variable", Status.LIVE, Role.SOURCE, calls=(i,)) for i in range(len(calls))]
    nodes += [GraphNode(f"call {i + 1}: stop" if i else "stop", "StopGradient", Status.LIVE, calls=(i,)) for i in range(len(calls))]
    edges = [GraphEdge(a.name, b.name) for a, b in zip(nodes, nodes[len(calls) :], strict=False)]
    agreement = Agreement(sum(len(c.sources) for c in calls))
    return Report(
        "t", "2", "3", "graph", tuple(calls), tuple(causes), agreement=agreement, build_graph=lambda: ReportGraph(tuple(nodes), tuple(edges))
    )


FINE = source(Verdict.CONNECTED)


def on(number: int, run: int = 1, total: int = 2) -> Replica:
    return Replica(run, number, total)


def test_replicas_that_agree_are_one() -> None:
    broken = [call(on(n), source(Verdict.NONE, STOP, n + 1), FINE) for n in (0, 1)]
    merged = merge_replicas(report(broken, [cause(1, STOP, 0), cause(2, STOP, 1)]))
    assert [[(s.verdict, s.replicas, s.breaks[0].root_cause if s.breaks else 0) for s in c.sources] for c in merged.calls] == [
        [(Verdict.NONE, (), 1), (Verdict.CONNECTED, (), 0)]
    ]
    assert [(r.number, r.call, r.blocks, r.detail) for r in merged.root_causes] == [(1, 0, ("w",), "")]
    assert (merged.agreement.checked, merged.notes) == (2, ())
    assert [n.name for n in merged.drawing.nodes] == ["w", "stop"]
    assert [(e.tail, e.head) for e in merged.drawing.edges] == [("w", "stop")]


@pytest.mark.parametrize("broken", [0, 1])
def test_one_replica_that_is_broken_is_named(broken: int) -> None:
    calls = [call(on(n), source(Verdict.NONE, STOP, 1) if n == broken else FINE) for n in (0, 1)]
    merged = merge_replicas(report(calls, [cause(1, STOP, broken)]))
    ((row,),) = [c.sources for c in merged.calls]
    assert (row.verdict, row.replicas) == (Verdict.NONE, (broken,))
    assert merged.root_causes[0].detail == f"on replica {broken} of 2 only, counted from 0"
    assert merged.root_causes[0].call == 0
    shown = ["w", "stop"] if broken == 0 else ["w", "replica 1: w", "stop", "replica 1: stop"]
    assert [n.name for n in merged.drawing.nodes] == shown
    assert report_from_json(report_to_json(merged)).calls[0].sources[0].replicas == (broken,)


def test_replicas_that_are_broken_at_different_places() -> None:
    calls = [call(on(0), source(Verdict.NONE, STOP, 1)), call(on(1), source(Verdict.NONE, ROUND, 2))]
    merged = merge_replicas(report(calls, [cause(1, STOP, 0), cause(2, ROUND, 1)]))
    assert [r.detail for r in merged.root_causes] == ["on replica 0 of 2 only, counted from 0", "on replica 1 of 2 only, counted from 0"]
    assert [r.number for r in merged.root_causes] == [1, 2]


def test_calls_are_joined_by_run_line_and_turn() -> None:
    again = [call(on(n, run), FINE) for run in (1, 2) for _ in range(2) for n in (0, 1)]
    other = replace(again[0], location=STOP)
    assert len(merge_replicas(report([*again, other, call(None, FINE)], [])).calls) == 6


def test_replicas_of_other_processes_are_noted() -> None:
    merged = merge_replicas(report([call(on(2, total=4), FINE), call(on(3, total=4), FINE)], []))
    assert merged.notes == ("this process ran replicas 2, 3 of 4, counted from 0: the other processes tell of theirs",)


def test_a_report_without_replicas_stays() -> None:
    plain = report([call(None, FINE)], [])
    assert merge_replicas(plain) is plain

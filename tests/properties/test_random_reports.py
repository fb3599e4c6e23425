"""Random reports survive being saved and read back, and damaged ones are read or refused."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tapetrace.errors import ReportError
from tapetrace.model.encoding import report_from_dict, report_from_json, report_to_dict, report_to_json
from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import (
    Agreement,
    BlindSpot,
    Break,
    CallResult,
    Finding,
    Numbers,
    Report,
    RootCause,
    SourceResult,
    TargetResult,
)
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Returned, Verdict
from tests.unit.reports import in_series, small_graph

BASE = report_to_dict(replace(in_series(), build_graph=small_graph))

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
count = st.integers(0, 2**53)
causes = st.sampled_from(Cause)
shapes = st.none() | st.lists(st.none() | count, max_size=3).map(tuple)


def tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=2).map(tuple)


frames = st.builds(Frame, text, count, text, text)
locations = st.none() | st.builds(Location, frames, tuples(frames), st.none() | frames)
errors = st.none() | st.builds(TraceError, text, text, locations)
again = st.none() | st.builds(Location, frames, tuples(frames))
breaks = st.builds(Break, causes, text, text, locations, text, text, again, count)
numbers = st.none() | st.builds(Numbers, st.floats(allow_nan=False), count, count, count)
sources = st.builds(
    SourceResult, text, text, st.sampled_from(["variable", "tensor"]), text, shapes, st.sampled_from(Verdict), st.none() | st.sampled_from(Returned),
    tuples(breaks), tuples(text), numbers, text,
)  # fmt: skip
calls = st.builds(CallResult, text, locations, tuples(st.builds(TargetResult, text, text, locations)), tuples(sources), errors)
roots = st.builds(
    RootCause, count, causes, locations, tuples(st.tuples(text, text)), tuples(text), tuples(text), text, text, again, st.booleans(), st.just(0)
)
findings = tuples(st.builds(Finding, text, text, locations))


@st.composite
def graphs(draw: st.DrawFn) -> ReportGraph:
    names = draw(st.lists(text, unique=True, max_size=4))
    rest = (text, st.sampled_from(Status), st.sampled_from(Role), st.none() | causes, count, text, text, text, shapes, locations, tuples(count))
    nodes = tuple(draw(st.builds(GraphNode, st.just(n), *rest)) for n in names)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    edges = tuple(GraphEdge(a, b, draw(st.sampled_from(Status)), draw(st.none() | causes)) for a, b in pairs if draw(st.booleans()))
    return ReportGraph(nodes, edges)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    graph = draw(graphs())
    return Report(
        draw(text), draw(text), draw(text), draw(text), draw(tuples(calls)), draw(tuples(roots)), draw(findings), draw(findings),
        Agreement(draw(count), draw(tuples(text))), draw(tuples(st.builds(BlindSpot, text, text, locations, text, shapes))),
        draw(errors), draw(tuples(text)),
        build_graph=lambda: graph,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(reports())
def test_a_report_comes_back_as_it_was(r: Report) -> None:
    back = report_from_json(report_to_json(r))
    assert back == r
    assert back.drawing == r.drawing
    assert json.loads(report_to_json(r)) == report_to_dict(r)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_is_read_or_refused_but_never_crashes(data: st.DataObject) -> None:
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | text, lambda s: st.lists(s, max_size=2) | st.dictionaries(text, s)
    )
    at: Any = json.loads(json.dumps(BASE))
    top = at
    while isinstance(at, (dict, list)) and at:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else list(range(len(at)))))
        if not isinstance(at[key], (dict, list)) or not at[key] or data.draw(st.integers(0, 3)) == 0:
            at[key] = data.draw(json_values)
            break
        at = at[key]
    with contextlib.suppress(ReportError):
        report_from_dict(top)

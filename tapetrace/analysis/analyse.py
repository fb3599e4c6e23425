"""From a Trace to a Report."""

from __future__ import annotations

from dataclasses import replace

from tapetrace.analysis.agreement import find_agreement
from tapetrace.analysis.connection import Connection
from tapetrace.analysis.diagnosis import Diagnosis, numbered
from tapetrace.analysis.drawing import draw
from tapetrace.analysis.flattening import BUDGET
from tapetrace.analysis.root_causes import Place, find_root_causes, place_of
from tapetrace.analysis.sources import Answer, Verdicts
from tapetrace.analysis.ways import is_blind
from tapetrace.model.report import BlindSpot, CallResult, Finding, Report, RootCause, SourceResult, TargetResult
from tapetrace.model.trace import Trace

MADE_BY_STEP = "it is made while the step runs: make it once, before (a layer in `__init__`, not in `call`), and add its variables to the sources"


def analyse(trace: Trace, budget: int = BUDGET) -> Report:
    """The answers to every gradient call of a trace. Past ``budget`` ops in one call, function bodies are summarised instead of being opened."""
    connections = [Connection(trace.bodies, call, budget) for call in trace.calls]
    diagnoses = [Diagnosis(trace, c) for c in connections]
    answers = [Verdicts(c, d).answers() for c, d in zip(connections, diagnoses, strict=True)]
    parted = zip(connections, answers, diagnoses, strict=True)
    root_causes, numbers = _number([find_root_causes(c, a, i, d.locate) for i, (c, a, d) in enumerate(parted)])
    answers = [[_with_numbers(a, i, numbers) for a in found] for i, found in enumerate(answers)]
    calls = tuple(_call_result(trace, c, a) for c, a in zip(connections, answers, strict=True))
    parts = list(zip(connections, answers, calls, strict=True))
    return Report(
        target=trace.target,
        tensorflow=trace.tensorflow,
        keras=trace.keras,
        mode=trace.mode,
        calls=calls,
        root_causes=root_causes,
        not_asked=_not_asked(trace, connections),
        not_applied=_not_applied(trace),
        agreement=find_agreement(list(zip(trace.calls, calls, strict=True))),
        blind_spots=_blind_spots(trace, connections),
        error=trace.error,
        notes=trace.notes,
        build_graph=lambda: draw(trace, parts),
    )


def _number(found: list[list[tuple[Place, RootCause]]]) -> tuple[tuple[RootCause, ...], dict[tuple[int, Place], int]]:
    numbers: dict[tuple[int, Place], int] = {}
    causes: list[RootCause] = []
    for call, pairs in enumerate(found):
        for place, cause in pairs:
            numbers[call, place] = len(causes) + 1
            causes.append(replace(cause, number=len(causes) + 1))
    return tuple(causes), numbers


def _with_numbers(answer: Answer, call: int, numbers: dict[tuple[int, Place], int]) -> Answer:
    return replace(answer, breaks=tuple(numbered(b, numbers.get((call, place_of(b)), 0)) for b in answer.breaks))


def _call_result(trace: Trace, connection: Connection, answers: list[Answer]) -> CallResult:
    call = connection.call
    targets = []
    for ref, name in zip(call.targets, call.target_names, strict=True):
        t = None if ref is None else connection.flat.tensor(call.body, ref)
        node = None if t is None else connection.flat.nodes[t[0]]
        targets.append(TargetResult(name, node.type if node else "", trace.locate(*node.origin) if node else None))
    sources = tuple(_source_result(connection, a) for a in answers)
    return CallResult(call.kind, call.location, tuple(targets), sources, call.error, written=call.written, replica=call.replica)


def _source_result(connection: Connection, answer: Answer) -> SourceResult:
    source = answer.source
    nodes = connection.flat.nodes
    route: tuple[str, ...] = ()
    if answer.tensor is not None and answer.steps:
        route = tuple(dict.fromkeys((nodes[answer.tensor[0]].name, *(nodes[s.node].name for s in answer.steps if nodes[s.node].kind != "arg"))))
    elif answer.chain and answer.tensor is not None:
        route = (nodes[answer.tensor[0]].name, *(nodes[n].name for n in answer.chain))
    return SourceResult(
        source.name, source.path, source.kind, source.spec.dtype, source.spec.shape, answer.verdict, source.returned, answer.breaks, route,
        owner=source.owner,
    )  # fmt: skip


def _not_asked(trace: Trace, connections: list[Connection]) -> tuple[Finding, ...]:
    """Trainable variables that a target depends on and that are in no call's sources.

    A call that asks for tensors only (an adversarial image, a derivative by the inputs) trains nothing, and misses no variable. One that asks for
    nothing was given an empty list by mistake, and misses all.
    """
    asked = {(c.call.body, s.ref) for c in connections for s in c.call.sources}
    training = [c for c in connections if not c.call.sources or any(s.kind == "variable" for s in c.call.sources)]
    found = []
    for variable in trace.variables:
        if any((body, ref) in asked for body, ref in variable.refs):
            continue
        tensors = ((c, c.flat.tensor(body, ref)) for c in training for body, ref in variable.refs if body == c.call.body)
        if any(t is not None and t in c.live.possible and c.is_tracked(t) for c, t in tensors):
            found.append(Finding(variable.name, variable.path, variable.made_at, MADE_BY_STEP if variable.made_by_step else ""))
    return tuple(found)


def _not_applied(trace: Trace) -> tuple[Finding, ...]:
    found = []
    for call_index, source_index in trace.not_applied:
        call = trace.calls[call_index]
        source = call.sources[source_index]
        found.append(Finding(source.name, source.path, call.location))
    return tuple(found)


def _blind_spots(trace: Trace, connections: list[Connection]) -> tuple[BlindSpot, ...]:
    """Live ancestors of a target whose own origin the graph does not know, each once."""
    found: dict[tuple[str, int], BlindSpot] = {}
    for c in connections:
        live = c.live.maybe_opaque
        for n, node in enumerate(c.flat.nodes):
            if not is_blind(node.type) or node.origin in found:
                continue
            touched = [(n, j) for j in range(len(node.outputs)) if (n, j) in live]
            if not touched:
                continue
            at = trace.locate(*node.origin)
            if at is None:
                readers = [m for t in touched for m, _ in c.flat.consumers.get(t, ())]
                at = trace.locate(*c.flat.nodes[min(readers)].origin) if readers else None
            spec = node.outputs[touched[0][1]]
            found[node.origin] = BlindSpot(node.name, node.type, at, spec.dtype, spec.shape)
    return tuple(found.values())

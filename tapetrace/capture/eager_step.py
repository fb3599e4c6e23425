"""From an eager run to a Trace. It speaks of this run: of the branches that Python took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.before import Before
from tapetrace.capture.description import describe_call, keras_version, label_variables, name_variables
from tapetrace.capture.eager_extraction import EAGER, EagerExtraction, HiddenOf
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.eager_run import EagerRun
from tapetrace.capture.extraction import Extraction
from tapetrace.capture.gates import GateProber
from tapetrace.capture.history import current_history
from tapetrace.capture.joining import joined
from tapetrace.capture.living import living
from tapetrace.capture.locations import Locator
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.trace_step import describe_trace
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import VariableNames, describe_variable, handle_of, is_variable
from tapetrace.errors import TraceFailed
from tapetrace.model.locations import Frame, Location
from tapetrace.model.trace import Hidden, OtherVariable, Tape, Trace, TraceError
from tapetrace.model.words import Cause


def trace_eagerly(run: EagerRun, target: str, notes: tuple[str, ...] = (), entered: Mapping[int, Hidden] | None = None) -> Trace:
    """The facts of a run. ``entered`` says of ops of its log what they were computed from outside TensorFlow.

    Raises `TraceFailed` when the run made no gradient call.
    """
    calls = run.calls()
    error = _error(run)
    if not calls:
        if error is not None:
            where = f" at {error.location.place}" if error.location else ""
            raise TraceFailed(f"The step could not be run: {error.type}{where}: {error.message.splitlines()[0] if error.message else ''}")
        raise TraceFailed(f"{target} makes no gradient call when it runs eagerly: let it call tape.gradient, or return a scalar float loss.")
    label_variables(calls, run.recorder.labels)
    in_functions = [c for c in calls if c.graph is not None]
    trace = _trace(run, [c for c in calls if c.graph is None], target, error, entered or {})
    if in_functions:
        trace = joined(trace, describe_trace(run.recorder, in_functions, in_functions, target, None), [c.graph is None for c in calls])
    return replace(trace, notes=(*notes, *run.recorder.notes))


def _trace(run: EagerRun, calls: list[CallRecord], target: str, error: TraceError | None, entered: Mapping[int, Hidden]) -> Trace:
    """The facts of the gradient calls on eager tensors."""
    recorder, log = run.recorder, run.log
    names = VariableNames()
    others = name_variables(calls, names)
    names.add(living(private.BaseResourceVariable))
    before = Before(current_history(), recorder.locator)
    extraction = Extraction(recorder.snapshots, GateProber(), names)
    body = EagerExtraction(log, extraction, names).body(_hidden_of(log, before, entered))
    described = tuple(
        describe_call(c, EAGER, _tape(c.tape), lambda v: log.ref(handle_of(v) if is_variable(v) else v), before, recorder.labels) for c in calls
    )
    described = tuple(
        replace(
            d, targets=tuple(recorder.target_refs[c.index]),
            sources=tuple(replace(s, ref=ref) for s, ref in zip(d.sources, recorder.source_refs[c.index], strict=True)),
        )
        for c, d in zip(calls, described, strict=True)
    )  # fmt: skip
    return Trace(
        target=target,
        tensorflow=tf.__version__,
        keras=keras_version(),
        mode="eager",
        bodies={EAGER: body, **extraction.bodies},
        calls=described,
        variables=tuple(_other(run, before, v) for v in others),
        not_applied=_not_applied(run, calls),
        error=error,
        locate=_EagerLocations(log, recorder.locator, extraction),
    )


def _error(run: EagerRun) -> TraceError | None:
    if run.raised is None:
        # TensorFlow builds the backward pass of a function when it is called, and would have raised then.
        return run.recorder.missing.outside[0] if run.recorder.missing.outside else None
    message = "\n".join(line for line in str(run.raised).strip().splitlines()[:12] if line.strip())
    return TraceError(type(run.raised).__name__, message, run.recorder.locator.locate_exception(run.raised))


def _tape(tape: Tape) -> Tape:
    return replace(tape, windows={EAGER: tape.windows[EAGER]} if EAGER in tape.windows else {})


def _hidden_of(log: EagerLog, before: Before, entered: Mapping[int, Hidden]) -> HiddenOf:
    handles = {id(op.handle): p for p, op in enumerate(log.ops) if op.handle is not None}

    def hidden(position: int) -> Hidden | None:
        if position in entered:
            return entered[position]
        tensor = log.ops[position].leaf() if log.ops[position].leaf is not None else None  # type: ignore[misc]
        found = (None if tensor is None else before.past(tensor)) or before.past_of_value(log.ops[position].digest)
        places = sorted(handles[h] for h in found[0] if h in handles) if found else []
        return Hidden(tuple((p, 0) for p in places if p < position), Cause.CAPTURED_VALUE, found[1]) if found and places else None

    return hidden


def _other(run: EagerRun, before: Before, variable: Any) -> OtherVariable:
    named, handle = describe_variable(variable), handle_of(variable)
    ref = run.log.ref(handle)
    _, stack = run.made.get(id(handle), (None, None))
    made_at = before.made_at(variable) if stack is None else run.recorder.locator.locate(stack)
    label = run.recorder.labels.label(variable, named.path)
    return OtherVariable(named.name, label, () if ref is None else ((EAGER, ref),), made_at, made_by_step=stack is not None)


def _not_applied(run: EagerRun, calls: list[CallRecord]) -> tuple[tuple[int, int], ...]:
    """Gradients of variables that no later op reads and that the step does not return."""
    if run.raised is not None:
        return ()
    read = {ref for op in run.log.ops for ref in op.inputs}
    returned = {id(tensor_of(t)) for t in tf.nest.flatten(run.result) if is_tensor(t)}
    found = []
    for call in calls:
        for s, (gradient, ref) in enumerate(zip(call.gradients or (), run.recorder.gradient_refs.get(call.index, ()), strict=False)):
            if gradient is None or ref is None or call.error is not None or not is_variable(call.sources[s]):
                continue
            if ref not in read and ref not in run.recorder.handed_on and id(tensor_of(gradient)) not in returned:
                found.append((calls.index(call), s))
    return tuple(found)


class _EagerLocations:
    """``trace.locate`` for an eager run and the function bodies that it calls."""

    def __init__(self, log: EagerLog, locator: Locator, extraction: Extraction) -> None:
        self._log = log
        self._locator = locator
        self._operations = extraction.operations

    def __call__(self, body: str, position: int, inside: Frame | None = None) -> Location | None:
        if body == EAGER:
            stack = self._log.ops[position].stack
        else:
            op = self._operations[body][position]
            stack = None if op is None else op.traceback
        if not stack:
            return None
        if inside is None:
            return self._locator.locate(stack)
        return self._locator.locate_function(stack, inside.file, inside.function)

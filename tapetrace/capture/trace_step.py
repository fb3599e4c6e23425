"""Trace a step with ``tf.function(step).get_concrete_function`` and record what is needed to judge its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.before import Before
from tapetrace.capture.description import describe_call, keras_version, name_variables
from tapetrace.capture.extraction import Extraction
from tapetrace.capture.final_calls import final_calls
from tapetrace.capture.finished import finished_function
from tapetrace.capture.finished_choice import NOTHING_NAMED, Asked, choose_loss, choose_sources, owned_variables
from tapetrace.capture.garbage import without_collections
from tapetrace.capture.gates import GateProber
from tapetrace.capture.history import current_history
from tapetrace.capture.labels import Labels
from tapetrace.capture.locations import Frames, Locator, StackOf
from tapetrace.capture.numbers import StepExperiment
from tapetrace.capture.recorder import CallRecord, Recorder
from tapetrace.capture.replicas import by_replica
from tapetrace.capture.snapshot import Draft
from tapetrace.capture.turns import Turns
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import VariableNames, describe_variable, is_variable, spec_of
from tapetrace.errors import TraceFailed, UsageError
from tapetrace.model.locations import Frame, Location
from tapetrace.model.trace import OtherVariable, Tape, Trace, TraceError


def trace_step(
    step: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    target: str,
    locator: Locator,
    verify: bool = True,
    asked: Asked = NOTHING_NAMED,
) -> Trace:
    """The facts of one trace of ``step``.

    ``args`` and ``kwargs`` are what the step is called with: tensors, arrays, ``tf.TensorSpec``, or Python values. ``asked`` names loss and
    variables for a step that makes no gradient call; one that does raises `UsageError`. When the step raises, what was
    seen until then is in the Trace, beside the error. Raises `TraceFailed` when there is nothing to judge.
    """
    recorder = Recorder(locator, verify, is_plain=not isinstance(step, private.Function))
    function, error, outputs = _traceable(step), None, None
    with recorder.recording():
        try:
            outputs = function.get_concrete_function(*args, **kwargs)
        except Exception as raised:  # whatever the user's step raises belongs in the report
            kind, message = what_was_said(raised)
            error = TraceError(kind, first_lines(message), locator.locate_exception(raised))
            failure: BaseException | None = raised
        else:
            failure = None
    calls = final_calls(recorder.calls) if recorder.calls else []
    if not calls and failure is not None and error is not None:
        where = f" at {error.location.place}" if error.location else ""
        said = f": {first_lines(error.message, 1)}" if error.message else "."
        raise TraceFailed(f"The step could not be traced: {error.type}{where}{said}") from failure
    notes: tuple[str, ...] = ()
    if not calls:
        calls = _implied_calls(recorder, outputs, target, step, asked)
        taken = "every trainable variable that it reads or its module owns" if owned_variables(step) else "every trainable variable that it reads"
        taken = "what was named" if asked.variables else taken
        notes = (f"The step makes no gradient call: the loss that it returns was taken as target, and {taken} as source.",)
    elif asked:
        raise UsageError(f"{target} makes gradient calls itself, which name their loss and variables: leave --loss and --variables out.")
    if error is None and recorder.missing.outside:
        error = recorder.missing.outside[0]
    with without_collections():
        trace = describe_trace(recorder, calls, outputs, target, error)
    return replace(trace, notes=(*trace.notes, *notes), experiment=StepExperiment(calls, outputs, args, kwargs, locator))


def _traceable(step: Callable[..., Any]) -> Any:
    """A tf.function that has not been traced; a ``tf.function`` of the user's is cloned with its options."""
    if isinstance(step, private.Function):
        return step._clone(None)
    return tf.function(step)


def _tensors(values: Iterable[Any]) -> list[Any]:
    return [tensor_of(v) for v in values if is_tensor(v)]


def what_was_said(error: BaseException) -> tuple[str, str]:
    """Type and message of an exception; AutoGraph writes the user's stack into the message, and may change the type."""
    metadata = getattr(error, "ag_error_metadata", None)
    kind, _, message = (metadata.cause_message if metadata is not None else "").partition(": ")
    return (kind, message) if kind.isidentifier() else (type(error).__name__, str(error))


def first_lines(text: str, count: int = 12) -> str:
    """The first lines of ``text`` that are not empty."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return "\n".join(lines[:count])


def _implied_calls(recorder: Recorder, concrete: Any, target: str, step: Any, asked: Asked) -> list[CallRecord]:
    """For a step without a gradient call that returns a loss: the gradient of that loss for the trainable variables, replica by replica.

    They are those that the step reads, and those of the module whose method it is.
    """
    results = [t for t in tf.nest.flatten(concrete.structured_outputs) if tf.is_tensor(t)]
    if recorder.notes:
        raise TraceFailed(f"{target} makes no gradient call but uses {recorder.notes[0]}, let it call tape.gradient.")
    if asked.loss is None and (len(results) != 1 or not results[0].dtype.is_floating or results[0].shape.rank not in (0, None)):
        returned = ", ".join(str(spec_of(t)) for t in results) or "no tensor"
        raise TraceFailed(
            f"{target} makes no gradient call and returns {returned}: let it call tape.gradient, or return a scalar float loss and nothing else, "
            "or name its loss with --loss."
        )
    graph = concrete.graph
    draft = recorder.snapshots.take(graph)
    finished = finished_function(concrete, target, owned_variables(step))
    losses = [graph.outputs[0]] if asked.loss is None else [o.tensor for o in choose_loss(finished, asked.loss, target)[0]]
    sources = choose_sources(finished, asked.variables, target) if asked.variables else [v for v in finished.variables if v.trainable]
    found = by_replica(sources)
    return [
        CallRecord(i, "loss", graph, graph, draft.key, len(draft.ops), losses, variables, Tape(), None, made=False, replica=replica)
        for i, (replica, variables) in enumerate(found)
    ]


def describe_trace(
    recorder: Recorder, calls: list[CallRecord], concrete: Any, target: str, error: TraceError | None, stack_of: StackOf | None = None
) -> Trace:
    """The facts that a recorder holds of these calls. ``concrete`` is None when the trace did not come to its end.

    ``stack_of`` gives the stack of an op that was made elsewhere.
    """
    names = VariableNames()
    others = name_variables(calls, names)
    for call in calls:
        names.add(private.variables_of(call.root))
    before = Before(current_history(), recorder.locator)
    extraction = Extraction(recorder.snapshots, GateProber(), names, before.past)
    drafts = [recorder.snapshots.drafts[call.body] for call in calls]
    for call, draft in zip(calls, drafts, strict=True):
        watched = [value for value, _ in call.watched or ()]
        extraction.add_root(draft, *(_tensors(values) for values in (call.targets, call.sources, watched, call.stops)))
    described = tuple(
        describe_call(call, draft.key, _tape_by_body(recorder, call.tape, draft), partial(extraction.ref, draft), before, recorder.labels)
        for call, draft in zip(calls, drafts, strict=True)
    )
    return Trace(
        target=target,
        tensorflow=tf.__version__,
        keras=keras_version(),
        mode="graph",
        bodies=extraction.bodies,
        calls=described,
        variables=tuple(_other(extraction, before, recorder.labels, drafts, v) for v in others),
        not_applied=_not_applied(calls, concrete),
        error=error,
        notes=recorder.notes,
        floats=tuple((draft.key, ref) for draft in drafts for t in recorder.floats if (ref := extraction.ref(draft, t)) is not None),
        locate=_Locations(recorder.locator, extraction, stack_of),
    )


def _other(extraction: Extraction, before: Before, labels: Labels, drafts: list[Draft], variable: Any) -> OtherVariable:
    named = describe_variable(variable)
    refs = [(draft.key, ref) for draft in drafts if (ref := extraction.ref(draft, variable)) is not None]
    return OtherVariable(named.name, labels.label(variable, named.path), tuple(refs), before.made_at(variable))


def _tape_by_body(recorder: Recorder, tape: Tape, draft: Draft) -> Tape:
    """The windows of a tape under the keys of the drafts that this call refers to."""
    windows = {}
    current: Draft | None = draft
    while current is not None:
        if current.graph_key in tape.windows:
            windows[current.key] = tape.windows[current.graph_key]
        current = recorder.snapshots.drafts[current.outer] if current.outer else None
    return replace(tape, windows=windows)


def _not_applied(calls: list[CallRecord], concrete: Any) -> tuple[tuple[int, int], ...]:
    """Gradients of variables that nothing reads: no op takes them, and the step does not return them."""
    if concrete is None:
        return ()
    return tuple(
        (c, s)
        for c, call in enumerate(calls)
        for s, gradient in enumerate(call.gradients or ())
        if gradient is not None and is_variable(call.sources[s]) and call.error is None and not _is_used(gradient)
    )


def _is_used(gradient: Any) -> bool:
    tensor = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    return not hasattr(tensor, "consumers") or bool(tensor.consumers()) or any(tensor is out for out in tensor.graph.outputs)


class _Locations:
    """``trace.locate``: reads the stack of an op when its location is asked for."""

    def __init__(self, locator: Locator, extraction: Extraction, stack_of: StackOf | None) -> None:
        self._locator = locator
        self._elsewhere = stack_of
        self._operations = extraction.operations
        self._turns = Turns(extraction.operations, lambda op: locator.calls(self._stack(op)))

    def __call__(self, body: str, position: int, inside: Frame | None = None) -> Location | None:
        op = self._operations[body][position]
        if op is None:
            return None
        stack = self._stack(op)
        if not stack:
            return None
        if inside is None:
            return self._locator.locate(stack, partial(self._turns.line, body, position))
        return self._locator.locate_function(stack, inside.file, inside.function)

    def _stack(self, op: Any) -> Frames:
        return op.traceback or (self._elsewhere(op) if self._elsewhere is not None else ())

"""Run a step once, eagerly, and record what is needed to judge its gradients. The Trace speaks of this run: of the branches that Python took."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.before import Before
from tapetrace.capture.description import describe_call, keras_version, name_variables
from tapetrace.capture.eager_extraction import EAGER, EagerExtraction, HiddenOf, executed_graphs
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.eager_recorder import EagerRecorder
from tapetrace.capture.escapes import Escapes, Substitution
from tapetrace.capture.extraction import Extraction
from tapetrace.capture.final_calls import final_calls
from tapetrace.capture.fresh_functions import FreshFunctions
from tapetrace.capture.gates import GateProber
from tapetrace.capture.history import current_history
from tapetrace.capture.joining import joined
from tapetrace.capture.locations import Locator
from tapetrace.capture.new_variables import new_variables_restored
from tapetrace.capture.numpy_calls import NumpyCalls
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.restoring import all_variable_handles, restored
from tapetrace.capture.trace_step import describe_trace
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import VariableNames, describe_variable, handle_of, is_variable
from tapetrace.errors import TraceFailed
from tapetrace.model.locations import Frame, Location
from tapetrace.model.trace import Hidden, OtherVariable, Tape, Trace, TraceError
from tapetrace.model.words import Cause

_SEEDS = count(20_160_229)
"""A seed for each first run. It is new, so that no kernel of the user's is disturbed; later runs use it again and draw the same numbers."""


@dataclass(slots=True)
class EagerRun:
    """One finished run: its log, its gradient calls and the ways out of TensorFlow that were taken. ``implied`` says that the step returns a loss
    and asks for no gradient itself."""

    log: EagerLog
    recorder: EagerRecorder
    escapes: Escapes
    numpy_calls: NumpyCalls | None
    result: Any
    raised: BaseException | None
    seed: int
    implied: bool = False

    def calls(self) -> list[CallRecord]:
        """The gradient calls on eager tensors, and those in functions that the run executed."""
        traced = [c for c in self.recorder.calls if c.graph is not None]
        ran = executed_graphs(self.log) if traced else set()
        if self.raised is not None and traced:
            ran.add(id(traced[-1].root))
        roots = {id(c.root): c.root for c in traced if id(c.root) in ran}
        final = {c.index for root in roots.values() for c in final_calls([c for c in traced if c.root is root])}
        return [c for c in self.recorder.calls if c.graph is None or c.index in final]

    def variables_of(self, sources: Iterable[tuple[int, int]]) -> Iterator[Any]:
        """The variables among some sources, given as (index of the call, index in it), each once."""
        calls = self.calls()
        seen: set[int] = set()
        for c, s in sources:
            value = calls[c].sources[s]
            if is_variable(value) and id(handle_of(value)) not in seen:
                seen.add(id(handle_of(value)))
                yield value

    def has_entries(self) -> bool:
        """Whether values entered TensorFlow from outside while the forward pass ran."""
        return any(op.digest for op in self.log.ops)


@dataclass(frozen=True, slots=True)
class Again:
    """A run that is not the first: it draws the same random numbers (``seed``) and calls the same traces of functions. NumPy calls may be looked
    for, and other numbers handed out."""

    seed: int
    functions: FreshFunctions
    find_numpy: bool = False
    substitution: Substitution | None = None


def run_step(step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], locator: Locator, again: Again | None = None) -> EagerRun:
    """Run the step with its variables, and all random number generators, put back afterwards.

    A step that makes no gradient call and returns a scalar float loss is run once more, under a tape of ours.
    """
    run = _run(step, args, kwargs, locator, again)
    if run.raised is None and not run.recorder.calls and _is_loss(run.result):
        run = _run(_differentiated(step), args, kwargs, locator, again)
        run.implied = True
        for call in run.recorder.calls:
            call.kind, call.location, call.tape = "loss", None, replace(call.tape, opened=None)
    return run


def _run(step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], locator: Locator, again: Again | None) -> EagerRun:
    log = EagerLog()
    log.arguments = {id(t): t for t in tf.nest.flatten((list(args), dict(kwargs))) if tf.is_tensor(t)}
    for handle in all_variable_handles():  # first, since what a tensor was computed from before the step must stand before it
        log.ref_or_leaf(handle)
    recorder = EagerRecorder(locator, log, again.functions if again else None)
    escapes = Escapes(log, again.substitution if again else None)
    numpy_calls = NumpyCalls(log, locator.is_user_file) if again and again.find_numpy else None
    seed = again.seed if again else next(_SEEDS)
    result, raised = None, None
    with restored(all_variable_handles()), new_variables_restored(), ExitStack() as stack:
        if again:
            tf.random.set_seed(seed)  # the kernels of the first run must start anew
        else:
            private.seed_quietly(seed)
        stack.enter_context(recorder.recording())
        stack.enter_context(log.recording())
        stack.enter_context(escapes.watching())
        if numpy_calls is not None:
            stack.enter_context(numpy_calls.watching())
        try:
            result = _eager(step)(*args, **kwargs)
        except Exception as error:  # whatever the user's step raises belongs in the report
            raised = error
    return EagerRun(log, recorder, escapes, numpy_calls, result, raised, seed)


def _eager(step: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a ``tf.function``: only that can be run op by op."""
    return step.python_function if isinstance(step, private.Function) else step


def _is_loss(result: Any) -> bool:
    return tf.is_tensor(result) and bool(private.is_trainable(result)) and getattr(result, "shape", None) == ()


def _differentiated(step: Callable[..., Any]) -> Callable[..., Any]:
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = _eager(step)(*args, **kwargs)
        tape.gradient(loss, list(tape.watched_variables()))
        return loss

    return differentiated


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
    names.add(v for v in gc.get_objects() if issubclass(type(v), private.BaseResourceVariable))
    before = Before(current_history(), recorder.locator)
    extraction = Extraction(recorder.snapshots, GateProber(), names)
    body = EagerExtraction(log, extraction, names).body(_hidden_of(log, before, entered))
    described = tuple(describe_call(c, EAGER, _tape(c.tape), lambda v: log.ref(handle_of(v) if is_variable(v) else v), before) for c in calls)
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
        variables=tuple(_other(log, before, v) for v in others),
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


def _other(log: EagerLog, before: Before, variable: Any) -> OtherVariable:
    named = describe_variable(variable)
    ref = log.ref(handle_of(variable))
    return OtherVariable(named.name, named.path, () if ref is None else ((EAGER, ref),), before.made_at(variable))


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
            if ref not in read and id(tensor_of(gradient)) not in returned:
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

"""Run a step once, eagerly, with everything that it changes in TensorFlow put back afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.eager_extraction import executed_graphs
from tapetrace.capture.eager_flows import EagerFlowMeter
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.eager_recorder import EagerRecorder
from tapetrace.capture.escapes import Escapes, Substitution
from tapetrace.capture.final_calls import final_calls
from tapetrace.capture.fresh_functions import FreshFunctions
from tapetrace.capture.locations import Locator
from tapetrace.capture.new_variables import new_variables_restored
from tapetrace.capture.numpy_calls import NumpyCalls
from tapetrace.capture.patches import Patches
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.restoring import all_variable_handles, restored
from tapetrace.capture.variables import handle_of, is_variable

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
    meter: EagerFlowMeter | None = None
    made: Mapping[int, tuple[Any, Any]] = field(default_factory=dict)
    """By the identity of its handle, handle and stack of the making of each variable that the run made."""

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
    measured: tuple[int, Sequence[int]] | None = None
    """The call between whose target and sources gradients are measured, and the indices of these sources."""


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
    handles = all_variable_handles()
    for handle in handles:  # first, since what a tensor was computed from before the step must stand before it
        log.ref_or_leaf(handle)
    recorder = EagerRecorder(locator, log, again.functions if again else None)
    escapes = Escapes(log, again.substitution if again else None)
    numpy_calls = NumpyCalls(log, locator.is_user_file) if again and again.find_numpy else None
    meter = EagerFlowMeter(log, *again.measured) if again and again.measured else None
    seed = again.seed if again else next(_SEEDS)
    result, raised = None, None
    with restored(handles), new_variables_restored() as made, ExitStack() as stack:
        if again:
            tf.random.set_seed(seed)  # the kernels of the first run must start anew
        else:
            private.seed_quietly(seed)
        if meter is not None:
            meter.install(stack.enter_context(Patches()))
        stack.enter_context(recorder.recording())
        stack.enter_context(log.recording())
        stack.enter_context(escapes.watching())
        if numpy_calls is not None:
            stack.enter_context(numpy_calls.watching())
        try:
            result = _eager(step)(*args, **kwargs)
        except Exception as error:  # whatever the user's step raises belongs in the report
            raised = error
    return EagerRun(log, recorder, escapes, numpy_calls, result, raised, seed, meter=meter, made=made)


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

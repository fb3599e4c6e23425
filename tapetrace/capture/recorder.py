"""Watching a step while it is traced: the tapes it opens and the gradient calls it makes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.fresh_functions import FreshFunctions
from tapetrace.capture.labels import Labels
from tapetrace.capture.locations import Locator, here
from tapetrace.capture.missing_gradients import MissingGradients
from tapetrace.capture.patches import Patches
from tapetrace.capture.quick import idle_optimizers, zeros_for
from tapetrace.capture.replicas import current_replica, local, note_leaders
from tapetrace.capture.tape_recorder import TapeRecorder
from tapetrace.model.locations import Location
from tapetrace.model.trace import Replica, Tape, TraceError


@dataclass(slots=True, eq=False)
class CallRecord:
    """One gradient call as it happened: Python objects, to be described after the trace.

    ``raised_in``: type and outputs of the ops whose gradient functions raised ``error``.
    ``written``: the call in the user's own words.
    ``stops``: tensors that are constants to it (``tf.gradients``). ``around``: the graphs that it was made in, from ``graph`` to ``root``.
    """

    index: int
    kind: str
    graph: Any
    root: Any
    body: str
    order: int
    targets: list[Any]
    sources: list[Any]
    tape: Tape
    location: Location | None
    written: str = ""
    watched: list[tuple[Any, int]] | None = None
    gradients: list[Any] | None = None
    error: TraceError | None = None
    raised_in: list[tuple[str, list[Any]]] = field(default_factory=list)
    tape_reused: bool = False
    unconnected_zero: bool = False
    made: bool = True
    stops: list[Any] = field(default_factory=list)
    around: tuple[Any, ...] = ()
    replica: Replica | None = None


BY_OPTIMIZERS = ("minimize", "compute_gradients")
"""Methods that make the call for the user."""

SPELLINGS = frozenset({"gradients", "gradients_v2"})
"""The public functions behind ``tf.gradients`` and ``tf.compat.v1.gradients``."""

_OWN = __file__.removesuffix("recorder.py")
_NOT_THE_USERS = ("/python/eager/forwardprop.py", "/python/ops/script_ops.py", "/python/ops/custom_gradient.py")
"""Files of TensorFlow that ask tapes of their own: forward mode, ``py_function`` while it runs, and ``recompute_grad`` while a backward pass is
built, which under a persistent tape is as soon as a function is called."""


class Recorder(TapeRecorder):
    """Records gradient calls and tape windows in the thread that traces, and in those of its replicas.

    ``verify`` False leaves the backward pass out. ``is_plain``: the step is a Python function, which its user may run without ``tf.function``.
    """

    def __init__(self, locator: Locator, verify: bool = True, is_plain: bool = False) -> None:
        super().__init__(locator)
        self.verify = verify
        self.is_plain = is_plain
        self.calls: list[CallRecord] = []
        self.missing = MissingGradients(locator)
        self.functions = FreshFunctions(self._is_ours)
        self.labels = Labels()
        self._inside = 0
        self._forward: dict[str, None] = {}
        self.floats: list[Any] = []
        """Tensors that AutoGraph made of ``float`` of a tensor in a plain step, outside branches, loops and functions of their own."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was seen that is not analysed."""
        return tuple(f"tf.autodiff.ForwardAccumulator{place}: derivatives in forward mode are not analysed" for place in self._forward)

    @contextmanager
    def recording(self) -> Any:
        """Within this context gradient calls are recorded."""
        with Patches() as patches:
            self.install(patches)
            for name in ("gradient", "jacobian", "batch_jacobian"):
                patches.wrap(private.GradientTape, name, self._wrap_gradient(name))
            patches.wrap(private.gradients_util, "_GradientsHelper", self._wrap_symbolic)
            patches.wrap(tf.autodiff.ForwardAccumulator, "__enter__", self._wrap_forward)
            patches.wrap(private.python_builtins, "_tf_float", self._wrap_float)
            note_leaders(patches)
            patches.wrap(type(private.gradient_registry), "lookup", self.missing.wrap_lookup)
            self.functions.install(patches)
            if not self.verify:
                idle_optimizers(patches, lambda: not self._is_ours() or self._is_observed())
            try:
                yield self
            finally:
                self.turn.end()
                self.missing.end()

    def place(self) -> tuple[Any, Any, str, int]:
        """Where a gradient call is being made: the graph, the outermost graph around it, the key of its body, and how many ops that has."""
        graph = root = private.default_graph()
        while isinstance(root.outer_graph, private.FuncGraph):
            root = root.outer_graph
        draft = self.snapshots.take(graph)
        return graph, root, draft.key, len(draft.ops)

    def close_call(self, call: CallRecord) -> None:
        """Note that what was added since the call began is its backward pass."""
        self.snapshots.mark_backward(call.graph, call.index)

    def _wrap_forward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(accumulator: Any) -> Any:
            if self._is_ours():
                location = self.locator.locate(here())
                self._forward[f" at {location.place}" if location else ""] = None
            return original(accumulator)

        return __enter__

    def _wrap_float(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _tf_float(x: Any) -> Any:
            found = original(x)
            is_inner = isinstance(private.default_graph().outer_graph, private.FuncGraph)
            if not self.is_plain or is_inner or not self._is_ours() or not self._is_observed():
                return found
            found = tf.identity(found)  # of a float32 tensor AutoGraph makes the tensor itself
            self.floats.append(found)
            return found

        return _tf_float

    def _wrap_gradient(self, kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def gradient(tape: Any, target: Any = None, sources: Any = None, *args: Any, **kwargs: Any) -> Any:
                if kind == "batch_jacobian" and sources is None:
                    sources = kwargs.pop("source", None)
                if self._inside or not self._is_ours() or _asked_by_tensorflow():
                    return original(tape, target, sources, *args, **kwargs)
                record = self.record_of(tape)
                call = self._begin(kind, target, sources, record.frozen(self.counts()), self._watched(record))
                call.unconnected_zero = _asks_for_zeros(args, kwargs)

                def ask() -> Any:
                    return original(tape, target, sources, *args, **kwargs)

                if tape._tape is None and target is not None and kind != "batch_jacobian":
                    return self._reused(call, sources, ask)
                return self._perform(call, sources, ask, tape)

            return gradient

        return make

    def _wrap_symbolic(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        def _GradientsHelper(*args: Any, **kwargs: Any) -> Any:
            # Functions, conditionals and loops come here as well, to build their backward passes.
            if self._inside or sys._getframe(1).f_code.co_name not in SPELLINGS or not self._is_ours():
                return original(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            call = self._begin("gradients", given["ys"], given["xs"], Tape(), None)
            call.unconnected_zero = _asks_for_zeros((given.get("unconnected_gradients"),), {})
            call.stops = tf.nest.flatten(given.get("stop_gradients") or [])
            return self._perform(call, given["xs"], lambda: original(*args, **kwargs), None)

        return _GradientsHelper

    def _begin(self, kind: str, target: Any, sources: Any, tape: Tape, watched: list[tuple[Any, int]] | None) -> CallRecord:
        graph, root, body, order = self.place()
        location = self.locator.locate(here())
        call = CallRecord(
            len(self.calls), kind, graph, root, body, order, tf.nest.flatten(target), [local(s) for s in tf.nest.flatten(sources)], tape,
            location, self.locator.written(location, kind, *BY_OPTIMIZERS), watched, replica=current_replica(),
        )  # fmt: skip
        while isinstance(graph, private.FuncGraph):
            call.around += (graph,)
            graph = graph.outer_graph
        self.calls.append(call)
        return call

    def _leave_out(self, call: CallRecord, sources: Any, tape: Any) -> Any:
        """Hand zeros back without building the backward pass; a tape that answers once has answered."""
        call.made = False
        if tape is not None and not tape._persistent:
            if tape._recording:
                tape._pop_tape()
            tape._watched_variables, tape._tape = tape._tape.watched_variables(), None
        gradients = zeros_for(sources)
        self.close_call(call)
        return gradients

    def _perform(self, call: CallRecord, sources: Any, ask: Callable[[], Any], tape: Any) -> Any:
        if not self.verify and call.kind in ("gradient", "gradients") and not self._is_observed(tape):
            return self._leave_out(call, sources, tape)
        self._inside += 1
        self.missing.is_in_call = True
        lacking_before = len(self.missing.met)
        try:
            result = ask()
        except Exception as error:
            call.error = TraceError(type(error).__name__, str(error), self.locator.locate_exception(error))
            call.raised_in = private.asked_when_raised(error)
            raise
        finally:
            self._inside -= 1
            self.missing.is_in_call = False
            self.close_call(call)
        call.gradients = tf.nest.flatten(result)
        call.made = not self.missing.outside  # TensorFlow has raised before, and never comes here
        lacking = self.missing.met[lacking_before:]
        if lacking:
            call.error = TraceError("LookupError", self.missing.message(lacking[0]), call.location)
        return result

    def _reused(self, call: CallRecord, sources: Any, ask: Callable[[], Any]) -> Any:
        """A used tape raises; the trace goes on with zeros, which nobody runs."""
        call.tape_reused = True
        message = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
        call.error = TraceError("RuntimeError", message, call.location)
        return tf.nest.map_structure(tf.zeros_like, sources)


def _asked_by_tensorflow() -> bool:
    """Whether the code that asks a tape is TensorFlow's own, and asks for itself."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.replace("\\", "/").endswith(_NOT_THE_USERS)


def _asks_for_zeros(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the caller wants zeros where nothing is connected."""
    zero = tf.UnconnectedGradients.ZERO
    given = [*args, kwargs.get("unconnected_gradients")]
    return any(a is zero or (isinstance(a, str) and a.lower() == zero.value) for a in given)

"""Looking on while the user's own program runs: gradient calls in the graphs that it traces and in the first executions of its eager steps.

Nothing of the program is changed. Tape methods are wrapped by a check of a microsecond; what is costly is on only while there is something new.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.guarded import CALLS, FORWARD, SYMBOLIC, TAPE_METHODS, guarded
from tapetrace.capture.locations import Locator, here
from tapetrace.capture.observed_execution import Execution
from tapetrace.capture.observed_graphs import ObservedGraph
from tapetrace.capture.observed_inputs import Inputs
from tapetrace.capture.observed_runs import ObservedThread
from tapetrace.capture.patches import Patches
from tapetrace.capture.probe import SCRATCH
from tapetrace.capture.recorder import SPELLINGS
from tapetrace.capture.replicas import MERGE, RUN, leading_thread, note_leaders
from tapetrace.capture.restoring import restored
from tapetrace.model.locations import Location
from tapetrace.model.trace import Trace

MOST_TRACES = 8
"""Traces of one line that are looked at; more is a function that is traced anew at every call."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen between a `begin` and its `end`: traces in the order in which they were made, with what their calls were traced with."""

    traces: tuple[tuple[Trace, list[Inputs]], ...]
    too_many: tuple[Location | None, ...]
    """Lines that were traced more often than `MOST_TRACES`."""
    untraced: tuple[str, ...]
    """Functions that were run and had been traced before, so that nobody saw their gradient calls."""
    failures: tuple[str, ...]
    """What went wrong in tapetrace itself."""


class Observer:
    """One for the process. `begin` and `end` may be called at once in many threads, and nested."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._numbers = count(1)
        self._watches: set[int] = set()
        self._patches = Patches()
        self._paused = threading.local()
        self._reset(())

    def _reset(self, user_roots: Iterable[str | Path]) -> None:
        self._locator = Locator(user_roots)
        self._local = threading.local()
        self._threads: list[ObservedThread] = []
        self._of_thread: WeakKeyDictionary[threading.Thread, ObservedThread] = WeakKeyDictionary()
        self._graphs: dict[int, ObservedGraph] = {}
        self._executions: list[Execution] = []
        self._described: dict[int, Trace] = {}
        self._roots: dict[Location | None, set[int]] = {}
        self._known: set[str] = set()
        self._failures: list[str] = []

    def begin(self, user_roots: Iterable[str | Path] = ()) -> int:
        """Look on from now on, in all threads; a number to be given to `end`. ``user_roots``: see `Locator`, heeded when nobody looks yet."""
        with self._lock:
            if not self._watches:
                self._reset(user_roots)
                self._install()
            for thread in self._threads:
                thread.hand_on()  # what was recorded until now was before this watch
                thread.again()
            mark = next(self._numbers)
            self._watches.add(mark)
        self._thread().start()
        return mark

    def end(self, mark: int, target: str) -> Observed:
        """What was seen since `begin`; looking ends with the last watch. ``target`` names the traces."""
        with self._lock:
            self._watches.discard(mark)
            is_last = not self._watches
            mine = getattr(self._local, "thread", None)
            for thread in list(self._threads):
                if not is_last:
                    thread.hand_on()
                elif thread is mine:
                    thread.stop()
                else:
                    thread.abandon()
            found = self._observed(mark, target)
            if is_last:
                self._patches.undo()
                if self._completed in private.trace_callbacks:
                    private.trace_callbacks.remove(self._completed)
                self._reset(())
            return found

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within this context nothing is seen in this thread: what runs here is not the user's program."""
        self._paused.depth = getattr(self._paused, "depth", 0) + 1
        thread: ObservedThread | None = getattr(self._local, "thread", None)
        was = thread.is_paused if thread is not None else False
        if thread is not None:
            thread.is_paused = True
        try:
            yield
        finally:
            self._paused.depth -= 1
            if thread is not None:
                thread.is_paused = was

    def _is_paused(self) -> int:
        if not self._watches:
            return 1  # somebody still calls an instrument that was taken off
        if threading.current_thread().name == SCRATCH:
            return 1  # a gradient function that is being asked, perhaps while the lock is held: ``tf.recompute_grad`` opens tapes
        depth: int = getattr(self._paused, "depth", 0)
        return depth

    # What was seen.

    def _observed(self, mark: int, target: str) -> Observed:
        found: list[tuple[int, Trace, list[Inputs]]] = []
        with self.paused(), restored(()):
            for graph in list(self._graphs.values()):
                if graph.number > mark and graph.calls:
                    trace, inputs = graph.trace(target)
                    found.append((graph.number, trace, inputs))
            for execution in self._executions:
                if execution.number > mark and not self._is_told_better(execution):
                    trace = self._described[id(execution)]
                    found.append((execution.number, trace, [{} for _ in trace.calls]))
        found.sort(key=lambda f: f[0])
        untraced = {name for t in self._threads for name in t.untraced} - self._known
        too_many = tuple(at for at, roots in self._roots.items() if len(roots) > MOST_TRACES)
        return Observed(tuple((t, i) for _, t, i in found), too_many, tuple(sorted(untraced)), tuple(self._failures))

    def _is_told_better(self, execution: Execution) -> bool:
        """Whether its beginning was not seen, and that of a later execution of the same tapes was."""
        later = self._executions[self._executions.index(execution) + 1 :]
        return execution.is_partial and any(e.sites >= execution.sites for e in later)

    def _ended(self, execution: Execution) -> None:
        """An eager execution is described at once, while the functions that it called are alive."""
        try:
            with self.paused(), restored(()):
                self._described[id(execution)] = execution.trace("")
            self._executions.append(execution)
        except Exception as error:  # the user's program goes on
            self._fail(error)

    # Instruments.

    def _install(self) -> None:
        for name in TAPE_METHODS:
            self._patches.wrap(private.GradientTape, name, self._instrument(name))
        self._patches.wrap(private.gradients_util, SYMBOLIC, self._symbolic_instrument)
        self._patches.wrap(tf.autodiff.ForwardAccumulator, FORWARD, self._instrument(FORWARD))
        self._patches.wrap(private.mirrored_run, RUN, self._instrument(RUN))
        self._patches.wrap(private.mirrored_run._MirroredReplicaContext, MERGE, self._instrument(MERGE))
        note_leaders(self._patches)
        private.trace_callbacks.append(self._completed)

    def _thread(self) -> ObservedThread:
        thread: ObservedThread | None = getattr(self._local, "thread", None)
        if thread is None:
            leader = leading_thread()  # replicas are parts of one step
            with self._lock:
                thread = self._of_thread.get(leader)
                if thread is None:
                    thread = self._of_thread[leader] = ObservedThread(self._locator, self._ended, lambda: next(self._numbers))
                    self._threads.append(thread)
            self._local.thread = thread
        return thread

    def _instrument(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def method(tape: Any, *args: Any, **kwargs: Any) -> Any:
                if self._is_paused():
                    return original(tape, *args, **kwargs)
                if isinstance(private.default_graph(), private.FuncGraph):
                    return self._in_graph(name, original, (tape, *args), kwargs)
                return self._eagerly(name, original, tape, args, kwargs)

            return method

        return make

    def _symbolic_instrument(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _GradientsHelper(*args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_code.co_name not in SPELLINGS or self._is_paused():
                return original(*args, **kwargs)
            if not isinstance(private.default_graph(), private.FuncGraph):
                return original(*args, **kwargs)
            return self._in_graph(SYMBOLIC, original, args, kwargs)

        return _GradientsHelper

    def _in_graph(self, name: str, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        thread: ObservedThread | None = getattr(self._local, "thread", None)
        graph = None if thread is not None and thread.is_in_call else self._graph()
        if graph is None or (name in (*CALLS, SYMBOLIC) and not self._wants(graph)):
            return original(*args, **kwargs)
        return guarded(graph, name, original, args, kwargs, self._fail)

    def _graph(self) -> ObservedGraph:
        root = private.default_graph()
        while isinstance(root.outer_graph, private.FuncGraph):
            root = root.outer_graph
        with self._lock:
            if id(root) not in self._graphs:
                self._graphs[id(root)] = ObservedGraph(root, self._locator)
            return self._graphs[id(root)]

    def _wants(self, graph: ObservedGraph) -> bool:
        if graph._inside:
            return True
        location = self._locator.locate(here())
        with self._lock:
            roots = self._roots.setdefault(location, set())
            roots.add(id(graph.root))
            graph.number = graph.number or next(self._numbers)
            return len(roots) <= MOST_TRACES

    def _completed(self, concrete: Any) -> None:
        """TensorFlow has finished a trace."""
        name = getattr(concrete, "name", "")
        self._known.add(name.decode() if isinstance(name, bytes) else str(name))
        with self._lock:
            graph = self._graphs.get(id(concrete.graph))
            if graph is not None and graph.calls:
                graph.finish()
            elif graph is not None:
                del self._graphs[id(concrete.graph)]

    def _eagerly(self, name: str, original: Callable[..., Any], tape: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        thread = self._thread()
        if name == "_push_tape":
            thread.opening(tape)
        elif name == "_pop_tape":
            thread.closing()
        recorder = thread.recorder
        if recorder is None:
            return original(tape, *args, **kwargs)
        if name not in CALLS or recorder._inside:
            return guarded(recorder, name, original, (tape, *args), kwargs, self._fail)
        if not thread.wants(self._locator.locate(here())):
            recorder.log.call = len(recorder.calls) - 1
            try:
                return original(tape, *args, **kwargs)
            finally:
                recorder.log.call = None
        try:
            return guarded(recorder, name, original, (tape, *args), kwargs, self._fail)
        finally:
            thread.after_call()

    def _fail(self, error: BaseException) -> None:
        text = f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"
        if text not in self._failures:
            self._failures.append(text)


observer = Observer()

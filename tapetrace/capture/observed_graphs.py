"""One trace of a function of the user's, seen while their program runs: a graph that will be run, so nothing in it is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.final_calls import final_calls
from tapetrace.capture.living import living
from tapetrace.capture.locations import Locator
from tapetrace.capture.observed_inputs import Inputs, inputs_of
from tapetrace.capture.recorder import CallRecord, Recorder
from tapetrace.capture.trace_step import describe_trace
from tapetrace.model.trace import Trace, TraceError


class ObservedGraph(Recorder):
    """The gradient calls in one outermost graph, ``root``. Unlike in a check, what TensorFlow raises goes to the user, and is noted."""

    def __init__(self, root: Any, locator: Locator) -> None:
        super().__init__(locator)
        self.root = root
        self.number = 0
        """Its rank among all that was observed, given at its first gradient call."""
        self._functions: list[Any] = []
        self._variables: tuple[Any, ...] = ()
        self._is_finished = False

    def _is_ours(self) -> bool:
        return True  # the observer asks about this graph alone, in whichever thread it is built

    def finish(self) -> None:
        """The trace has ended: hold all functions that it is made of, since TensorFlow takes the graph of a function to pieces when that goes."""
        self._is_finished = True
        self._keep_variables()
        graphs = {id(draft.graph) for draft in self.snapshots.drafts.values()} | {id(g) for c in self.calls for g in c.around} | {id(self.root)}
        self._functions = [f for f in living(private.ConcreteFunction) if id(f.graph) in graphs]

    def trace(self, target: str) -> tuple[Trace, list[Inputs]]:
        """The facts of the trace, and what each of its gradient calls was traced with."""
        calls = final_calls(self.calls)
        found = describe_trace(self, calls, self.root if self._is_finished else None, target, None)
        return found, [inputs_of(c.around, self._functions) for c in calls]

    def _begin(self, *args: Any) -> CallRecord:
        self._keep_variables()
        return super()._begin(*args)

    def _keep_variables(self) -> None:
        """A graph holds its variables weakly, and those of a function that has returned are gone when the program ends."""
        self._variables = private.variables_of(self.root)

    def _reused(self, call: CallRecord, sources: Any, ask: Callable[[], Any]) -> Any:
        call.tape_reused = True
        try:
            return ask()
        except Exception as error:
            call.error = TraceError(type(error).__name__, str(error), call.location)
            raise

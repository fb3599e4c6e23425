"""One execution of an eager step of the user's program, recorded as it ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.eager_recorder import EagerRecorder
from tapetrace.capture.eager_run import EagerRun
from tapetrace.capture.eager_step import trace_eagerly
from tapetrace.capture.escapes import Escapes
from tapetrace.capture.history import current_history
from tapetrace.capture.locations import Locator
from tapetrace.capture.nesting import Turn
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.restoring import all_variable_handles
from tapetrace.model.trace import Ref, Trace, TraceError
from tapetrace.model.words import Returned

Site = tuple[str, int, str, int]
"""Where a tape is opened: file and line of the code that opens it, and of the innermost line of the user's."""


class RunLog(EagerLog):
    """An eager log that keeps what it did not see being made, so that its past can be told when the run is described."""

    asks_again = False  # it is the user's own run, in which every call counts

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[Any] = []

    def _leaf(self, tensor: Any) -> Ref:
        self._kept.append(tensor)
        return super()._leaf(tensor)

    def digest(self, tensor: Any) -> bytes:
        return b""  # nobody will run this step again to compare values


class RunRecorder(EagerRecorder):
    """What TensorFlow raises goes to the user, and is noted."""

    def _reused(self, call: CallRecord, sources: Any, ask: Callable[[], Any]) -> Any:
        call.tape_reused = True
        try:
            return ask()
        except Exception as error:
            call.error = TraceError(type(error).__name__, str(error), call.location)
            raise


class Execution:
    """One execution of a step, and all that was computed since the one before it."""

    def __init__(self, locator: Locator, turn: Turn) -> None:
        self.log = RunLog()
        self.recorder = RunRecorder(locator, self.log)
        self.log.turn = self.recorder.turn = turn  # not that of the thread that makes this object, which may be another
        self.number = 0
        self.sites: set[Site] = set()
        self.is_partial = False
        """Whether recording began with its tape, so that what was computed before is not known."""
        if current_history() is not None:  # what a tensor was computed from before must stand before it
            for handle in all_variable_handles():
                self.log.ref_or_leaf(handle)

    def trace(self, target: str) -> Trace:
        """The facts of this execution. A gradient that nothing read counts as not applied only where others of its call were read."""
        run = EagerRun(log=self.log, recorder=self.recorder, escapes=Escapes(self.log), numpy_calls=None, result=None, raised=None, seed=0)
        found = trace_eagerly(run, target)
        given = [sum(s.kind == "variable" and s.returned is Returned.TENSOR for s in call.sources) for call in found.calls]
        unread = [sum(c == other for other, _ in found.not_applied) for c in range(len(given))]
        kept = tuple((c, s) for c, s in found.not_applied if unread[c] < given[c])
        return replace(found, not_applied=kept)

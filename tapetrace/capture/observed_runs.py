"""The eager steps of one thread of the user's program: each is recorded for its first few executions, then nothing is watched but new tapes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.history import current_history
from tapetrace.capture.locations import Locator
from tapetrace.capture.nesting import Turn
from tapetrace.capture.observed_execution import Execution, RunRecorder, Site
from tapetrace.capture.patches import Patches
from tapetrace.capture.replicas import current_replica
from tapetrace.capture.visible_reads import make_reads_visible
from tapetrace.model.locations import Location

EXECUTIONS = 2
"""How often the step behind one ``with tf.GradientTape()`` is recorded: a branch may be taken in one execution and not in another."""

MOST_IDLE_OPS = 10_000
"""Eager ops that are recorded in the hope of a tape; past that, recording begins at the next tape."""

MOST_OPS = 200_000
"""Ops of one step; past that, it is too long to be recorded."""

PATIENCE = 16
"""After so many openings of other tapes, a tape that was opened once is not waited for any longer."""


class ObservedThread:
    """Which executions are recorded in the thread that makes this object. ``done`` is given each as soon as it has ended."""

    def __init__(self, locator: Locator, done: Callable[[Execution], None], number: Callable[[], int]) -> None:
        self._locator = locator
        self._whose = Turn()
        self._done = done
        self._number = number
        self._opened: dict[Site, int] = {}
        self._last: dict[Site, int] = {}
        self._calls: dict[Location | None, int] = {}
        self._pushes = 0
        self._depth = 0
        self._patches: Patches | None = None
        self._current: Execution | None = None
        self._next: Execution | None = None
        self.is_paused = False
        self.untraced: dict[str, int] = {}
        """Functions that were run and had been traced before, by name."""

    # What the instruments ask.

    @property
    def recorder(self) -> RunRecorder | None:
        """Who records now, None when nothing is recorded."""
        return self._current.recorder if self._current is not None else None

    @property
    def is_in_call(self) -> bool:
        """Whether a gradient is being computed."""
        return self._current is not None and self._current.recorder._inside > 0

    def opening(self, tape: Any) -> None:
        """A tape is about to be opened by the code that called the instrument."""
        again = current_replica()
        is_part = again is not None and again.number > 0 and self._current is not None  # of the step that the first replica began
        site = None if self._depth or self.is_in_call or tape._tape is not None or is_part else self._site()
        self._depth += 1
        if site is None:
            return
        self._pushes += 1
        count = self._opened[site] = self._opened.get(site, 0) + 1
        self._last[site] = self._pushes
        if count <= EXECUTIONS or self._is_waited_for():
            if self._current is not None and site in self._current.sites:
                self._turn()
            self.start(is_partial=True)
        elif self._current is not None:
            self.stop()
        if self._current is not None:
            self._current.sites.add(site)

    def closing(self) -> None:
        """A tape is closed."""
        self._depth = max(0, self._depth - 1)

    def wants(self, location: Location | None) -> bool:
        """Whether a gradient call on this line is to be recorded, which may be made many times in one execution."""
        assert self._current is not None
        replica = current_replica()
        return sum(c.location == location and c.replica == replica for c in self._current.recorder.calls) < EXECUTIONS

    def after_call(self) -> None:
        """A gradient call has ended: what is computed from now on may belong to the next execution."""
        if self._current is not None and not self.is_in_call:
            self._current.number = self._current.number or self._number()
            self._next = Execution(self._locator, self._whose)

    # Going on and off.

    def again(self) -> None:
        """Somebody else begins to look: every step is new."""
        self._opened.clear()

    def start(self, is_partial: bool = False) -> None:
        """Record from now on."""
        if self._current is not None:
            return
        self._current = Execution(self._locator, self._whose)
        self._current.is_partial = is_partial
        self._watch(self._current)
        private.add_op_callback(self._saw)

    def stop(self) -> None:
        """Record no longer, and hand on what there is."""
        if self._current is None:
            return
        self._turn()
        self._current = None
        self._unwatch()
        private.remove_op_callback(self._saw)
        history = current_history()
        if history is not None:
            history.rest()

    def abandon(self) -> None:
        """The same, asked by another thread, which cannot take the callback off: it takes itself off when it is called next."""
        if self._current is not None:
            self._turn()
            self._current = None
            self._unwatch()

    def hand_on(self) -> None:
        """Hand on what was recorded so far, and go on."""
        if self._current is not None:
            self._turn()

    def _is_waited_for(self) -> bool:
        return any(count < EXECUTIONS and self._pushes - self._last[site] < PATIENCE for site, count in self._opened.items())

    def _turn(self) -> None:
        """The current execution ends, and the next has begun."""
        ended, following = self._current, self._next
        assert ended is not None
        if not ended.recorder.calls:
            return
        self._next = None
        self._current = following or Execution(self._locator, self._whose)
        self._unwatch()
        self._watch(self._current)
        self.is_paused = True
        try:
            self._done(ended)
        finally:
            self.is_paused = False

    def _watch(self, execution: Execution) -> None:
        self._patches = Patches()
        make_reads_visible(self._patches)
        self._patches.wrap(private.record, "record_operation", execution.log._wrap_record_operation)

    def _unwatch(self) -> None:
        if self._patches is not None:
            self._patches.undo()
            self._patches = None

    def _saw(self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        if self._current is None:
            private.remove_op_callback(self._saw)
            return
        if graph is not None or self.is_paused:
            return
        log = self._current.log
        log._saw(op_type, inputs, attrs, outputs)
        if self._next is not None and log.call is None:
            self._next.log._saw(op_type, inputs, attrs, outputs)
        self._note_function(op_type)
        self._keep_short(len(log.ops))

    def _note_function(self, op_type: Any) -> None:
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        if name.startswith("__inference_"):
            self.untraced[name] = self.untraced.get(name, 0) + 1

    def _keep_short(self, length: int) -> None:
        assert self._current is not None
        if self._current.recorder.calls or length < MOST_IDLE_OPS:
            too_long = length > MOST_OPS
        else:
            too_long = self._depth == 0 or length > MOST_OPS
        if too_long:
            self.stop()

    def _site(self) -> Site | None:
        """None for a tape that is not the user's: the one that ``py_function`` opens."""
        frame: Any = sys._getframe(2)
        while frame is not None and _is_passed_through(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename.endswith("script_ops.py"):
            return None
        opened = (frame.f_code.co_filename, frame.f_lineno)
        while frame is not None and not self._locator.is_user_file(frame.f_code.co_filename):
            frame = frame.f_back
        return (*opened, *((frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)))


_OWN = __file__.rpartition("observed_runs")[0]
_TAPE = str(sys.modules[private.GradientTape.__module__].__file__)


def _is_passed_through(file: str) -> bool:
    return file == _TAPE or file.startswith(_OWN)

"""Watching tapes: when each is open, which thread opened it where, and what it watches, on the clock of the graphs that are being built."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.locations import Locator, here
from tapetrace.capture.nesting import Turn
from tapetrace.capture.patches import Patches
from tapetrace.capture.replicas import MERGE, RUN, local
from tapetrace.capture.snapshot import Snapshots
from tapetrace.capture.tapes import TapeRecord, graph_counts


class TapeRecorder:
    """Records the windows of tapes in the thread that traces, and in those of its replicas."""

    def __init__(self, locator: Locator) -> None:
        self.locator = locator
        self.snapshots = Snapshots()
        self.turn = Turn()
        self._tapes: dict[int, TapeRecord] = {}

    def install(self, patches: Patches) -> None:
        """Replace what opens, closes, silences and empties tapes, and what hands work to other threads."""
        tape_class = private.GradientTape
        patches.wrap(tape_class, "_push_tape", self._wrap_push)
        patches.wrap(tape_class, "_pop_tape", self._wrap_pop)
        patches.wrap(tape_class, "stop_recording", self._wrap_stop)
        patches.wrap(tape_class, "reset", self._wrap_reset)
        patches.wrap(tape_class, "watch", self._wrap_watch)
        patches.wrap(private.mirrored_run, RUN, self._wrap_run)
        patches.wrap(private.mirrored_run._MirroredReplicaContext, MERGE, self._wrap_elsewhere)

    def _is_ours(self) -> bool:
        """Whether the current code belongs to the step that is being traced."""
        return self.turn.is_now() and isinstance(private.default_graph(), private.FuncGraph)

    def counts(self) -> dict[str, int]:
        """How far each graph that is being built has come: the clock of tape windows."""
        return graph_counts(self.snapshots.graph_key)

    def clock_key(self) -> str:
        """The key of the innermost graph in `counts`."""
        return self.snapshots.graph_key(private.default_graph())

    def record_of(self, tape: Any) -> TapeRecord:
        """What is known of a tape; made when it is first met, and kept alive with it."""
        record = self._tapes.get(id(tape))
        if record is None:
            record = TapeRecord(tape, tape._persistent, tape._watch_accessed_variables)
            self._tapes[id(tape)] = record
        return record

    def _watched(self, record: TapeRecord) -> list[tuple[Any, int]]:
        key = self.clock_key()
        found = [(t, counts.get(key, 0)) for t, counts in record.watched]
        with suppress(RuntimeError):  # a used tape has let go of them
            found += [(local(v), 0) for v in record.tape.watched_variables()]
        return found

    def _is_observed(self, tape: Any = None) -> bool:
        """Whether a tape, other than the one given, is recording now."""
        return any(r.is_open and r.tape is not tape for r in self._tapes.values())

    def _wrap_push(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _push_tape(tape: Any) -> Any:
            is_new = tape._tape is None
            result = original(tape)
            if self._is_ours():
                record = self.record_of(tape)
                if is_new:
                    record.begin()
                if record.opened_frame is None:
                    record.opened_at = self.locator.locate(here())
                    record.opened_frame = record.opened_at.frame if record.opened_at else None
                record.push(self.counts())
            return result

        return _push_tape

    def _wrap_pop(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _pop_tape(tape: Any) -> Any:
            result = original(tape)
            if self._is_ours():
                self.record_of(tape).pop(self.counts())
            return result

        return _pop_tape

    def _wrap_stop(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def stop_recording(tape: Any) -> Any:
            record = self.record_of(tape)
            record.is_stopping = True
            stopping = original(tape)
            try:
                stopping.__enter__()
            finally:
                record.is_stopping = False
            try:
                yield
            except BaseException as error:
                if not stopping.__exit__(type(error), error, error.__traceback__):
                    raise
            else:
                stopping.__exit__(None, None, None)

        return stop_recording

    def _wrap_reset(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reset(tape: Any) -> Any:
            result = original(tape)
            self.record_of(tape).forget()
            return result

        return reset

    def _wrap_watch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def watch(tape: Any, tensor: Any) -> Any:
            result = original(tape, tensor)
            if self._is_ours():
                counts = self.counts()
                self.record_of(tape).watched.extend((local(t), counts) for t in tf.nest.flatten(tensor))
            return result

        return watch

    def _wrap_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        waiting = self._wrap_elsewhere(original)

        def running(*args: Any, **kwargs: Any) -> Any:
            if self._is_ours():
                self.locator.learn(here(), private.generated_lines())
            return waiting(*args, **kwargs)

        return running

    def _wrap_elsewhere(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def waiting(*args: Any, **kwargs: Any) -> Any:
            if not self._is_ours():
                return original(*args, **kwargs)
            mine = [r for r in self._tapes.values() if r.is_open and r.thread == threading.get_ident()]
            counts = self.counts()
            for record in mine:
                record.pop(counts)
            try:
                return original(*args, **kwargs)
            finally:
                counts = self.counts()
                for record in mine:
                    record.push(counts)

        return waiting

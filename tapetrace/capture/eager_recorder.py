"""Watching a step while it runs eagerly: the same gradient calls and tape windows, on the clock of the eager log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.eager_extraction import EAGER
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.fresh_functions import FreshFunctions
from tapetrace.capture.locations import Locator
from tapetrace.capture.recorder import CallRecord, Recorder
from tapetrace.capture.replicas import local
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import handle_of, is_variable
from tapetrace.model.trace import Ref, Tape


class EagerRecorder(Recorder):
    """A `Recorder` that also sees gradient calls on eager tensors. ``refs[call]`` holds where its targets, sources, watched values and gradients
    stand in the log, noted while they exist."""

    def __init__(self, locator: Locator, log: EagerLog, functions: FreshFunctions | None = None) -> None:
        super().__init__(locator)
        if functions is not None:
            self.functions.adopt(functions)
        self.log = log
        self.target_refs: dict[int, list[Ref | None]] = {}
        self.source_refs: dict[int, list[Ref | None]] = {}
        self.gradient_refs: dict[int, list[Ref | None]] = {}
        self.handed_on: set[Ref | None] = set()
        """What replicas gave to each other, which TensorFlow may add up in threads of its own where nobody looks."""
        self._asks_outside = False  # a call made in a function about eager tensors

    def _is_ours(self) -> bool:
        return self.turn.is_now()

    def _is_graph(self) -> bool:
        return not self._asks_outside and isinstance(private.default_graph(), private.FuncGraph)

    def counts(self) -> dict[str, int]:
        return {**super().counts(), EAGER: len(self.log.ops)}

    def place(self) -> tuple[Any, Any, str, int]:
        if self._is_graph():
            return super().place()
        return None, None, EAGER, len(self.log.ops)

    def clock_key(self) -> str:
        return super().clock_key() if self._is_graph() else EAGER

    def close_call(self, call: CallRecord) -> None:
        if call.graph is not None:
            super().close_call(call)

    def _wrap_elsewhere(self, original: Callable[..., Any]) -> Callable[..., Any]:
        waiting = super()._wrap_elsewhere(original)

        def handing_on(*args: Any, **kwargs: Any) -> Any:
            if self._is_ours() and not self._is_graph():
                given = tf.nest.flatten((args, kwargs), expand_composites=True)
                self.handed_on.update(self.log.ref(t) for t in given if isinstance(t, private.EagerTensorBase))
            return waiting(*args, **kwargs)

        return handing_on

    def _begin(self, kind: str, target: Any, sources: Any, tape: Tape, watched: list[tuple[Any, int]] | None) -> CallRecord:
        if self._is_graph():
            self._asks_outside = all(isinstance(t, private.EagerTensorBase) for t in tf.nest.flatten(target))
        try:
            return self._begin_call(kind, target, sources, tape, watched)
        finally:
            self._asks_outside = False

    def _begin_call(self, kind: str, target: Any, sources: Any, tape: Tape, watched: list[tuple[Any, int]] | None) -> CallRecord:
        if self._is_graph():
            return super()._begin(kind, target, sources, tape, watched)
        index = len(self.calls)
        self.target_refs[index] = [self._ref(t) for t in tf.nest.flatten(target)]
        self.source_refs[index] = [self._ref(local(s)) for s in tf.nest.flatten(sources)]
        return super()._begin(kind, target, sources, tape, watched)

    def _ref(self, value: Any) -> Ref | None:
        if not is_tensor(value):
            return None
        return self.log.ref_or_leaf(handle_of(value) if is_variable(value) else tensor_of(value))

    def _perform(self, call: CallRecord, sources: Any, ask: Callable[[], Any], tape: Any) -> Any:
        if call.graph is not None:
            return super()._perform(call, sources, ask, tape)
        self.log.call = call.index
        self.log.raised_in.clear()
        try:
            return super()._perform(call, sources, ask, tape)
        finally:
            self.log.call = None
            call.raised_in[:0] = self.log.raised_in
            found = call.gradients or []
            self.gradient_refs[call.index] = [self.log.ref(tensor_of(g)) if is_tensor(g) else None for g in found]

"""What was seen before the step, in the words of the model: where variables were made and what captured tensors were computed from."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tapetrace.capture.digests import digest_of
from tapetrace.capture.history import History, Past
from tapetrace.capture.locations import Locator
from tapetrace.capture.variables import handle_of, is_variable
from tapetrace.model.locations import Location

Origin = tuple[frozenset[int], Location | None]
"""The handles (by identity) of the variables that a value was computed from, and the line that made it or let it leave TensorFlow."""


class Before:
    """Answers from a `History`; all answers are None when there is none, as when the user's module was imported by somebody else."""

    def __init__(self, history: History | None, locator: Locator) -> None:
        self._history = history
        self._locator = locator

    def made_at(self, variable: Any) -> Location | None:
        """Where a variable was made."""
        return self._located(self._history.made(handle_of(variable)) if self._history is not None and is_variable(variable) else None)

    def left_at(self, variable: Any) -> Location | None:
        """Where something computed from a variable last left TensorFlow."""
        return self._located(self._history.left(handle_of(variable)) if self._history is not None and is_variable(variable) else None)

    def past(self, tensor: Any) -> Origin | None:
        """How an eager tensor came about, or a constant of a graph."""
        if self._history is None:
            return None
        found = self._history.past_of(tensor)
        if found is None and self._history.has_values and tensor.dtype.is_floating:
            value = tensor.numpy() if hasattr(tensor, "numpy") else tf.get_static_value(tensor)
            found = None if value is None else self._history.past_of_value(digest_of(value))
        return self._origin(found)

    def past_of_value(self, digest: bytes) -> Origin | None:
        """How a value came about that left TensorFlow before the step."""
        return self._origin(self._history.past_of_value(digest) if self._history is not None and digest else None)

    def compiled_at(self, model: Any) -> Location | None:
        """Where a Keras model was compiled."""
        return self._located(None if self._history is None or model is None else self._history.compiled.get(model))

    def building_lines(self) -> frozenset[tuple[str, int]]:
        """File and line of each line that put an operation into a Keras model."""
        if self._history is None:
            return frozenset()
        places = [self._located(stack) for stack in list(self._history.built.values())]
        return frozenset((p.frame.file, p.frame.line) for p in places if p is not None)

    def _origin(self, past: Past | None) -> Origin | None:
        if past is None or self._history is None:
            return None
        return frozenset(map(id, self._history.handles(past))), self._located(past.stack)

    def _located(self, stack: Any) -> Location | None:
        return None if stack is None else self._locator.locate(stack)

"""What was seen before the step, in the words of the model: where variables were made and what captured tensors were computed from."""

from __future__ import annotations

from typing import Any

from tapetrace.capture.history import History
from tapetrace.capture.locations import Locator
from tapetrace.capture.variables import handle_of, is_variable
from tapetrace.model.locations import Location


class Before:
    """Answers from a `History`; all answers are None when there is none, as when the user's module was imported by somebody else."""

    def __init__(self, history: History | None, locator: Locator) -> None:
        self._history = history
        self._locator = locator

    def made_at(self, variable: Any) -> Location | None:
        """Where a variable was made."""
        if self._history is None or not is_variable(variable):
            return None
        stack = self._history.made.get(id(handle_of(variable)))
        return None if stack is None else self._locator.locate(stack)

    def past(self, tensor: Any) -> tuple[frozenset[int], Location | None] | None:
        """The handles of the variables that a tensor was computed from, and the line that made it."""
        found = None if self._history is None else self._history.past_of(tensor)
        return None if found is None else (found.handles, self._locator.locate(found.stack))

    def compiled_at(self, model: Any) -> Location | None:
        """Where a Keras model was compiled."""
        stack = None if self._history is None or model is None else self._history.compiled.get(model)
        return None if stack is None else self._locator.locate(stack)

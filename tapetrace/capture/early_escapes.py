"""Values of variables that left TensorFlow before the step: weights frozen as constants, numbers kept in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapetrace.capture.patches import Patches

Origin = Callable[[Any], frozenset[int]]
"""The numbers of the variables that a tensor was computed from."""

MOST_VALUES = 10_000
"""Values remembered; past that, no new ones."""

MOST_TIMES = 8
"""Times remembered that the same value left."""

LARGEST = 1_000_000
"""Elements of a value that is still remembered."""


class EarlyEscapes:
    """``by_value`` maps what identifies a value to each time it left: the variables it was computed from, and the stack. ``last`` maps the number
    of a variable to the stack where something computed from it left last."""

    def __init__(self, origin: Origin) -> None:
        self.by_value: dict[bytes, list[tuple[frozenset[int], Any]]] = {}
        self.last: dict[int, Any] = {}
        self._origin = origin
        self._inside = False

    def install(self, patches: Patches) -> None:
        """Note what leaves until ``patches`` are undone."""
        from tapetrace.capture import private
        from tapetrace.capture.escapes import WAYS_OUT

        for name in WAYS_OUT:
            if hasattr(private.EagerTensorBase, name):
                patches.wrap(private.EagerTensorBase, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(tensor, *args, **kwargs)
            self._inside = True
            try:
                value = original(tensor, *args, **kwargs)
                self._note(tensor)
            finally:
                self._inside = False
            return value

        return method

    def _note(self, tensor: Any) -> None:
        from tapetrace.capture import private
        from tapetrace.capture.digests import digest_of, is_telling

        variables = self._origin(tensor)
        if not variables or not tensor.dtype.is_floating:
            return
        stack = private.tf_stack.extract_stack()
        self.last.update(dict.fromkeys(variables, stack))
        if len(self.by_value) < MOST_VALUES and tensor.shape.num_elements() <= LARGEST:
            values = tensor.numpy()
            if is_telling(values):
                times = self.by_value.setdefault(digest_of(values), [])
                if len(times) < MOST_TIMES:
                    times.append((variables, stack))

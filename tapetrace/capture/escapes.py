"""Where tensors leave TensorFlow for NumPy or Python during an eager run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapetrace.capture import private
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.patches import Patches
from tapetrace.model.trace import Ref

WAYS_OUT = ("numpy", "__array__", "__float__", "__int__", "__index__", "__complex__")
"""Methods of an eager tensor that hand its value to Python. ``bool`` is not among them: it decides, it carries nothing back."""

RELATIVE, ABSOLUTE = 0.05, 0.03
"""A changed number is v * (1 + RELATIVE) + ABSOLUTE."""

BACKWARDS = 0.0
"""In place of a factor: the numbers of an array in the opposite order."""


@dataclass(frozen=True, slots=True)
class Escape:
    """A value that left: ``order`` ops had run, ``ref`` is the tensor (None: some tensor, by a way that shows none), ``digest`` its value."""

    order: int
    ref: Ref | None
    way: str
    stack: Any
    digest: bytes = b""
    is_float: bool = True


@dataclass(frozen=True, slots=True)
class Substitution:
    """Which escapes, counted from 0, hand out another number than the tensor holds.

    ``step`` is added to integers, floats become v * ``factor`` + ``ABSOLUTE`` (see `BACKWARDS`).
    """

    escapes: frozenset[int] = frozenset()
    step: int = 1
    factor: float = 1.0 + RELATIVE

    def of(self, value: Any) -> Any:
        """The other number in place of ``value``: of the same type, or ``value`` itself when it is no number."""
        kind = value.dtype.kind if isinstance(value, np.ndarray | np.generic) else type(value).__name__
        if kind == "b":
            return ~value
        if kind in ("i", "u"):
            return (value + self.step).astype(value.dtype)
        if kind in ("f", "c", "V") and self.factor == BACKWARDS:
            return np.flip(value)
        if kind in ("f", "c", "V"):  # V: bfloat16
            return (value * self.factor + ABSOLUTE).astype(value.dtype)
        if kind == "int":
            return value + self.step
        return value * self.factor + ABSOLUTE if kind in ("float", "complex") else value


class Escapes:
    """The ways out that were taken while `watching`, in order."""

    def __init__(self, log: EagerLog, substitution: Substitution | None = None) -> None:
        self.found: list[Escape] = []
        self._log = log
        self._substitution = substitution or Substitution()
        self._inside = False

    @contextmanager
    def watching(self) -> Iterator[Escapes]:
        """Within this context the methods of eager tensors note each value that leaves."""
        with Patches() as patches:
            for name in WAYS_OUT:
                if hasattr(private.EagerTensorBase, name):
                    patches.wrap(private.EagerTensorBase, name, self._wrap(name))
            yield self

    def _wrap(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
                if self._inside or not self._log.is_ours():
                    return original(tensor, *args, **kwargs)
                self._inside = True
                try:
                    value = original(tensor, *args, **kwargs)
                    index = self._note(name, tensor)
                finally:
                    self._inside = False
                return self._substitution.of(value) if index in self._substitution.escapes else value

            return method

        return make

    def _note(self, name: str, tensor: Any) -> int:
        """The number of the escape; -1 for a tensor that this run has not met."""
        ref = self._log.ref(tensor)
        if ref is None:
            return -1
        stack = private.tf_stack.extract_stack()
        self.found.append(Escape(len(self._log.ops), ref, name, stack, self._log.digest(tensor), bool(private.is_trainable(tensor))))
        return len(self.found) - 1

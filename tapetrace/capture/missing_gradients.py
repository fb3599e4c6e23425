"""Ops without a registered gradient, met while a backward pass is built.

TensorFlow raises at the first and nothing after it is traced. In a trace that nobody runs, such an op can be given zeros instead, so that the rest
of the step is still seen; that TensorFlow would have raised is noted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.locations import Locator, here
from tapetrace.capture.nesting import Turn
from tapetrace.model.trace import TraceError

_BACKWARD = frozenset({"_gradient_function", "get_gradient_function"})
"""The functions of TensorFlow that look a gradient up to use it. Others only ask whether there is one, and functions are called under names of
their own, for which TensorFlow looks in vain before it goes on."""


class MissingGradients:
    """``met`` lists the op types that were looked up in vain, in order. ``outside`` holds what TensorFlow would have raised outside a gradient call:
    the backward pass of a ``tf.function`` is built as soon as it is called under a tape."""

    def __init__(self, locator: Locator) -> None:
        self.met: list[str] = []
        self.outside: list[TraceError] = []
        self.is_in_call = False
        self._locator = locator
        self._turn = Turn()

    def wrap_lookup(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def lookup(registry: Any, name: str) -> Any:
            try:
                return original(registry, name)
            except LookupError:
                if registry is not private.gradient_registry or not self._turn.is_now():
                    raise
                if sys._getframe(1).f_code.co_name not in _BACKWARD or name.endswith("Call") or private.op_definitions.get(name) is None:
                    raise
                self.met.append(name)
                if not self.is_in_call:
                    self.outside.append(TraceError("LookupError", self.message(name), self._locator.locate(here())))
                return _zeros

        return lookup

    def end(self) -> None:
        """From now on whoever looks a gradient up gets TensorFlow's answer."""
        self._turn.end()

    @staticmethod
    def message(op_type: str) -> str:
        """What TensorFlow says in its LookupError."""
        return f"gradient registry has no entry for: {op_type}"


def _zeros(op: Any, *grads: Any) -> list[Any]:
    """A gradient of zeros for every input that can have one."""
    return [tf.zeros_like(t) if private.is_trainable(t) and t.dtype not in (tf.resource, tf.variant) else None for t in op.inputs]

"""Every ``tf.function`` that a step calls is traced anew while it is watched.

A function that was traced before is not run again, so the tapes in it would go unseen. And what is traced while gradients are replaced by zeros
must not stay in the user's function for later. So a clone, which nobody else knows, takes its place for the time of the capture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.patches import Patches

_ENTRIES = ("__call__", "get_concrete_function", "_get_concrete_function_garbage_collected")


class FreshFunctions:
    """The clones of one capture: one for each function, so that a function that is called often is traced as often as without us."""

    def __init__(self, is_ours: Callable[[], bool]) -> None:
        self._is_ours = is_ours
        self._clones: dict[int, tuple[Any, Any]] = {}  # the function is held too, so that its identity stays its own

    def adopt(self, other: FreshFunctions) -> None:
        """Use the clones of an earlier capture, which need no trace."""
        self._clones = other._clones

    def install(self, patches: Patches) -> None:
        """Until ``patches`` are undone, calls of a ``tf.function`` in the step go to its clone."""
        for name in _ENTRIES:
            patches.wrap(private.Function, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            return original(self._clone_of(function) if self._is_ours() else function, *args, **kwargs)

        return call

    def _clone_of(self, function: Any) -> Any:
        known = self._clones.get(id(function))
        if known is None:
            clone = counted_apart(function._clone(None))
            known = self._clones[id(function)] = (function, clone)
            self._clones[id(clone)] = (clone, clone)
        return known[1]


class _Tally:
    """By what TensorFlow counts the traces of one function: anything that can be hashed and weakly referenced."""


def counted_apart(function: Any) -> Any:
    """The ``tf.function`` itself, whose traces are now counted alone: TensorFlow counts, and warns of, those of all functions with the same code."""
    function._key_for_call_stats = _Tally()
    return function

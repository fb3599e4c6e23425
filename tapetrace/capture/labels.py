"""Paths that tell sources of one name apart: bare variables in a list are all called ``Variable``."""

from __future__ import annotations

from typing import Any

from tapetrace.capture.replicas import ReplicaVariable, parts_of
from tapetrace.capture.variables import is_variable


class Labels:
    """Numbers what shares a path, in the order in which it is met: ``Variable``, ``Variable (2)``, ``Variable (3)``."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        self._taken: set[str] = set()

    def label(self, value: Any, path: str) -> str:
        """The path by which a variable or tensor is known from now on; the parts of a distributed variable share one."""
        thing = _whole_handle(value) if is_variable(value) else value
        if id(thing) not in self._known:
            label, number = path, 1
            while label in self._taken:
                number += 1
                label = f"{path} ({number})"
            self._taken.add(label)
            self._known[id(thing)] = thing, label
        return self._known[id(thing)][1]


def _whole_handle(variable: Any) -> Any:
    part = parts_of(variable)[0]
    return parts_of(part.whole)[0].handle if isinstance(part, ReplicaVariable) else part.handle

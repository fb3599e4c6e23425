"""Replacing attributes for the time of a capture, and putting back exactly what stood there, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

_MISSING = object()


class Patches:
    """A stack of replaced attributes. Use as a context manager; leaving it restores all, last first.

    Wrappers take over ``__module__`` of what they wrap, or AutoGraph would convert them as if they were the user's.
    """

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def wrap(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace ``owner.name`` by ``make(original)``. An attribute that was inherited is removed again, not copied down."""
        original = getattr(owner, name)
        own = vars(owner).get(name, _MISSING)
        wrapper = wraps(original)(make(original))
        self._undo.append((owner, name, own))
        setattr(owner, name, wrapper)

    def __enter__(self) -> Patches:
        return self

    def __exit__(self, *exc: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Put everything back."""
        while self._undo:
            owner, name, own = self._undo.pop()
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

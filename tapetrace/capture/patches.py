"""Replacing attributes for the time of a capture, and putting back exactly what stood there, whatever happens in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

_MISSING = object()

Make = Callable[[Callable[..., Any]], Callable[..., Any]]
"""From the original to what stands in for it."""


class _Layers:
    """One replaced attribute: what stood there, and the layers above it, each made by one `Patches`."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self.own = self.put = vars(owner).get(name, _MISSING)
        self.original = getattr(owner, name)
        self.makers: list[tuple[object, Make]] = []

    def is_on_top(self) -> bool:
        """Whether nobody else replaced the attribute since."""
        return vars(self.owner).get(self.name, _MISSING) is self.put

    def apply(self) -> None:
        """Let the attribute be the original under all layers, or what stood there when there are none. What others put there stays."""
        if not self.is_on_top():
            return
        self.put = self.own
        if self.makers:
            current = self.original
            for _, make in self.makers:
                current = wraps(current)(make(current))
            self.put = current
        if self.put is _MISSING:  # inherited: removed again, not copied down
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self.put)


_replaced: dict[tuple[int, str], _Layers] = {}
_lock = threading.RLock()


class Patches:
    """Replaced attributes. Use as a context manager; leaving it takes them off.

    Two captures, nested or at once in two threads, may replace the same attribute and end in any order: each takes off its own layer only.
    What a user puts in the place of such an attribute meanwhile stays, and may call ours for ever, so wrappers must rest when their capture is over.
    Wrappers take over ``__module__`` of what they wrap, or AutoGraph would convert them as if they were the user's.
    """

    def __init__(self) -> None:
        self._undo: list[tuple[_Layers, object]] = []

    def wrap(self, owner: Any, name: str, make: Make) -> None:
        """Replace ``owner.name`` by ``make(original)``; ``make`` may be called again when a layer below is taken off."""
        token = object()
        with _lock:
            key = (id(owner), name)
            layers = _replaced.get(key)
            if layers is None or not layers.is_on_top():  # a user's own patch stands above what was replaced before
                layers = _replaced[key] = _Layers(owner, name)
            layers.makers.append((token, make))
            self._undo.append((layers, token))
            layers.apply()

    def __enter__(self) -> Patches:
        return self

    def __exit__(self, *exc: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Put everything back."""
        with _lock:
            while self._undo:
                layers, token = self._undo.pop()
                layers.makers = [m for m in layers.makers if m[0] is not token]
                layers.apply()
                key = (id(layers.owner), layers.name)
                if not layers.makers and _replaced.get(key) is layers:
                    del _replaced[key]

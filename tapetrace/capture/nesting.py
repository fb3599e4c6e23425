"""A check inside the step of another check, and code that still calls an instrument when its capture is over: neither belongs to the capture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tapetrace.capture.replicas import is_led_by, leader

_depths: dict[int, int] = {}
"""How many checks the thread of that number is in."""


@contextmanager
def one_check_deeper() -> Iterator[None]:
    """Within this context captures that began before it see nothing of this thread."""
    thread = leader()
    _depths[thread] = _depths.get(thread, 0) + 1
    try:
        yield
    finally:
        _depths[thread] -= 1
        if not _depths[thread]:
            del _depths[thread]


class Turn:
    """The part of a program that a capture is about: the thread that makes this object, with its replicas, but for checks that it makes inside."""

    def __init__(self) -> None:
        self._thread = leader()
        self._depth = _depths.get(self._thread, 0)
        self._is_over = False

    def is_now(self) -> bool:
        """Whether the current code belongs to it."""
        return is_led_by(self._thread) and not self._is_over and _depths.get(self._thread, 0) == self._depth

    def end(self) -> None:
        """From now on nothing does. A user who patched what was patched by us may call our instruments for ever."""
        self._is_over = True

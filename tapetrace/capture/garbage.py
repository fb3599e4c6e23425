"""No collection of garbage while much is made that stays: beside the graph of a large network each collection walks millions of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Within this context the cyclic garbage collector does not run by itself; afterwards it is as it was. None of the user's code runs inside."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

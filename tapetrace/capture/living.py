"""The objects of a class that are alive, found without disturbing other threads.

A list of all objects also holds tuples that another thread is filling. Python cannot let such a tuple grow while somebody else refers to it, and
raises ``SystemError`` in that thread. So no such list is ever looked at: an object refers to its class, and a class can be asked who does. To answer,
Python walks its own lists of objects. A collection meanwhile moves them, and the walk runs off the end and crashes: so there may be none.
"""

from __future__ import annotations

import gc
from itertools import chain
from typing import Any

from tapetrace.capture.garbage import without_collections


def living(kind: type) -> list[Any]:
    """All objects of ``kind``, a class written in Python, and of its subclasses; by their type, so that a proxy for one is none."""
    kinds = {id(k): k for k in _with_subclasses(kind)}
    # One call, in which no other thread has a turn: the list inside is gone when it ends.
    types = set(map(id, map(type, chain.from_iterable(map(gc.get_objects, (None,))))))
    present = [k for key, k in kinds.items() if key in types]
    with without_collections():
        found = gc.get_referrers(*present) if present else []
    return [o for o in found if id(type(o)) in kinds]


def _with_subclasses(kind: type) -> list[type]:
    found: dict[int, type] = {}
    waiting = [kind]
    while waiting:
        known = waiting.pop()
        if id(known) not in found:
            found[id(known)] = known
            waiting += type.__subclasses__(known)
    return list(found.values())

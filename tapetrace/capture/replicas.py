"""What ``tf.distribute`` runs once for each replica: whose thread that is, and which part of a distributed variable belongs to it.

A replica of a mirrored strategy runs in a thread of its own, which begins and ends in one call of ``strategy.run``. The threads take turns: one goes
on until it ends or needs the others, then the next does. So all of them together are one program, that of the thread that called ``run``.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.patches import Patches
from tapetrace.model.trace import Replica

RUN = "_call_for_each_replica"
"""What ``strategy.run`` ends in: the thread waits for its replicas."""

MERGE = "_merge_call"
"""Of a replica's context: the replica waits for what the leading thread computes for all of them."""

_leaders: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_runs: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_numbers = count(1)


def note_leaders(patches: Patches) -> None:
    """While ``patches`` stand, remember of each replica's thread which thread started it."""
    patches.wrap(private.mirrored_run._MirroredReplicaThread, "__init__", _wrap_init)


def _wrap_init(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(thread: Any, *args: Any, **kwargs: Any) -> None:
        original(thread, *args, **kwargs)
        _leaders[thread] = threading.current_thread()

    return __init__


def leading_thread() -> threading.Thread:
    """The current thread, or the one that called ``strategy.run`` when the current one is a replica's."""
    thread = threading.current_thread()
    while isinstance(thread, private.mirrored_run._MirroredReplicaThread) and thread in _leaders:
        thread = _leaders[thread]
    return thread


def leader() -> int:
    """The number of `leading_thread`."""
    return leading_thread().ident or 0


def is_led_by(ident: int) -> bool:
    """Whether the current thread is the one of that number, or runs a replica for it."""
    return threading.get_ident() == ident or leader() == ident


def current_replica() -> Replica | None:
    """Which replica the current thread runs, None when it runs none, or when there is only one."""
    thread: Any = threading.current_thread()
    if not isinstance(thread, private.mirrored_run._MirroredReplicaThread):
        return None
    run = _runs.setdefault(thread.coord, 0) or next(_numbers)
    _runs[thread.coord] = run
    total = int(thread.distribution.num_replicas_in_sync)
    return Replica(run, int(thread.replica_id_in_sync_group), total) if total > 1 else None


class ReplicaVariable:
    """A distributed variable as one replica has it: the names are those of the whole, ``handle`` is that of the part."""

    _should_act_as_resource_variable = True

    def __init__(self, whole: Any, part: Any, number: int) -> None:
        self.whole = whole
        self.part = part
        self.number = number

    @property
    def handle(self) -> Any:
        return self.part.handle

    @property
    def name(self) -> str:
        return str(self.whole.name)

    def __getattr__(self, name: str) -> Any:
        # A distributed variable would compute its value over all replicas to find out whether that has such an attribute.
        return getattr(self.part if isinstance(self.whole, tf.Variable) else self.whole, name)


def _distributed(variable: Any) -> Any:
    """The distributed variable that this is, or that a Keras variable stands for; None for any other."""
    if isinstance(variable, ReplicaVariable):
        return None
    inner = variable if isinstance(variable, tf.Variable) else getattr(variable, "_value", None)
    is_distributed = isinstance(inner, tf.Variable) and isinstance(inner, tf.distribute.DistributedValues)
    return inner if is_distributed and isinstance(getattr(inner, "_values", None), tuple | list) else None


def parts_of(variable: Any) -> list[Any]:
    """The variable for each replica that has one of its own; a part by itself is given the names of its whole."""
    distributed = _distributed(variable)
    if distributed is not None:
        return [ReplicaVariable(variable, part, i) for i, part in enumerate(distributed.values)]
    whole = private.whole_of(variable) if isinstance(variable, tf.Variable) else None
    if whole is None:
        return [variable]
    return [ReplicaVariable(whole, part, i) for i, part in enumerate(whole.values) if part is variable] or [variable]


def by_replica(variables: Iterable[Any]) -> list[tuple[Replica | None, list[Any]]]:
    """For each replica the variables as it has them, in one order for all; with a single None for a replica when none of them is distributed."""
    found: dict[int, list[Any]] = {}
    for variable in variables:
        whole = private.whole_of(variable)
        found.setdefault(id(variable if whole is None else whole), [variable] if whole is None else parts_of(whole))
    total = max(map(len, found.values()), default=1)
    if total == 1:
        return [(None, [parts[0] for parts in found.values()])]
    return [(Replica(0, n, total), [parts[min(n, len(parts) - 1)] for parts in found.values()]) for n in range(total)]


def local(value: Any) -> Any:
    """A distributed variable as the replica of the current thread has it, or the first one outside all replicas; anything else as it is."""
    distributed = _distributed(value)
    if distributed is None:
        return value
    try:
        handle = distributed.handle
    except ValueError:  # no replica runs here
        handle = None
    parts = parts_of(value)
    return next((p for p in parts if p.handle is handle), parts[0])


@contextmanager
def one_for_all() -> Iterator[None]:
    """Within this context, in this thread, what replicas compute together is what one of them gives.

    Gradient passes a sum over replicas where it passes the same sum over one, and a thread that runs no replica cannot ask for the former.
    """
    mine = threading.get_ident()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        def together(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != mine:
                return original(*args, **kwargs)
            return signature.bind(*args, **kwargs).arguments["value"]

        return together

    with Patches() as patches:
        for name in ("all_reduce", "all_gather"):
            patches.wrap(tf.distribute.ReplicaContext, name, make)
        yield

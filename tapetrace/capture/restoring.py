"""Whatever a run of ours may change is put back: variables, and the states of the generators of TensorFlow, NumPy and Python."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.living import living

_lock = threading.RLock()
_open: list[_Generators] = []
"""What each block that is open now found, those of other threads included."""
_first: list[_Generators] = []
"""What the one found before which none was open."""


@contextmanager
def restored(handles: Iterable[Any]) -> Iterator[None]:
    """Variables behind these resource ``handles`` and all generator states are bit for bit the same after the block, also when it raises.

    Reading a variable shares its buffer until somebody writes, so a variable that is not written costs no memory.
    """
    before = [(handle, dtype, _read(handle, dtype)) for handle, dtype in _variables(handles)]
    states = _Generators()
    with _lock:
        if not _open:
            _first[:] = [states]
        _open.append(states)
    try:
        yield
    finally:
        for handle, _, value in before:
            if value is not None:
                tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        with _lock:
            states.put_back()


class _Generators:
    """The states of the generators of this process as they are when the object is made."""

    def __init__(self) -> None:
        context = private.eager_context()
        own = getattr(context, "_rng", None)
        self._python, self._numpy = random.getstate(), np.random.get_state()
        self._seed, self._own, self._state = getattr(context, "_seed", None), own, own.getstate() if own is not None else None

    def put_back(self) -> None:
        """The last of several threads puts back what the first of them found, since it began itself with what others had made of it."""
        is_last = len(_open) == 1
        _open[:] = [s for s in _open if s is not self] if not is_last else []
        (_first.pop() if is_last else self)._apply()

    def _apply(self) -> None:
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        context = private.eager_context()
        context._seed = self._seed
        if self._own is not None:
            self._own.setstate(self._state)
            context._rng = self._own
        elif hasattr(context, "_rng"):
            del context._rng  # TensorFlow makes one when the first seed is set


def all_variable_handles() -> list[Any]:
    """Handles of all variables that are alive: what Python code inside a step could write without the graph knowing."""
    # Of a distributed variable the parts are asked: it has no handle between replicas.
    alive = [v for v in living(tf.Variable) if not issubclass(type(v), tf.distribute.DistributedValues)]
    return [v.handle for v in alive if tf.is_tensor(getattr(v, "handle", None))]


def variable_dtype(handle: Any) -> Any:
    """The dtype of the variable behind a resource tensor, None for an iterator, a table or another resource."""
    data = private.handle_data_of(handle)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    return tf.as_dtype(data.shape_and_type[0].dtype)


def _variables(handles: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    seen: set[int] = set()
    for handle in handles:
        if id(handle) not in seen and isinstance(handle, private.EagerTensor) and handle.dtype == tf.resource:
            seen.add(id(handle))
            dtype = variable_dtype(handle)
            if dtype is not None:
                yield handle, dtype


def _read(handle: Any, dtype: Any) -> Any:
    """The value of a variable, None when it has none yet."""
    try:
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
    except tf.errors.OpError:
        return None

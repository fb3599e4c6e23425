"""Whatever a run of ours may change is put back: variables, and the states of the generators of TensorFlow, NumPy and Python."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture import private


@contextmanager
def restored(handles: Iterable[Any]) -> Iterator[None]:
    """Variables behind these resource ``handles`` and all generator states are bit for bit the same after the block, also when it raises.

    Reading a variable shares its buffer until somebody writes, so a variable that is not written costs no memory.
    """
    before = [(handle, dtype, _read(handle, dtype)) for handle, dtype in _variables(handles)]
    python, numpy = random.getstate(), np.random.get_state()
    context = private.eager_context()
    seed, own = getattr(context, "_seed", None), getattr(context, "_rng", None)
    state = own.getstate() if own is not None else None
    try:
        yield
    finally:
        for handle, _, value in before:
            if value is not None:
                tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        random.setstate(python)
        np.random.set_state(numpy)
        context._seed = seed
        if own is not None:
            own.setstate(state)
            context._rng = own
        elif hasattr(context, "_rng"):
            del context._rng  # TensorFlow makes one when the first seed is set


def all_variable_handles() -> list[Any]:
    """Handles of all variables that are alive: what Python code inside a step could write without the graph knowing."""
    return [v.handle for v in gc.get_objects() if issubclass(type(v), tf.Variable) and tf.is_tensor(getattr(v, "handle", None))]


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

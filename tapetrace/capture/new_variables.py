"""Variables that a step makes when it first runs: layers that build themselves, slots of an optimizer.

They stay when the run is over, since Python objects of the user's hold them; so at least they get back the value that they were made with.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.patches import Patches
from tapetrace.capture.restoring import variable_dtype


@contextmanager
def new_variables_restored() -> Iterator[dict[int, tuple[Any, Any]]]:
    """Variables made in this thread inside the block have their first value after it, also when it raises. Gives, by the identity of its handle,
    the handle and the stack of the making of each.

    One that a ``tf.function`` makes and fills only when it runs keeps the value that it has then.
    """
    made: list[tuple[Any, Any]] = []
    stacks: dict[int, tuple[Any, Any]] = {}
    thread = threading.get_ident()

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(variable: Any, *args: Any, **kwargs: Any) -> None:
            original(variable, *args, **kwargs)
            handle = getattr(variable, "_handle", None)
            if isinstance(handle, private.EagerTensor) and threading.get_ident() == thread:
                stacks[id(handle)] = handle, private.tf_stack.extract_stack()
                value = _first_value(handle)
                if value is not None:
                    made.append((handle, value))

        return __init__

    with Patches() as patches:
        patches.wrap(private.ResourceVariable, "__init__", wrap)
        try:
            yield stacks
        finally:
            for handle, value in made:
                tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def _first_value(handle: Any) -> Any:
    """Its value, which nobody sees us read; None when it has none yet."""
    dtype = variable_dtype(handle)
    with tf.init_scope(), private.record.stop_recording(), private.unobserved():
        try:
            return None if dtype is None else tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
        except tf.errors.OpError:
            return None

"""Names for variables: which Python object stands behind a resource handle, and what Keras and TensorFlow call it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tapetrace.capture.replicas import parts_of
from tapetrace.model.trace import TensorSpec


@dataclass(frozen=True, slots=True)
class Named:
    """``name`` as Keras or TensorFlow prints it, ``path`` the full path, ``owner`` the path of the Keras layer that owns it."""

    name: str
    path: str
    owner: str
    trainable: bool
    spec: TensorSpec


def is_variable(value: Any) -> bool:
    """Whether ``value`` is a ``tf.Variable``, or a Keras variable that stands for one."""
    kind = type(value)  # asked for a handle itself, a distributed variable raises; one in shards has none
    return isinstance(value, tf.Variable) or (hasattr(value, "_should_act_as_resource_variable") and hasattr(kind, "handle"))


def handle_of(variable: Any) -> Any:
    """The resource tensor of a variable; of a distributed one that of the current replica, or of the first where no replica runs."""
    try:
        return variable.handle
    except ValueError:  # what a distributed variable raises between replicas
        return parts_of(variable)[0].handle


def spec_of(tensor: Any) -> TensorSpec:
    """Dtype and static shape of a tensor, variable or ``tf.TensorSpec``."""
    shape = tensor.shape
    rank = getattr(shape, "rank", None) if not isinstance(shape, tuple) else len(shape)
    sizes = None if rank is None else tuple(None if n is None else int(n) for n in tuple(shape))
    return TensorSpec(tf.as_dtype(tensor.dtype).name, sizes)


def describe_variable(variable: Any) -> Named:
    """The names of a variable."""
    name = str(variable.name)
    path = str(getattr(variable, "path", "") or name)
    if path.endswith(":0"):
        path = path[:-2]
    is_keras = hasattr(variable, "path") or "tf_keras" in sys.modules  # there the name of a variable begins with its layer
    owner = path.rpartition("/")[0] if is_keras else ""
    return Named(name, path, owner, bool(getattr(variable, "trainable", True)), spec_of(variable))


class VariableNames:
    """Finds the variable behind a handle. Keras variables are preferred to the ``tf.Variable`` inside them, since they know their path."""

    def __init__(self) -> None:
        self._by_handle: dict[int, Any] = {}

    def add(self, variables: Iterable[Any]) -> None:
        for variable in (part for v in variables if is_variable(v) for part in parts_of(v)):
            key = id(variable.handle)
            known = self._by_handle.get(key)
            if known is None or (hasattr(variable, "path") and not hasattr(known, "path")):
                self._by_handle[key] = variable

    def of_handle(self, handle: Any) -> Any:
        """The variable whose handle this is, None if nobody mentioned it."""
        return self._by_handle.get(id(handle))

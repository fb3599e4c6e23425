"""Reads of variables that op callbacks can see.

An eager op that is given a ``tf.Variable`` reads it inside TensorFlow's C++ code, which tells nobody. Read in Python just before, with the same
result, the read is an op like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.patches import Patches


def make_reads_visible(patches: Patches) -> None:
    """From now on, until ``patches`` are undone, every read of a variable is an op of its own."""
    patches.wrap(private.fast_path, "TFE_Py_FastPathExecute", _reading_first)


def _reading_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def execute(*args: Any) -> Any:
        # A list and not a generator: a tuple that is being filled must not be seen by another thread that walks all objects.
        return original(*[_read(a) if isinstance(a, (tf.Variable, list, tuple)) else a for a in args])

    return execute


def _read(value: Any) -> Any:
    if isinstance(value, tf.Variable):
        return tf.convert_to_tensor(value)
    if any(isinstance(v, tf.Variable) for v in value):
        return type(value)([tf.convert_to_tensor(v) if isinstance(v, tf.Variable) else v for v in value])
    return value

"""Ops of a traced function, and their gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import GateTable

F32 = tf.TensorSpec([3], tf.float32)


def trace(build: Callable[..., Any], *specs: tf.TensorSpec) -> Any:
    """The FuncGraph of ``build``."""
    return tf.function(build, autograph=False).get_concrete_function(*specs).graph


def only(graph: Any, op_type: str) -> Any:
    """The one op of that type."""
    (op,) = [op for op in graph.get_operations() if op.type == op_type]
    return op


def gates(build: Callable[..., Any], op_type: str, *specs: tf.TensorSpec) -> GateTable:
    return GateProber().gates_of(only(trace(build, *(specs or (F32,))), op_type))

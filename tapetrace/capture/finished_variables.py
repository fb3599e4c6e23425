"""Variables that are ops of a graph and have no Python object: those of TensorFlow 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tapetrace.capture import private

VARIABLE_OPS = frozenset({"VarHandleOp", "VariableV2", "Variable"})


@dataclass(frozen=True, slots=True, eq=False)
class GraphVariable:
    """A variable that is an op of the graph. Like a ``tf.Variable`` in what tapetrace asks of one; it has no value."""

    name: str
    dtype: Any
    shape: Any
    handle: Any
    trainable: bool = True
    _should_act_as_resource_variable: bool = field(default=True, repr=False)


def variables_in(graph: Any) -> tuple[GraphVariable, ...]:
    """The float variables among the ops of ``graph``, in its order."""
    found = [op for op in graph.get_operations() if op.type in VARIABLE_OPS and private.is_trainable(op.get_attr("dtype"))]
    return tuple(GraphVariable(op.name, op.get_attr("dtype"), tf.TensorShape(op.get_attr("shape")), op.outputs[0]) for op in found)

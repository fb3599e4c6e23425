"""Which inputs of an op can be nothing but integers: an index, a size, a number of times."""

from __future__ import annotations

from functools import cache
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2


def integer_inputs(op: Any) -> tuple[tuple[int, str], ...]:
    """Position and name of each input of a ``tf.Operation`` that holds integers and that the op's definition lets hold no float."""
    names: list[str] = []
    for argument in op.op_def.input_arg:
        names += [argument.name] * _length(argument, op.node_def.attr)
    only = _integers_only(op.op_def.SerializeToString(deterministic=True))
    return tuple((i, name) for i, (name, t) in enumerate(zip(names, op.inputs, strict=False)) if name in only and t.dtype.is_integer)


def _length(argument: Any, attributes: Any) -> int:
    if argument.type_list_attr:
        return len(attributes[argument.type_list_attr].list.type)
    return int(attributes[argument.number_attr].i) if argument.number_attr else 1


@cache
def _integers_only(definition: bytes) -> frozenset[str]:
    """Names of the arguments whose dtype is fixed to an integer, or chosen among integers."""
    op = op_def_pb2.OpDef.FromString(definition)
    allowed = {a.name: a.allowed_values.list.type for a in op.attr}
    found = {a.name: allowed.get(a.type_attr, ()) if a.type_attr else (a.type,) for a in op.input_arg if not a.type_list_attr}
    return frozenset(name for name, types in found.items() if types and all(tf.as_dtype(t).is_integer for t in types))

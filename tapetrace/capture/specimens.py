"""One op of a given type, made in a scratch graph from nothing but its definition, so that its gates can be asked.

An attribute takes its default, else the plainest value that its definition allows; a dtype is float32 wherever that is allowed. What cannot be
read off the definition (how long ``strides`` is, which ranks fit) is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

from tapetrace.capture import private
from tapetrace.model.op_rows import Slot

PREFERRED = (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.complex64, tf.complex128, tf.int32, tf.int64)
"""Dtypes that carry gradient, the usual ones first, then those that indices have."""


class NoSpecimen(Exception):
    """No op of this type can be made here; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """``rank`` of float inputs and ``size`` of their axes (None: unknown), ``length`` of lists of numbers, ``text`` for strings that may be
    anything; ``vector``: the first integer input has rank 1."""

    rank: int | None
    length: int
    text: str = ""
    size: int | None = None
    vector: bool = False


ATTEMPTS = (
    Attempt(None, 4),
    Attempt(None, 4, "i->i", vector=True),
    Attempt(None, 5),
    Attempt(None, 3, "FIRST_DIM_SIZE"),
    Attempt(None, 2),
    Attempt(None, 1),
    Attempt(None, 0),
    Attempt(4, 4, size=2),
    Attempt(2, 2, size=2),
    Attempt(5, 5, size=2),
    Attempt(3, 3, size=2),
    Attempt(2, 2),
    Attempt(4, 4),
    Attempt(1, 1),
    Attempt(0, 0),
)


@dataclass(frozen=True, slots=True)
class Specimen:
    op: Any
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]


def described_slots(definition: Any) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Inputs and outputs as the definition alone has them, without making an op: a few shape functions of TensorFlow end the process."""
    attributes = {a.name: _attribute(a, ATTEMPTS[0]) for a in definition.attr if "func" not in a.type}
    return tuple(_slots(arguments, attributes) for arguments in (definition.input_arg, definition.output_arg))  # type: ignore[return-value]


def specimens(definition: Any) -> Iterator[Specimen]:
    """Ops of that type, one for each attempt that TensorFlow accepts. Raises `NoSpecimen` when it accepts none."""
    _refuse(definition)
    first: Exception | None = None
    made = False
    for attempt in ATTEMPTS:
        try:
            specimen = _make(definition, attempt)
        except Exception as error:  # a shape function may refuse in any way
            first = first or error
            continue
        made = True
        yield specimen
    if not made:
        lines = str(first).strip().splitlines() or [type(first).__name__]
        raise NoSpecimen(lines[0].partition(" for '{{node")[0])


def _refuse(definition: Any) -> None:
    if any("func" in a.type for a in definition.attr):
        raise NoSpecimen("it runs functions, which have gates of their own")
    if any(a.is_ref for a in definition.input_arg):
        raise NoSpecimen("it takes a reference variable of TensorFlow 1")


def _make(definition: Any, attempt: Attempt) -> Specimen:
    attributes = {a.name: _attribute(a, attempt) for a in definition.attr}
    graph = private.FuncGraph("tapetrace_specimen", collections={})
    with graph.as_default():
        inputs = [[_input(dtype, attempt) for dtype in _dtypes(a, attributes)] for a in definition.input_arg]
        if attempt.vector:
            _make_vector([t for argument in inputs for t in argument])
        op = private.make_operation(graph, definition, inputs, attributes)
    return Specimen(op, _slots(definition.input_arg, attributes), _slots(definition.output_arg, attributes))


def _slots(arguments: Any, attributes: dict[str, Any]) -> tuple[Slot, ...]:
    found = []
    for argument in arguments:
        is_list = bool(argument.number_attr or argument.type_list_attr)
        for i, dtype in enumerate(_dtypes(argument, attributes)):
            found.append(Slot(f"{argument.name}[{i}]" if is_list else argument.name, dtype.base_dtype.name))
    return tuple(found)


def _dtypes(argument: Any, attributes: dict[str, Any]) -> list[Any]:
    """The dtype of each tensor of one argument of an op."""
    if argument.type_list_attr:
        return [tf.as_dtype(t) for t in attributes[argument.type_list_attr].list.type]
    dtype = tf.as_dtype(attributes[argument.type_attr].type if argument.type_attr else argument.type)
    return [dtype] * (attributes[argument.number_attr].i if argument.number_attr else 1)


def _input(dtype: Any, attempt: Attempt) -> Any:
    """A tensor for one input; resources are variables of float32 and variants are lists of it."""
    if dtype == tf.resource:
        return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=tf.TensorShape(None))
    if dtype == tf.variant:
        return tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=1, element_dtype=tf.float32)
    is_float = dtype.is_floating or dtype.is_complex
    return tf.compat.v1.placeholder(dtype, [attempt.size] * attempt.rank if is_float and attempt.rank is not None else None)


def _make_vector(tensors: list[Any]) -> None:
    first = next((t for t in tensors if t.dtype.is_integer), None)
    if first is not None:
        first.set_shape([2])


def _attribute(attribute: Any, attempt: Attempt) -> Any:
    """A value for one attribute of an op definition."""
    if attribute.HasField("default_value"):
        return attribute.default_value
    value = attr_value_pb2.AttrValue()
    kind = attribute.type
    is_list = kind.startswith("list(")
    if is_list:
        kind = kind[5:-1]
        value.list.SetInParent()
    length = max(attempt.length if kind in ("int", "float") else 1, attribute.minimum)
    for _ in range(length if is_list else 1):
        _put(value, kind, attribute, attempt, is_list)
    return value


def _put(value: Any, kind: str, attribute: Any, attempt: Attempt, is_list: bool) -> None:
    content: Any
    if kind == "type":
        field, content = "type", _dtype(attribute.allowed_values.list.type).as_datatype_enum
    elif kind == "int":
        field, content = "i", 1 if is_list else max(attribute.minimum if attribute.has_minimum else 0, 1)
    elif kind == "string":
        allowed = attribute.allowed_values.list.s
        field, content = "s", allowed[0] if allowed else attempt.text.encode()
    elif kind == "float":
        field, content = "f", 1.0
    elif kind == "bool":
        field, content = "b", False
    elif kind == "shape":
        field, content = "shape", tf.TensorShape(None).as_proto()
    elif kind == "tensor":
        field, content = "tensor", tf.make_tensor_proto(0.0)
    else:
        raise NoSpecimen(f"its attribute {attribute.name} is a {kind}")
    if is_list:
        getattr(value.list, field).append(content)
    elif field in ("shape", "tensor"):
        getattr(value, field).CopyFrom(content)
    else:
        setattr(value, field, content)


def _dtype(allowed: Any) -> Any:
    """The first of the preferred dtypes that is allowed, else the first allowed."""
    dtypes = [tf.as_dtype(t) for t in allowed]
    return next((p for p in PREFERRED if not dtypes or p in dtypes), dtypes[0] if dtypes else tf.float32)

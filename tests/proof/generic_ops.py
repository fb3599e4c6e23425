"""An op made to run from nothing but its definition: attributes are given plain values, and inputs are drawn until TensorFlow accepts them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture import private
from tests.capture.op_table import OpCase

ATTEMPTS = 400
"""Draws of inputs and attributes for each op. Few need more than fifty."""

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (3,),
    (4,),
    (3, 4),
    (3, 3),
    (4, 4),
    (2,),
    (2, 3, 4),
    (2, 6, 6, 3),
    (1, 4, 4, 4, 2),
    (1,),
    (4, 3),
    (2, 2, 2),
)
INTEGERS: tuple[Any, ...] = (
    0,
    1,
    2,
    [0],
    [1, 0],
    [0, 1, 0],
    [2, 3],
    [3, 4],
    [[0, 1], [2, 2]],
    [[0], [1]],
    [3],
    [1, 1],
    [4, 4],
    [0, 0, 1],
    [0, 1, 2],
    [1, 2, 3],
)
TEXTS = ("", "a", "i,i->i", "SAME", "VALID", "{}", "f")
LISTS_OF_NUMBERS = ([1, 1, 1, 1], [1, 2, 2, 1], [1], [1, 1], [1, 1, 1, 1, 1], [], [2, 2])
FLOATS = (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.complex64, tf.complex128)

HARMFUL = (
    "Abort",
    "Send",
    "Recv",
    "Write",
    "Save",
    "Delete",
    "TPU",
    "Collective",
    "Nccl",
    "Infeed",
    "Outfeed",
    "Print",
    "Distributed",
    "PyFunc",
    "Assert",
)
"""Parts of names of ops that end or block the process, write files, or need hardware."""


class NotMade(Exception):
    """Why no op of the type was made, in one line."""


def reason_against(definition: Any) -> str:
    """Why an op type is not tried, empty when it is."""
    if not any(_may_be_float(a, definition) for a in definition.input_arg):
        return "none of its inputs may be a float: there is no gradient to ask for"
    if any("func" in a.type for a in definition.attr):
        return "it runs functions, which other tests cover"
    if any(a.is_ref for a in definition.input_arg):
        return "it takes a reference variable of TensorFlow 1"
    kinds = {tf.as_dtype(a.type).name for a in definition.input_arg if a.type} & {"resource", "variant"}
    if kinds:
        return f"it takes a {' and a '.join(sorted(kinds))}, for which there is no maker"
    if any(part in definition.name for part in HARMFUL):
        return "it would block or end the process, write files, or need hardware"
    if not hasattr(tf.raw_ops, definition.name):
        return "TensorFlow has no Python function for it"
    return ""


def make(definition: Any, seed: int = 0) -> OpCase:
    """A case of that op type which TensorFlow has just run. Raises `NotMade` with what it said to the first draw."""
    numbers = random.Random(f"{definition.name} {seed}")
    complaint = ""
    for _ in range(ATTEMPTS):
        try:
            case = _draw(definition, numbers)
            outputs = case.build(*case.arguments)
        except Exception as error:  # TensorFlow refuses in a dozen ways
            told = _sentence(error)
            if told == NO_KERNEL or told.startswith("Op "):
                raise NotMade(told) from error
            complaint = complaint or told
            continue
        found = [o for o in tf.nest.flatten(outputs) if tf.is_tensor(o)]
        if any(o.dtype not in (tf.resource, tf.variant) for o in found):
            return case
        if found:
            raise NotMade("it hands out only handles, of which no loss can be made")
    raise NotMade(complaint or "it has no outputs")


NO_KERNEL = "it has no kernel on this machine"


def _sentence(error: Exception) -> str:
    """What TensorFlow says, in a line."""
    text = str(error).strip()
    if "Could not find device" in text or "No OpKernel" in text or "no registered kernels" in text or "No registered" in text:
        return NO_KERNEL
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    return (first.partition("}} ")[2] or first)[:160]


def _may_be_float(argument: Any, definition: Any) -> bool:
    if argument.type:
        return tf.as_dtype(argument.type) in FLOATS
    name = argument.type_attr or argument.type_list_attr
    allowed = next(a.allowed_values.list.type for a in definition.attr if a.name == name)
    return not allowed or any(tf.as_dtype(t) in FLOATS for t in allowed)


def _draw(definition: Any, numbers: random.Random) -> OpCase:
    inferred = (
        {a.number_attr for a in definition.input_arg} | {a.type_attr for a in definition.input_arg} | {a.type_list_attr for a in definition.input_arg}
    )
    given: dict[str, Any] = {}
    types: dict[str, Any] = {}
    for attribute in definition.attr:
        if attribute.type == "type":
            types[attribute.name] = _dtype(attribute, numbers)
        if attribute.name in inferred or attribute.HasField("default_value"):
            continue
        given[attribute.name] = types[attribute.name] if attribute.type == "type" else _value(attribute, numbers)
    common = numbers.choice(SHAPES)
    mixed = numbers.random() < 0.5
    flat: list[Any] = []
    shape_of: list[tuple[str, int]] = []
    for argument in definition.input_arg:
        count = numbers.choice((1, 2)) if argument.number_attr or argument.type_list_attr else 0
        dtype = tf.as_dtype(argument.type) if argument.type else types.get(argument.type_attr, tf.float32)
        shape = numbers.choice(SHAPES) if mixed else common
        flat += [_array(dtype, shape, numbers) for _ in range(count or 1)]
        shape_of.append((argument.name, count))

    def build(*tensors: Any) -> Any:
        rest, keywords = list(tensors), dict(given)
        for name, count in shape_of:
            keywords[name] = [rest.pop(0) for _ in range(count)] if count else rest.pop(0)
        return getattr(tf.raw_ops, definition.name)(**keywords)

    return OpCase(definition.name, build, tuple(flat))


def _dtype(attribute: Any, numbers: random.Random) -> Any:
    allowed = [tf.as_dtype(t) for t in attribute.allowed_values.list.type] or [tf.float32, tf.int32, tf.int64, tf.string, tf.bool]
    if attribute.HasField("default_value"):
        return tf.as_dtype(attribute.default_value.type)
    floats = [t for t in FLOATS if t in allowed]
    return floats[0] if floats and numbers.random() < 0.8 else numbers.choice(allowed)


def _value(attribute: Any, numbers: random.Random) -> Any:
    kind = attribute.type
    if kind == "string":
        allowed = attribute.allowed_values.list.s
        return numbers.choice([a.decode() for a in allowed]) if allowed else numbers.choice(TEXTS)
    if kind == "list(type)":
        return [tf.float32]
    if kind == "list(string)":
        return [numbers.choice(TEXTS)]
    if kind in ("list(int)", "list(float)"):
        return numbers.choice(LISTS_OF_NUMBERS)
    if kind == "list(shape)":
        return [None]
    plain = {
        "int": max(attribute.minimum if attribute.has_minimum else 0, numbers.choice((1, 2, 0))),
        "float": numbers.choice((0.5, 1.0)),
        "bool": False,
    }
    if kind in plain:
        return plain[kind]
    if kind == "shape":
        return numbers.choice(([3, 4], None, [2], []))
    raise TypeError(f"its attribute {attribute.name} is a {kind}")


def _array(dtype: Any, shape: tuple[int, ...], numbers: random.Random) -> Any:
    drawn = np.random.default_rng(numbers.randrange(1 << 30))
    if dtype == tf.string:
        return np.array(numbers.choice(("a", ["a", "b"], "1.5")))
    if dtype == tf.bool:
        return np.array(numbers.choice((True, [True, False, True])))
    if dtype in FLOATS:
        values = drawn.uniform(0.1, 0.9, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            values = values + 3 * np.eye(shape[0])
        return tf.cast(values + 0.2j * drawn.uniform(size=shape) if dtype.is_complex else values, dtype).numpy()
    if dtype.is_quantized:
        raise TypeError(f"it takes a {dtype.name}")
    return np.array(numbers.choice(INTEGERS), dtype.as_numpy_dtype)


def definitions() -> dict[str, Any]:
    """Every op type that this TensorFlow knows, by name."""
    return private.registered_operations()

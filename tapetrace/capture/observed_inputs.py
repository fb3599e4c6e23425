"""What a function was traced with, in words, to tell two traces of one line apart."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture.variables import spec_of

Inputs = dict[str, str]
"""``x`` → ``float32[8,4]``, ``training`` → ``True``: the arguments of the functions around a gradient call, the innermost first."""

_PLAIN = (bool, int, float, str, type(None))
_LONGEST = 40


def inputs_of(graphs: Sequence[Any], functions: Sequence[Any]) -> Inputs:
    """The arguments of those of ``graphs`` (the innermost first) that are the graph of one of ``functions``."""
    types = {id(f.graph): getattr(f, "function_type", None) for f in functions}
    found: Inputs = {}
    for graph in graphs:
        signature = getattr(graph, "structured_input_signature", None)
        if signature is not None:
            for label, text in describe_arguments(signature, list(getattr(types.get(id(graph)), "parameters", ()))).items():
                found.setdefault(label, text)
    return found


def describe_arguments(signature: Any, names: Sequence[str] = ()) -> Inputs:
    """``(args, kwargs)`` in words; ``names`` are those of the parameters. Objects that are no data are left out."""
    args, kwargs = signature
    found: Inputs = {}
    for i, value in enumerate(args):
        found.update(_parts(names[i] if i < len(names) else _own_name(value) or f"argument {i + 1}", value))
    for name, value in kwargs.items():
        found.update(_parts(name, value))
    return found


def names_of(step: Any) -> list[str]:
    """The names of the positional parameters of a function; of a Keras model those of its ``fit``."""
    if hasattr(step, "train_step"):
        return ["x", "y", "sample_weight"]
    try:
        parameters = inspect.signature(getattr(step, "python_function", step)).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _own_name(value: Any) -> str:
    return str(getattr(value, "name", "") or "") if isinstance(value, tf.TensorSpec) else ""


def _parts(label: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _parts(f"{label}[{key!r}]", part)
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        for i, part in enumerate(value):
            yield from _parts(f"{label}[{i}]", part)
    else:
        text = _text(value)
        if text:
            yield label, text


def _text(value: Any) -> str:
    if isinstance(value, _PLAIN):
        text = repr(value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if isinstance(value, tf.Variable) or tf.is_tensor(value) or isinstance(value, tf.TensorSpec):
        return str(spec_of(value))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        try:
            return str(spec_of(value))
        except (TypeError, ValueError):
            return ""
    return ""

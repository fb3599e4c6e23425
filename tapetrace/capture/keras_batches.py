"""The batch that a Keras model is checked with: what the user gives, as ``fit`` would hand it over, or specs read off the model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.errors import UsageError

_NAMES = ("x", "y", "sample_weight")
_ROWS = 2
"""Rows of a batch that is made up."""


def batch_of(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)`` for the model's ``train_step``.

    ``args`` are those of ``fit``: ``x``, ``y``, ``sample_weight``, or a ``tf.data.Dataset`` or other source of batches, of which the first is used;
    ``class_weight`` may be named. Without any, specs are made up from the shapes that the model knows. Raises `UsageError` when that cannot be done.
    """
    given = _given(model, args, kwargs)
    if not given:
        return _made_up(model)
    x, y, weights = (given.get(name) for name in _NAMES)
    if y is None and weights is None and _is_stream(x):
        batch = _first(x)
        x, y, weights = (*batch, None, None)[:3]
    if given.get("class_weight") is not None:
        weights = _by_class(y, given["class_weight"])
    floats = _floats(model)
    parts = [_tensors(part, floats) for part in (x, y, weights)]
    while parts and parts[-1] is None:
        parts.pop()
    return tuple(parts)


def handed_over(model: Any, batch: tuple[Any, ...], args: Sequence[Any]) -> Any:
    """What ``train_step`` is given when ``fit`` is given ``args``: a batch of `batch_of`, or ``x`` itself when there is nothing but one ``x``.

    A ``train_step`` of the user's, of an autoencoder or a GAN, takes ``x`` as its ``data`` then.
    """
    nested = (tuple, list, dict) if _keras_of(model) == "tf_keras" else (tuple, list)
    if len(batch) != 1 or isinstance(batch[0], nested) or isinstance(getattr(args[0] if args else None, "element_spec", None), tuple):
        return batch
    return batch[0]


def _given(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    name = model_name(model)
    wanted = f"check({name}, x, y, sample_weight) takes what {name}.fit takes, or one tf.data.Dataset"
    if len(args) > len(_NAMES):
        raise UsageError(f"The model {name} was given {len(args)} arguments: {wanted}.")
    unknown = sorted(set(kwargs) - {*_NAMES, "class_weight"})
    if unknown:
        raise UsageError(f"The model {name} cannot be given {unknown[0]!r}: {wanted}.")
    twice = [n for n in _NAMES[: len(args)] if n in kwargs]
    if twice:
        raise UsageError(f"The model {name} was given {twice[0]!r} twice: {wanted}.")
    return {**dict(zip(_NAMES, args, strict=False)), **kwargs}


def model_name(model: Any) -> str:
    """What a model is called."""
    return str(getattr(model, "name", "") or type(model).__name__)


def _is_stream(x: Any) -> bool:
    is_sequence = hasattr(x, "__getitem__") and hasattr(x, "__len__") and type(x).__name__ != "DataFrame"
    return isinstance(x, tf.data.Dataset) or hasattr(x, "__next__") or (is_sequence and _is_py_dataset(x))


def _is_py_dataset(x: Any) -> bool:
    """Whether this is a ``keras.utils.PyDataset`` (in tf_keras a ``Sequence``)."""
    return any(base.__name__ in ("PyDataset", "Sequence") and "keras" in base.__module__ for base in type(x).__mro__)


def _first(source: Any) -> tuple[Any, ...]:
    batch = source[0] if _is_py_dataset(source) else next(iter(source), None)
    if batch is None:
        raise UsageError("The data set is empty: give one that has at least one batch.")
    return tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)


def _by_class(y: Any, class_weight: Mapping[int, float]) -> Any:
    """``class_weight`` as ``fit`` turns it into weights of samples."""
    if y is None or isinstance(y, (dict, tf.TensorSpec)):
        raise UsageError("class_weight needs one array of labels: give it as y, or sample_weight in its place.")
    labels = np.asarray(y)
    classes = labels.argmax(-1) if labels.ndim > 1 and labels.shape[-1] > 1 else labels.reshape(len(labels), -1)[:, 0]
    return np.asarray([class_weight.get(int(c), 1.0) for c in classes], "float32")


def _floats(model: Any) -> str:
    """The dtype that the Keras of this model gives floats."""
    package = sys.modules.get(_keras_of(model))
    return str(package.backend.floatx()) if package is not None else "float32"


def _keras_of(model: Any) -> str:
    """``keras`` or ``tf_keras``, empty for neither."""
    names = [base.__module__.partition(".")[0] for base in type(model).__mro__]
    return next((n for n in names if n in ("keras", "tf_keras")), "")


def _tensors(data: Any, floats: str) -> Any:
    """Arrays as the tensors that ``fit`` makes of them: floats in the dtype of Keras."""

    def convert(value: Any) -> Any:
        if value is None or isinstance(value, tf.TypeSpec) or tf.is_tensor(value):
            return value
        tensor = tf.convert_to_tensor(value.to_numpy() if hasattr(value, "to_numpy") else value)
        return tf.cast(tensor, floats) if tensor.dtype == tf.float64 else tensor

    if isinstance(data, list):
        return [_tensors(v, floats) for v in data] if data and (data[0] is None or hasattr(data[0], "shape")) else convert(data)
    if isinstance(data, tuple):
        return tuple(_tensors(v, floats) for v in data)
    return {k: _tensors(v, floats) for k, v in data.items()} if isinstance(data, dict) else convert(data)


# Nothing given: what the model itself says.


def _made_up(model: Any) -> tuple[Any, ...]:
    inputs, outputs = _structure(model, "input"), _structure(model, "output")
    if inputs is None or outputs is None:
        raise UsageError(f"The model {model_name(model)} does not say what shape its data has: give a batch, with --args or as check(model, x, y).")
    x = tf.nest.map_structure(_spec, inputs)
    y = _targets(model, outputs)
    return (x,) if y is None else (x, y)


def _structure(model: Any, which: str) -> Any:
    """``model.input`` or ``model.output`` in the structure that the model was made with; None when it has none."""
    for owner in (model, getattr(model, "_functional", None)):
        try:
            found = getattr(owner, which)
        except (AttributeError, RuntimeError, ValueError):
            continue
        if found is not None:
            return found
    listed = getattr(model, f"{which}s", None)
    return None if not listed else listed[0] if len(listed) == 1 else list(listed)


def _targets(model: Any, outputs: Any) -> Any:
    """A target for each output that has a loss; None for a model whose loss needs none."""
    loss = getattr(model, "loss", None)
    if loss is None:
        return None
    if isinstance(loss, dict):
        named = outputs if isinstance(outputs, dict) else dict(zip(getattr(model, "output_names", ()), tf.nest.flatten(outputs), strict=False))
        return {name: _target_spec(loss[name], output) for name, output in named.items() if loss.get(name) is not None}
    if isinstance(loss, (list, tuple)):
        flat = tf.nest.flatten(outputs)
        specs = [_target_spec(one, output) for one, output in zip(loss, flat, strict=False)]
        return tf.nest.pack_sequence_as(outputs, specs) if len(specs) == len(flat) else specs
    return tf.nest.map_structure(lambda output: _target_spec(loss, output), outputs)


def _spec(tensor: Any) -> tf.TensorSpec:
    return tf.TensorSpec([_ROWS if i == 0 and n is None else n for i, n in enumerate(tensor.shape)], tensor.dtype)


def _target_spec(loss: Any, output: Any) -> tf.TensorSpec:
    """Targets have the shape of the output, or, for a sparse loss, that of the output without its last axis."""
    spec = _spec(output)
    name = loss if isinstance(loss, str) else getattr(loss, "__name__", "") or type(loss).__name__
    if "sparse" in name.lower():
        return tf.TensorSpec(spec.shape[:-1], tf.int32)
    return spec

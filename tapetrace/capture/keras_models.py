"""A compiled Keras model as a step: its own ``train_step`` on one batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.errors import TargetError, UsageError


def is_keras_model(value: Any) -> bool:
    """Whether ``value`` is a model of Keras 3 or tf_keras."""
    return hasattr(value, "train_step") and hasattr(value, "compile") and hasattr(value, "fit")


def model_step(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The model's ``train_step`` as a function of the batch, and the batch as ``fit`` would hand it over.

    ``args`` are ``x``, ``y`` and ``sample_weight``, as for ``fit``. Without any, they are made up from the model's input and output shapes.
    Raises `TargetError` for a model that is not compiled, `UsageError` when no batch can be made up.
    """
    name = getattr(model, "name", type(model).__name__)
    if getattr(model, "optimizer", None) is None:
        raise TargetError(f"The model {name} is not compiled: call {name}.compile(optimizer=…, loss=…) before it is checked.")
    x, y, weights = _batch(model, args, kwargs)
    data = (x,) if y is None else (x, y) if weights is None else (x, y, weights)
    _build(model, data)

    def train_step(data: Any) -> Any:
        return model.train_step(data)

    return tf.autograph.experimental.do_not_convert(train_step), (data,)


def _batch(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    given = [*args, *[None] * (3 - len(args))]
    for position, name in enumerate(("x", "y", "sample_weight")):
        if name in kwargs:
            given[position] = kwargs[name]
    x, y, weights = given[:3]
    if x is None:
        x, y = _made_up(model)
    elif isinstance(x, tf.data.Dataset):
        batch = next(iter(x))
        return _batch(model, batch if isinstance(batch, tuple) else (batch,), {})
    return _tensors(x), None if y is None else _tensors(y), None if weights is None else _tensors(weights)


def _tensors(data: Any) -> Any:
    """Arrays as the tensors that ``fit`` makes of them: floats in the dtype of Keras."""

    def convert(value: Any) -> Any:
        if value is None or isinstance(value, tf.TensorSpec) or tf.is_tensor(value):
            return value
        tensor = tf.convert_to_tensor(value)
        return tf.cast(tensor, tf.keras.config.floatx()) if tensor.dtype == tf.float64 else tensor

    if isinstance(data, list):
        return [_tensors(v) for v in data] if data and hasattr(data[0], "shape") else convert(data)
    return tf.nest.map_structure(convert, data)


def _made_up(model: Any) -> tuple[Any, Any]:
    """Specs of inputs and targets, read off a model that knows its shapes."""
    inputs, outputs = getattr(model, "inputs", None), getattr(model, "outputs", None)
    if not inputs or not outputs:
        raise UsageError(f"The model {model.name} does not say what shape its data has: give a batch, with --args or as check(model, x, y).")
    x = tf.nest.map_structure(_spec, model.input)
    y = tf.nest.map_structure(lambda t: _target_spec(model, t), model.output)
    return x, y


def _spec(tensor: Any) -> tf.TensorSpec:
    return tf.TensorSpec([2 if i == 0 and n is None else n for i, n in enumerate(tensor.shape)], tensor.dtype)


def _target_spec(model: Any, output: Any) -> tf.TensorSpec:
    """Targets have the shape of the output, or, for a sparse loss, that of the output without its last axis."""
    spec = _spec(output)
    loss = str(getattr(model, "loss", "") if isinstance(getattr(model, "loss", ""), str) else type(model.loss).__name__).lower()
    if "sparse" in loss:
        return tf.TensorSpec(spec.shape[:-1], tf.int32)
    return spec


def _build(model: Any, data: tuple[Any, ...]) -> None:
    """Make the variables of metrics and optimizer, as ``fit`` does before it traces."""
    build = getattr(model, "_symbolic_build", None)
    if build is None:
        return
    if any(isinstance(t, tf.TensorSpec) for t in tf.nest.flatten(data)):
        model.optimizer.build(model.trainable_variables)
        return
    build(data_batch=data)

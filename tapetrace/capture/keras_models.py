"""A compiled Keras model as a step: its own ``train_step`` on one batch."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.built_models import building_lines, steps_by_keras
from tapetrace.capture.history import current_history
from tapetrace.capture.keras_batches import batch_of, handed_over, model_name
from tapetrace.capture.locations import Locator
from tapetrace.errors import TargetError, TraceFailed

_TOLD_BY_US = "Gradients do not exist for variables"


def is_keras_model(value: Any) -> bool:
    """Whether ``value`` is a model of Keras 3 or tf_keras."""
    return hasattr(value, "train_step") and hasattr(value, "compile") and hasattr(value, "fit")


def model_step(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any], locator: Locator) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The model's ``train_step`` as a function of the batch, and the batch as ``fit`` would hand it over.

    ``args`` and ``kwargs`` are those of `batch_of`. Raises `TargetError` for a model that is not compiled or cannot be built from the batch,
    `UsageError` when no batch can be made up.
    """
    name = model_name(model)
    if isinstance(model, type):
        raise TargetError(f"{model.__name__} is the class of a model: name a model that is compiled, {model.__name__}(…), instead.")
    if getattr(model, "optimizer", None) is None:
        raise TargetError(f"The model {name} is not compiled: call {name}.compile(optimizer=…, loss=…) before it is checked.")
    data = batch_of(model, args, kwargs)
    _build(model, data)

    def train_step(data: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_TOLD_BY_US)  # the report says more
            with building_lines(current_history(), locator) if steps_by_keras(model) else nullcontext():
                return _on_replicas(model, data)

    return tf.autograph.experimental.do_not_convert(train_step), (handed_over(model, data, args),)


def _on_replicas(model: Any, data: Any) -> Any:
    """One step on a batch, on each replica when the model was made under a ``tf.distribute`` strategy, as ``fit`` does."""
    strategy = _strategy_of(model)
    if strategy is None:
        return model.train_step(data)
    return strategy.run(tf.autograph.experimental.do_not_convert(model.train_step), args=(data,))


def _strategy_of(model: Any) -> Any:
    """The strategy that a model was made under, None where the user chose none."""
    strategy = getattr(model, "distribute_strategy", None)
    return None if isinstance(strategy, private.DefaultStrategy) else strategy


def _build(model: Any, data: tuple[Any, ...]) -> None:
    """Make the variables of layers and metrics. Those of the optimizer are made by the step, as with ``fit``: it may make more layers first."""
    build = getattr(model, "_symbolic_build", None)
    if build is None or getattr(model, "run_eagerly", False):  # tf_keras makes them while it traces; an eager model may hold what no graph can
        return
    if not _can_be_called(model):  # as with ``fit``, its own ``train_step`` makes what is not made yet
        return
    strategy = _strategy_of(model)
    try:
        with nullcontext() if strategy is None else strategy.scope(), _as_if_built(None if strategy else model.optimizer):
            build(data_batch=tuple(_symbolic(part) for part in data))
    except Exception as error:  # whatever the layers of the user's raise belongs in the message
        name = model_name(model)
        told = str(error.__cause__ or error.__context__ or error).strip().split("\n")[0]
        raise TraceFailed(f"The model {name} cannot be built from this batch ({told}): call it on a batch first, {name}(x), to see where.") from error


@contextmanager
def _as_if_built(optimizer: Any) -> Iterator[None]:
    """Keeps Keras from building ``optimizer`` now, for the variables there are, after which it would take no others."""
    if optimizer is None or optimizer.built:
        yield
        return
    optimizer.built = True
    try:
        yield
    finally:
        optimizer.built = False


def _can_be_called(model: Any) -> bool:
    """Whether the model says what it computes: one with a ``train_step`` of its own (a GAN, say) need not."""
    return getattr(type(model), "call", None) is not sys.modules["keras"].Model.call


def _symbolic(part: Any) -> Any:
    """Specs as something that has a shape and a dtype that Keras can read."""
    symbol = sys.modules["keras"].KerasTensor
    return tf.nest.map_structure(lambda t: symbol(tuple(t.shape), t.dtype.name) if isinstance(t, tf.TensorSpec) else t, part)

"""Leaving the backward pass out of a trace that nobody runs: gradients are zeros, and optimizers apply nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.patches import Patches
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import is_variable


def zeros_for(sources: Any) -> Any:
    """A gradient of zeros for each of ``sources``, None for what cannot have one, in the same structure."""
    return tf.nest.map_structure(_zeros, sources)


def _zeros(source: Any) -> Any:
    if not is_tensor(source):
        return None
    tensor = source if is_variable(source) else tensor_of(source)
    dtype = tf.as_dtype(tensor.dtype)
    if not private.is_trainable(dtype):
        return None
    shape = tf.TensorShape(tensor.shape)
    return tf.zeros(shape, dtype) if shape.is_fully_defined() else tf.zeros_like(tensor)


def idle_optimizers(patches: Patches, has_to_work: Callable[[], bool]) -> None:
    """Keras optimizers update nothing while ``patches`` stand, unless one ``has_to_work``: an outer tape records it, or it is another thread's."""
    for module, method in (("keras", "apply"), ("tf_keras", "apply_gradients")):
        optimizers = getattr(sys.modules.get(module), "optimizers", None)
        if optimizers is not None:
            patches.wrap(optimizers.Optimizer, method, _unless(has_to_work))


def _unless(has_to_work: Callable[[], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            return original(optimizer, *args, **kwargs) if has_to_work() else optimizer.iterations

        return apply

    return make

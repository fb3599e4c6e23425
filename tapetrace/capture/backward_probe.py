"""Ask the backward function of an eager ``tf.custom_gradient`` what its results depend on, as `tapetrace.capture.probe` asks registered ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.dependence import Value, trace_dependence
from tapetrace.capture.probe import SCRATCH, ask_alone, dependence_bits


def ask_backward(backward: Callable[..., Any], incoming: Sequence[Any]) -> list[int | None] | None:
    """For each input None, or a number whose bit ``j`` says that its gradient depends on that of output ``j``.

    ``incoming`` are the gradients of the outputs that the function was called with, or their specs if it was not. It is called once more, with
    placeholders, in a graph that nobody runs. None when it cannot be: it reads values in Python, for one.
    """
    try:
        return ask_alone(lambda: _answer(backward, incoming))
    except Exception:  # whatever a function of the user's raises when it meets a graph
        return None


def _answer(backward: Callable[..., Any], incoming: Sequence[Any]) -> list[int | None]:
    scratch = private.FuncGraph(SCRATCH, collections={})
    with scratch.as_default():
        given: list[Any] = []
        known: dict[str, Value] = {}
        for j, gradient in enumerate(incoming):
            if not (tf.is_tensor(gradient) or isinstance(gradient, tf.TensorSpec)) or not _is_differentiable(gradient.dtype):
                given.append(gradient)
                continue
            placeholder = tf.compat.v1.placeholder(gradient.dtype, gradient.shape)
            known[placeholder.name] = Value(1 << j)
            given.append(placeholder)
        outgoing = backward(*given)
        gradients = list(outgoing) if isinstance(outgoing, (list, tuple)) else [outgoing]
        values = trace_dependence(scratch, known, linear=False)
        return [dependence_bits(g, values, linear=False) for g in gradients]


def _is_differentiable(dtype: tf.DType) -> bool:
    return private.is_trainable(dtype) and dtype not in (tf.resource, tf.variant)

"""Ask TensorFlow's own gradient function about one op.

The op is copied into a scratch graph with placeholders for its inputs and for the gradients of its outputs; the gradient function builds its
answer there, and the answer is looked at: which input gradients are None, and which depend on which output gradient. Nothing is ever run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.dependence import NOTHING, Value, trace_dependence
from tapetrace.capture.replicas import one_for_all

SCRATCH = "tapetrace_probe"
"""Name of every scratch graph: a gradient call made in one (``tf.recompute_grad`` makes some) is not the user's."""

LARGEST_CONSTANT = 64
"""Constants of up to this many elements are copied with their values: axes, shapes, paddings, permutations."""

PATIENCE = 60.0
"""Seconds after which a gradient function is given up."""

NOT_COPIED = frozenset(["_class", "_output_shapes"])
"""Attributes that name other ops of the user's graph, or repeat what inputs say."""


class ProbeFailed(Exception):
    """The gradient function could not be asked or would not answer; the message says why in one line."""


class GradientDisabled(Exception):
    """The gradient function forbids to differentiate (PreventGradient)."""


def ask(op: Any, gradient_function: Callable[..., Any], linear: bool) -> list[int | None]:
    """For each input of ``op`` None, or a number whose bit ``j`` says that its gradient depends on that of output ``j``.

    ``linear``: the function computes a vector-Jacobian product, as all of TensorFlow's do and a user's may not.
    Raises `ProbeFailed`, or `GradientDisabled`.
    """
    try:
        return ask_alone(lambda: _answer(op, gradient_function, linear, zeros=True))
    except LookupError as error:
        if linear and type(error) is LookupError:
            raise GradientDisabled from error
        first: Exception = error
    except Exception as error:
        first = error
    try:
        # Tapes hand zeros for an output that has no gradient, tf.gradients and function bodies hand None.
        return ask_alone(lambda: _answer(op, gradient_function, linear, zeros=False))
    except Exception:
        lines = str(first).strip().splitlines() or [""]
        raise ProbeFailed(f"{type(first).__name__}: {lines[0][:200]}") from first


def ask_alone(question: Callable[[], list[int | None]]) -> list[int | None]:
    """Run ``question`` in a thread of its own, which has no tape, no graph, no device and no strategy, but lets the question open tapes.

    ``stop_recording`` would silence those too, and ``tf.recompute_grad`` needs one.
    """
    answer: list[list[int | None]] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(question())
        except BaseException as error:  # the edge of the thread: raised again by the caller
            failure.append(error)

    thread = threading.Thread(target=run, name=SCRATCH, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if failure:
        raise failure[0]
    if not answer:
        raise TimeoutError(f"no answer after {PATIENCE:.0f} seconds")
    return answer[0]


def _answer(op: Any, gradient_function: Callable[..., Any], linear: bool, zeros: bool) -> list[int | None]:
    scratch = private.FuncGraph(SCRATCH, collections={})
    with scratch.as_default():
        inputs = [_stand_in(t) for t in op.inputs]
        attributes = {k: v for k, v in op.node_def.attr.items() if k not in NOT_COPIED}
        copy = private.copy_operation(scratch, op, inputs, attributes)
        for original, output in zip(op.outputs, copy.outputs, strict=True):
            private.copy_handle_data(original, output)
        incoming: list[Any] = []
        known: dict[str, Value] = {}
        for j, output in enumerate(op.outputs):
            if private.is_trainable(output):
                gradient = _gradient_placeholder(output)
                known[gradient.name] = Value(1 << j)
            else:
                gradient = tf.zeros_like(copy.outputs[j]) if zeros else None
            incoming.append(gradient)
        with one_for_all() if not linear else nullcontext():
            outgoing = gradient_function(copy, *incoming)
        gradients = list(outgoing) if isinstance(outgoing, (list, tuple)) else [outgoing]
        if len(gradients) != len(op.inputs):
            raise ValueError(f"{len(gradients)} gradients returned for {len(op.inputs)} inputs")
        values = trace_dependence(scratch, known, linear)
        return [dependence_bits(g, values, linear) for g in gradients]


ALL_OUTPUTS = -1
"""As an answer, each bit of it is set."""


def dependence_bits(gradient: Any, values: dict[str, Value], linear: bool) -> int | None:
    """What a gradient depends on, None for one that is None.

    A user's gradient function may leave the incoming gradient out and yet return numbers, as GPflow's does where it knows that 1 comes in. What is
    not zero whatever is fed counts as depending on all.
    """
    while isinstance(gradient, tf.IndexedSlices):
        gradient = gradient.values
    if gradient is None:
        return None
    if not tf.is_symbolic_tensor(gradient):
        # A Python number or an eager tensor: made of constants alone.
        return 0 if linear or not np.any(np.asarray(gradient)) else ALL_OUTPUTS
    value = values.get(gradient.name, NOTHING)
    return value.depends if value.depends or linear or value.zero else ALL_OUTPUTS


def _stand_in(tensor: Any) -> Any:
    """What takes the place of an input in the scratch graph: the same small constant, else a placeholder."""
    if is_small_constant(tensor):
        return private.copy_operation(tf.compat.v1.get_default_graph(), tensor.op, [], dict(tensor.op.node_def.attr)).outputs[0]
    placeholder = tf.compat.v1.placeholder(tensor.dtype, tensor.shape)
    private.copy_handle_data(tensor, placeholder)
    return placeholder


def is_small_constant(tensor: Any) -> bool:
    return tensor.op.type == "Const" and (tensor.shape.num_elements() or 0) <= LARGEST_CONSTANT


def _gradient_placeholder(output: Any) -> Any:
    if output.dtype != tf.resource:
        gradient = tf.compat.v1.placeholder(output.dtype, output.shape)
        private.copy_handle_data(output, gradient)
        return gradient
    held = private.handle_data_of(output)  # the gradient of a variable's handle is that of its value
    if held is None or not held.is_set or len(held.shape_and_type) != 1:
        return tf.compat.v1.placeholder(tf.float32)
    return tf.compat.v1.placeholder(tf.as_dtype(held.shape_and_type[0].dtype), tf.TensorShape(held.shape_and_type[0].shape))

"""Breaks to be planted, one for each cause: functions that hand a tensor on without its gradient.

Each cuts the gradient on one line, marked ``planted``; what a tape did not record is located in the function that opened the tape.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.model.words import Cause, Verdict

TAPES: list[tf.GradientTape] = []
"""The tape of the step that is being traced, for a function that stops it."""


@dataclass(frozen=True)
class Plant:
    """``cut`` takes a float tensor and gives back one of its shape. ``types``: of the op that is the break; empty: any. An eager run has others:
    there ``numpy_function`` is no op, but its result enters as a constant."""

    name: str
    cut: Callable[[Any], Any]
    cause: Cause
    types: frozenset[str]
    verdict: Verdict
    accepts: Callable[[tuple[int, ...]], bool] = lambda shape: True

    def place(self, step: Callable[..., Any], of_function: str = "") -> tuple[str, int]:
        """File and line where the report should point, for a cut in ``step``, whose line that calls ``of_function`` is marked as well."""
        if self.cause is Cause.RECORDING_STOPPED:
            return marked_line(step, f"calls {of_function}".strip())
        return marked_line(self.cut, "planted")


def marked_line(function: Any, mark: str) -> tuple[str, int]:
    """The file, and the number of the line in the source of ``function`` that ends in the comment ``mark``."""
    lines, first = inspect.getsourcelines(inspect.unwrap(function))
    (offset,) = [i for i, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    return inspect.getsourcefile(inspect.unwrap(function)) or "", first + offset


def stop(x: Any) -> Any:
    return tf.stop_gradient(x)  # planted


def round_off(x: Any) -> Any:
    return tf.round(x * 4.0) / 4.0  # planted


def sign(x: Any) -> Any:
    return tf.sign(x)  # planted


def to_int_and_back(x: Any) -> Any:
    whole = tf.cast(x * 10.0, tf.int32)  # planted
    return tf.cast(whole, x.dtype)


def hard_choice(x: Any) -> Any:
    best = tf.argmax(x, axis=-1)  # planted
    return tf.ones_like(x) * tf.cast(best, x.dtype)[..., tf.newaxis]  # one_hot would be a break of its own: it takes integers only


def through_numpy(x: Any) -> Any:
    y = tf.numpy_function(np.tanh, [x], tf.float32)  # planted
    return tf.ensure_shape(y, x.shape)


def through_python(x: Any) -> Any:
    y = tf.py_function(tf.tanh, [x], tf.float32)  # planted
    return tf.ensure_shape(y, x.shape)


def contrast(x: Any) -> Any:
    return tf.image.adjust_contrast(x, 1.5)  # planted


def snapshot(x: Any) -> Any:
    return tf.raw_ops.Snapshot(input=x)  # planted


def from_hsv(x: Any) -> Any:
    rgb = tf.image.hsv_to_rgb(tf.sigmoid(x[..., :3]))  # planted
    grey = tf.reduce_mean(rgb, axis=-1, keepdims=True)
    return tf.tile(grey, [1] * (len(x.shape) - 1) + [x.shape[-1]])


@tf.custom_gradient
def _without_gradient(x: Any) -> Any:
    return x * 1.0, lambda dy: None


@tf.custom_gradient
def _with_zeros(x: Any) -> Any:
    return x * 1.0, lambda dy: tf.zeros_like(dy)


def custom_none(x: Any) -> Any:
    return _without_gradient(x)  # planted


def custom_zero(x: Any) -> Any:
    return _with_zeros(x)  # planted


def stop_recording(x: Any) -> Any:
    with TAPES[-1].stop_recording():
        return tf.tanh(x)


def reduce_dataset(x: Any) -> Any:
    return tf.data.Dataset.from_tensors(x).reduce(tf.zeros(x.shape), tf.add)  # planted


def write_and_read(memory: tf.Variable) -> Callable[[Any], Any]:
    def through_variable(x: Any) -> Any:
        memory.assign(x)  # planted
        return memory.read_value()

    return through_variable


def _has_colours(shape: tuple[int, ...]) -> bool:
    return shape[-1] >= 3


def _plant(name: str, cut: Any, cause: Cause, types: str, verdict: Verdict = Verdict.NONE, accepts: Any = lambda shape: True) -> Plant:
    return Plant(name, cut, cause, frozenset(types.split()), verdict, accepts)


PLANTS = {
    p.name: p
    for p in (
        _plant("stop_gradient", stop, Cause.STOP_GRADIENT, "StopGradient"),
        _plant("round", round_off, Cause.GRADIENT_IS_NONE, "Round"),
        _plant("sign", sign, Cause.GRADIENT_IS_ZERO, "Sign", Verdict.ZERO),
        _plant("int_cast", to_int_and_back, Cause.NON_FLOAT, "Cast"),
        _plant("argmax", hard_choice, Cause.NON_FLOAT, "ArgMax"),
        _plant("numpy_function", through_numpy, Cause.PYTHON_FUNCTION, "PyFunc Const Captured"),
        _plant("py_function", through_python, Cause.PYTHON_FUNCTION, "EagerPyFunc", Verdict.OPAQUE),
        _plant("contrast", contrast, Cause.NO_GRADIENT_REGISTERED, "AdjustContrastv2", Verdict.ERROR, lambda shape: len(shape) == 4),
        _plant("snapshot", snapshot, Cause.NO_GRADIENT_REGISTERED, "Snapshot", Verdict.ERROR),
        _plant("hsv", from_hsv, Cause.NOT_DIFFERENTIABLE, "HSVToRGB", accepts=_has_colours),
        _plant("custom_none", custom_none, Cause.CUSTOM_GRADIENT, "IdentityN CustomGradient"),
        _plant("custom_zero", custom_zero, Cause.CUSTOM_GRADIENT, "IdentityN CustomGradient", Verdict.ZERO),
        _plant("stop_recording", stop_recording, Cause.RECORDING_STOPPED, "Tanh"),
        _plant("dataset", reduce_dataset, Cause.DATASET, "TensorDataset ReduceDataset"),
    )
}


def variable_plant(shape: Iterable[int]) -> Plant:
    """The value is written into a variable and read back from it."""
    memory = tf.Variable(tf.zeros(list(shape)), trainable=False, name="memory")
    return _plant("variable", write_and_read(memory), Cause.VARIABLE_WRITE, "AssignVariableOp")

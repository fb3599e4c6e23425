"""Does the target of a gradient call move when a variable is changed? Found out by running the step eagerly, again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture.description import label_variables
from tapetrace.capture.eager_run import EagerRun
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.reruns import MUCH, Reruns
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import handle_of, is_variable

TOLERANCE = 1e-6
"""Relative difference up to which two runs count as the same: sums are not always taken in the same order."""


def variables_by_label(run: EagerRun) -> dict[str, Any]:
    """The variables that the calls of a run ask for, by the path that reports show."""
    return label_variables(run.calls(), run.recorder.labels)


def moved_targets(reruns: Reruns, variable: Any) -> Mapping[float, Sequence[bool | None]]:
    """For each amount by which ``variable`` was changed: for each call whether a target moved, None where that cannot be said.

    The amounts are 1 (a little) and, when nothing moved then, `MUCH`.
    """
    found: dict[float, list[bool | None]] = {}
    for by in (1.0, MUCH):
        if reruns.left <= 0:
            break
        other = reruns.changed([variable], find_numpy=False, by=by)
        found[by] = _compare(reruns.base, other, handle_of(variable))
        if any(found[by]):
            break
    return found


def _compare(base: EagerRun, other: EagerRun, changed: Any) -> list[bool | None]:
    calls, again = base.calls(), other.calls()
    if len(calls) != len(again):  # Python took another way
        return [True for _ in calls]
    return [_moved(a, b) for a, b in zip(calls, again, strict=True)]


def _moved(call: CallRecord, again: CallRecord) -> bool | None:
    pairs = [(a, b) for a, b in zip(call.targets, again.targets, strict=False) if is_tensor(a) and is_tensor(b)]
    values = [(_value(a), _value(b)) for a, b in pairs]
    if not values or any(a is None or b is None for a, b in values):
        return None
    return any(not _same(a, b) for a, b in values)


def _value(target: Any) -> Any:
    tensor = tensor_of(target)
    if is_variable(tensor):  # it has been put back
        return None
    return tensor.numpy() if hasattr(tensor, "numpy") and not tf.is_symbolic_tensor(tensor) else None


def _same(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" and one.dtype.kind != "V":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one.astype(np.complex128), other.astype(np.complex128), rtol=TOLERANCE, atol=1e-12, equal_nan=True))

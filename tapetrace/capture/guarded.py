"""A call of the user's that a recorder looks at: whatever goes wrong in the recorder, the user gets what TensorFlow gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tapetrace.capture.recorder import Recorder
from tapetrace.capture.replicas import MERGE, RUN

CALLS = ("gradient", "jacobian", "batch_jacobian")
TAPE_METHODS = ("_push_tape", "_pop_tape", "stop_recording", "reset", "watch", *CALLS)
SYMBOLIC = "_GradientsHelper"
"""What ``tf.gradients`` ends in."""
FORWARD = "__enter__"
"""Of a ``tf.autodiff.ForwardAccumulator``."""

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def guarded(
    recorder: Recorder, name: str, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fail: Callable[[BaseException], None]
) -> Any:
    """The call of ``original``, which is called ``name``, as ``recorder`` wraps it. A fault of ours goes to ``fail``."""
    outcome: list[tuple[bool, Any]] = []

    @wraps(original)
    def noted(*a: Any, **k: Any) -> Any:
        try:
            value = original(*a, **k)
        except BaseException:
            outcome.append((False, None))
            raise
        outcome.append((True, value))
        return value

    wrapped = _wrap(recorder, name)(noted)

    def gradients() -> Any:  # the recorder heeds calls of tf.gradients from a function of this name
        return wrapped(*args, **kwargs)

    try:
        return gradients()
    except Exception as error:
        if outcome and not outcome[-1][0]:
            raise
        fail(error)
        return outcome[-1][1] if outcome else original(*args, **kwargs)


def _wrap(recorder: Recorder, name: str) -> Wrap:
    if name in CALLS:
        return recorder._wrap_gradient(name)
    wraps_of: dict[str, Wrap] = {
        "_push_tape": recorder._wrap_push,
        "_pop_tape": recorder._wrap_pop,
        "stop_recording": recorder._wrap_stop,
        "reset": recorder._wrap_reset,
        "watch": recorder._wrap_watch,
        SYMBOLIC: recorder._wrap_symbolic,
        FORWARD: recorder._wrap_forward,
        RUN: recorder._wrap_run,
        MERGE: recorder._wrap_elsewhere,
    }
    return wraps_of[name]

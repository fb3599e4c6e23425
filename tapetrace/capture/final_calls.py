"""Which of the gradient calls that were seen belong to the step as it will run.

TensorFlow traces some code more than once and throws the first trace away: a function that makes variables, a loop whose body gives a new name a
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.values import name_of
from tapetrace.capture.variables import handle_of, is_variable


def final_calls(calls: Sequence[CallRecord]) -> list[CallRecord]:
    """The calls without those that were made once more, by the same line for the same sources, in a later trace of the same code."""
    last = [c for c in calls if c.root is calls[-1].root]
    return [c for i, c in enumerate(last) if _is_in_use(c) or not any(_repeats(later, c) for later in last[i + 1 :])]


def _is_in_use(call: CallRecord) -> bool:
    """Whether each graph around the call became a function of the graph around it."""
    return all(private.has_function(outer, inner) for inner, outer in zip(call.around, call.around[1:], strict=False))


def _repeats(later: CallRecord, call: CallRecord) -> bool:
    return (
        later.graph is not call.graph
        and later.kind == call.kind
        and later.location == call.location
        and [_identity(s) for s in later.sources] == [_identity(s) for s in call.sources]
    )


def _identity(source: Any) -> Any:
    return id(handle_of(source)) if is_variable(source) else name_of(source)

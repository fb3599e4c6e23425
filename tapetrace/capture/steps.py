"""What is given to `check` becomes a callable and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tapetrace.capture.locations import Locator
from tapetrace.capture.trace_step import trace_step
from tapetrace.model.trace import Trace


def trace(step: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, specs: Sequence[str] | None, verify: bool, target: str) -> Trace:
    return trace_step(step, args, kwargs, target=target or getattr(step, "__name__", "step"), locator=Locator(), verify=verify)

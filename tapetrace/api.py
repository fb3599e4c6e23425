"""The Python API: check a step, assert that it is connected, read a saved report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tapetrace.analysis.analyse import analyse
from tapetrace.errors import OutputError, ReportError, UsageError
from tapetrace.model.report import Report

MODES = ("auto", "graph")


def check(
    step: Callable[..., Any] | str | Any,
    *args: Any,
    specs: Sequence[str] | None = None,
    mode: str = "auto",
    verify: bool = True,
    numeric: bool = False,
    target: str = "",
    **kwargs: Any,
) -> Report:
    """Does a real gradient reach every source of every gradient call that ``step`` makes, and if not, which line cuts it?"""
    from tapetrace.capture.steps import trace

    if mode not in MODES:
        raise UsageError(f"mode={mode!r} is not one of {', '.join(MODES)}.")
    return analyse(trace(step, args, kwargs, specs=specs, verify=verify, target=target))

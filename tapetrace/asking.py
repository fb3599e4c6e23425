"""From what was typed to a report: the target, its arguments, the settings."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapetrace.config import Mode, Settings
from tapetrace.destinations import check_destinations
from tapetrace.errors import UsageError

if TYPE_CHECKING:
    from tapetrace.model.report import Report
    from tapetrace.targets import Arguments

MOST_SETS = 8
"""Sets of arguments that a generator or data set is asked for: those that differ in shapes, dtypes or Python values are checked."""


def one_mode(mode: Mode | None, eager: bool) -> Mode | None:
    """The mode that was typed, as ``--mode`` or as ``--eager``."""
    if eager and mode not in (None, Mode.EAGER):
        raise UsageError(f"--eager and --mode {mode.value} ask for two modes, use one of them")
    return Mode.EAGER if eager else mode


def check_before_tracing(settings: Settings, specs: list[str], args: str | None, files: list[Path]) -> None:
    """Refuse what can be refused before minutes go into importing and tracing."""
    from tapetrace.specs import parse_spec

    if specs and args is not None:
        raise UsageError("--spec and --args both give the arguments of the step, use one of them")
    for text in specs:
        parse_spec(text)
    check_destinations(files)


def trace(target: str, specs: list[str], args: str | None, settings: Settings, asked: dict[str, Any]) -> Report:
    from tapetrace.capture.environment import quiet_tensorflow, require_installed, require_tensorflow
    from tapetrace.capture.history import watching_imports
    from tapetrace.targets import load_target

    quiet_tensorflow()
    require_installed()
    with watching_imports():
        step = load_target(target)
        require_tensorflow()  # after the user's module, which may choose the backend and the devices
        sets = _argument_sets(args) if args is not None else [((), {})]
    from tapetrace import api

    taken = sorted({name for _, keywords in sets for name in signature(api.check).parameters.keys() & keywords.keys()})
    if taken:
        raise UsageError(f"the step cannot be given an argument named {taken[0]!r} by --args, give it by position")
    options: dict[str, Any] = {"specs": specs or None, "mode": settings.mode.value, "target": target}
    options |= {"verify": not settings.quick, "numeric": settings.numeric}
    options |= {name: value for name, value in asked.items() if value}
    if len(sets) > 1:
        return api.check_each(step.value, sets, **options)
    ((positional, keywords),) = sets
    return api.check(step.value, *positional, **options, **keywords)


def _argument_sets(args: str) -> list[Arguments]:
    """The sets of arguments that differ in more than their numbers, among the first that ``args`` gives."""
    from itertools import islice

    from tapetrace.capture.observed_inputs import describe_arguments
    from tapetrace.errors import TargetError
    from tapetrace.targets import argument_sets

    different: dict[str, Arguments] = {}
    for positional, keywords in islice(argument_sets(args), MOST_SETS):
        different.setdefault(repr(describe_arguments((positional, keywords))), (positional, keywords))
    if not different:
        raise TargetError(f"{args} gives no arguments: it is empty, let it hold at least one batch")
    return list(different.values())

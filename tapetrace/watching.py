"""``watch``: the gradient calls of a program that runs as it is, seen while it runs and judged when it has run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tapetrace.errors import TapetraceError, TraceFailed, UsageError
from tapetrace.model.report import Report
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause

if TYPE_CHECKING:
    from tapetrace.capture.observer import Observed

_INTERRUPTED = "it was interrupted: the report speaks of what was seen until then"
_MAY_HAVE_LEFT = (
    "what never reaches the loss may have left TensorFlow on its way there, by `.numpy()` or `float()`: `tapetrace check` of the step runs it again, "
    "and finds that line"
)


def watch(*, frozen: Sequence[str] = ()) -> Watched:
    """Look on while existing code runs, unchanged, and say afterwards whether a real gradient reached every source of every gradient call in it.

    Seen are the gradient calls in all graphs that are traced inside (each trace of a ``tf.function``, the training function of ``model.fit``) and
    in the first executions of eager steps, in all threads. The numbers that the code computes are the same as without. A function that had been
    traced before is not traced again, so begin before its first call. ``frozen``: see `tapetrace.check`.

    >>> with tapetrace.watch() as watched:  # doctest: +SKIP
    ...     model.fit(x, y)
    >>> watched.report.ok  # doctest: +SKIP
    True
    """
    return Watched(frozen=frozen)


class Watched:
    """What `watch` gives: a context manager, and after it the ``report``. ``target`` names it, ``user_roots`` are folders of the user's own code."""

    def __init__(self, target: str = "", frozen: Sequence[str] = (), user_roots: Iterable[str | Path] = ()) -> None:
        self._target = target
        self._frozen = tuple(frozen)
        self._user_roots = tuple(user_roots)
        self._mark: int | None = None
        self._report: Report | None = None
        self._problem: TapetraceError | None = None

    def __enter__(self) -> Watched:
        if self._mark is not None:
            raise UsageError("This watch is in use already: call tapetrace.watch() again for another one.")
        from tapetrace.capture.environment import require_tensorflow

        require_tensorflow()
        from tapetrace.capture.history import watching_imports
        from tapetrace.capture.observer import observer

        if not self._target:
            frame = sys._getframe(1)
            self._target = f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        self._report = self._problem = None
        self._imports = watching_imports()
        self._imports.__enter__()
        try:
            self._mark = observer.begin(self._user_roots)
        except BaseException:
            self._imports.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from tapetrace.capture.observer import observer

        mark, self._mark = self._mark, None
        assert mark is not None
        self._imports.__exit__(None, None, None)
        try:
            self._judge(observer.end(mark, self._target), error)
        except TapetraceError as problem:
            self._problem = problem
        except Exception as fault:  # what the user's code raised must not be lost for a fault of ours
            self._problem = TraceFailed(f"What was seen could not be judged, which is a fault of tapetrace ({type(fault).__name__}: {fault}).")
            self._problem.__cause__ = fault

    @property
    def report(self) -> Report:
        """What was found. Raises `tapetrace.TapetraceError` inside the block, and when no gradient call was seen."""
        if self._problem is not None:
            raise self._problem
        if self._report is None:
            raise UsageError("There is no report yet: ask for it after the `with tapetrace.watch()` block.")
        return self._report

    def _judge(self, seen: Observed, error: BaseException | None) -> None:
        from tapetrace.analysis.analyse import analyse
        from tapetrace.analysis.frozen import apply_frozen
        from tapetrace.analysis.intermittent import name_differences
        from tapetrace.analysis.merging import merge, without_repeats
        from tapetrace.analysis.replicas import merge_replicas

        if not seen.traces:
            raise TraceFailed(_nothing_seen(self._target, seen))
        reports = [analyse(trace) for trace, _ in seen.traces]
        calls = [c for r in reports for c in r.calls]
        inputs = [i for _, found in seen.traces for i in found]
        texts = iter(name_differences([((c.kind, c.location.key if c.location else None), i) for c, i in zip(calls, inputs, strict=True)]))
        reports = [replace(r, calls=tuple(replace(c, inputs=next(texts)) for c in r.calls)) for r in reports]
        report = merge(without_repeats([merge_replicas(r) for r in reports]), self._target)
        report = replace(report, error=_as_error(error), notes=(*report.notes, *_notes(seen, error), *_untold(reports)))
        self._report = apply_frozen(report, self._frozen)


def _shown(file: str) -> str:
    try:
        path, here = Path(file), Path.cwd()
    except OSError:  # the current folder was deleted
        return file
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else file


def _as_error(error: BaseException | None) -> TraceError | None:
    """What the watched code raised, if it failed."""
    if not isinstance(error, Exception):
        return None
    from tapetrace.capture.locations import Locator
    from tapetrace.capture.trace_step import first_lines, what_was_said

    kind, message = what_was_said(error)
    return TraceError(kind, first_lines(message), Locator().locate_exception(error))


def _notes(seen: Observed, error: BaseException | None) -> list[str]:
    notes = [
        f"{at.place if at else 'a line'} was traced again and again; the first traces are told of: give the function tensors, not Python numbers"
        for at in seen.too_many
    ]
    notes += [f"something went wrong in tapetrace while it looked on ({failure}), so calls may be missing here" for failure in seen.failures]
    if isinstance(error, KeyboardInterrupt):
        notes.append(_INTERRUPTED)
    return notes


def _untold(reports: Iterable[Report]) -> list[str]:
    """What only other runs of a step can tell."""
    calls = [c for r in reports if r.mode == "eager" for c in r.calls]
    return [_MAY_HAVE_LEFT] if any(s.cause is Cause.UNUSED_RESULT for c in calls for s in c.sources) else []


def _nothing_seen(target: str, seen: Observed) -> str:
    if seen.failures:
        return f"No gradient call could be recorded in {target}, which is a fault of tapetrace ({seen.failures[0]})."
    names = [name.removeprefix("__inference_").rstrip("0123456789").rstrip("_") for name in seen.untraced]
    if names:
        shown = "fit" if "multi_step_on_iterator" in names else names[0]
        return (
            f"No gradient call was seen in {target}, but {shown} had been traced before and TensorFlow does not trace it again: "
            f"begin tapetrace.watch() before its first call, or ask tapetrace.check(…) about it."
        )
    return f"No gradient call was seen in {target}: let the code inside call tape.gradient, tf.gradients or model.fit."

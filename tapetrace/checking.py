"""How a check proceeds: trace a graph, fall back to an eager run where that cannot be traced, and follow values that leave TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tapetrace.analysis.analyse import analyse
from tapetrace.analysis.numeric import add_numbers
from tapetrace.analysis.python_numbers import floats_on_the_way
from tapetrace.analysis.replicas import merge_replicas
from tapetrace.errors import TapetraceError, TraceFailed, UsageError
from tapetrace.model.locations import Location
from tapetrace.model.privacy import short_path
from tapetrace.model.report import Report
from tapetrace.model.trace import Trace
from tapetrace.model.words import Cause

if TYPE_CHECKING:
    from tapetrace.capture.eager_numbers import EagerExperiment
    from tapetrace.capture.eager_run import EagerRun
    from tapetrace.capture.steps import Prepared

_SAID_BY_TENSORFLOW_ITSELF = frozenset({"LookupError", "StagingError"})
_NO_GRADIENTS = "No gradients provided"
_CHANGING = (
    "The step is given other values by Python each time it runs, first at {at} (random numbers of its own, a counter, a buffer): a value that leaves "
    "TensorFlow may go unnoticed, or be blamed for them. Fix the seeds, and check again."
)


def check_graph(prepared: Prepared, verify: bool, numeric: bool = False) -> Report:
    """The answer from one trace of the step, with ``numeric`` also from a run of what was traced.

    Raises `TraceFailed` when it cannot be traced and nothing was seen.
    """
    from tapetrace.capture.steps import trace

    return _answer(trace(prepared, verify), numeric)


def check_eager(prepared: Prepared, note: str = "", numeric: bool = False) -> Report:
    """The answer from one eager run of the step, followed through NumPy and Python where values left TensorFlow.

    With ``numeric`` also what the gradients were as numbers, in runs on several arguments when they are made up.
    """
    from tapetrace.capture.eager_run import run_step
    from tapetrace.capture.eager_step import trace_eagerly
    from tapetrace.capture.perturbation import find_entries
    from tapetrace.capture.reruns import Reruns
    from tapetrace.capture.steps import with_model

    if prepared.asked:
        raise UsageError(f"--loss and --variables need a graph, and {prepared.name} was to be run eagerly: let it call tape.gradient.")
    step, args, kwargs = prepared.with_values()
    run = run_step(step, args, kwargs, prepared.locator)
    if run.raised is not None and prepared.has_arrays:  # a tensor in place of an array may be what it could not do with
        kept = replace(prepared, keeps_arrays=True)
        again = run_step(*kept.with_values(), prepared.locator)
        if again.raised is None:
            prepared, run = kept, again
            step, args, kwargs = kept.with_values()
    notes = tuple(n for n in (note, *prepared.notes) if n)
    report = analyse(with_model(prepared, trace_eagerly(run, prepared.name, notes)))
    broken = list(run.variables_of((c, s) for c, call in enumerate(report.calls) for s, x in enumerate(call.sources) if x.verdict.is_broken))
    if broken and run.has_entries():
        reruns = Reruns(run, step, args, kwargs, prepared.locator)
        entered = find_entries(reruns, broken)
        changing = reruns.changing_at()
        notes += (_CHANGING.format(at=f"{short_path(changing.file)}:{changing.line}"),) if changing else ()
        if entered or changing:
            report = analyse(with_model(prepared, trace_eagerly(run, prepared.name, notes, entered)))
    return merge_replicas(add_numbers(report, _measured(prepared, run)) if numeric else report)


def _measured(prepared: Prepared, run: EagerRun) -> EagerExperiment:
    from tapetrace.capture.eager_numbers import EagerExperiment
    from tapetrace.capture.eager_run import run_step
    from tapetrace.capture.numbers import GENERATED_RUNS

    runs = [run]
    for seed in range(1, GENERATED_RUNS if prepared.is_generated else 1):
        step, args, kwargs = prepared.with_values(seed)
        runs.append(run_step(step, args, kwargs, prepared.locator))
    step, args, kwargs = prepared.with_values()
    return EagerExperiment(runs, prepared.is_generated, lambda again: run_step(step, args, kwargs, prepared.locator, again))


def check_finished(prepared: Prepared, verify: bool, running: Mapping[str, bool]) -> Report:
    """The answer for a graph that was finished before. ``running`` are options that run a step, and whether they were given.

    Nothing was returned to anybody: what TensorFlow says of a copy is held against the verdicts, and left out of the sources. Raises `UsageError`
    when one of ``running`` was given.
    """
    from tapetrace.capture.steps import trace

    wanted = next((option for option, is_given in running.items() if is_given), None)
    if wanted is not None:
        raise UsageError(f"{prepared.name} is a finished graph, and {wanted} runs a step: leave it out, or check the function that calls the graph.")
    report = _answer(trace(prepared, verify), numeric=False)
    calls = tuple(replace(c, sources=tuple(replace(s, returned=None) for s in c.sources)) for c in report.calls)
    return replace(report, calls=calls)


def check_auto(prepared: Prepared, verify: bool, numeric: bool = False) -> Report:
    """A graph if the step can be traced, otherwise an eager run, which says why."""
    from tapetrace.capture.steps import trace

    try:
        traced = trace(prepared, verify)
    except TraceFailed as failure:
        return _run_instead(prepared, str(failure), failure, numeric)
    why = _not_as_it_runs(prepared, traced)
    if why:
        try:
            report = _run_instead(prepared, why, None, numeric)
        except TapetraceError:
            return _answer(traced, numeric)
        if report.error is None or len(report.calls) > len(traced.calls):
            return report
    return _answer(traced, numeric)


def _not_as_it_runs(prepared: Prepared, traced: Trace) -> str:
    """Why the trace does not tell what the step does when it runs as it is given, or nothing."""
    if _may_go_on_eagerly(traced):
        assert traced.error is not None
        return f"The step could not be traced to its end: {traced.error.type}{_at(traced.error.location)}"
    if prepared.model is None and (places := floats_on_the_way(traced)):
        return (
            f"`float()`{_at(places[0])} makes a Python number when the step runs as it is, and keeps the tensor under tf.function, "
            "where gradient passes (mode='graph' shows that)"
        )
    return ""


def _at(location: Location | None) -> str:
    return f" at {location.place}" if location else ""


def _answer(traced: Trace, numeric: bool) -> Report:
    from tapetrace.capture.garbage import without_collections

    with without_collections():
        report = analyse(traced)
    return merge_replicas(add_numbers(report, traced.experiment) if numeric else report)


def _run_instead(prepared: Prepared, why: str, failure: TraceFailed | None, numeric: bool) -> Report:
    note = f"{why.rstrip('.')}; so it was run once, eagerly: the report speaks of the branches of that run."
    try:
        return check_eager(prepared, note, numeric)
    except TraceFailed:
        if failure is not None:
            raise failure from None
        raise


def note_missing_history(report: Report) -> Report:
    """The report, with a note when it names captured values as suspects and nobody saw from what they were computed."""
    from tapetrace.capture.history import current_history

    causes = {b.cause for c in report.calls for s in c.sources for b in s.breaks}
    if current_history() is not None or Cause.NEVER_READ not in causes or all(s.type != "Captured" for s in report.blind_spots):
        return report
    note = (
        "The module of the step was imported before tapetrace could watch: `tapetrace check FILE:FUNCTION` watches the import, "
        "and then names the variables and the line that a captured value was computed from."
    )
    return replace(report, notes=(*report.notes, note))


def _may_go_on_eagerly(trace: Trace) -> bool:
    """Whether the step failed on being a graph, and not on what it computes."""
    error = trace.error
    return error is not None and error.type not in _SAID_BY_TENSORFLOW_ITSELF and _NO_GRADIENTS not in error.message

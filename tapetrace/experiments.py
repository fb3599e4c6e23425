"""Questions that are answered by running the step again: does the loss move when a variable is changed, and do a graph and an eager run agree?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tapetrace.analysis.modes import differences
from tapetrace.analysis.movement import Movement, tell_movement
from tapetrace.checking import check_eager, check_graph
from tapetrace.errors import TapetraceError
from tapetrace.model.report import Report

if TYPE_CHECKING:
    from tapetrace.capture.reruns import Reruns
    from tapetrace.capture.steps import Prepared


def perturb(report: Report, prepared: Prepared) -> Report:
    """The report with what the loss did when each variable that no gradient reaches was changed, in eager runs of the step."""
    from tapetrace.capture.eager_run import run_step
    from tapetrace.capture.reruns import Reruns
    from tapetrace.capture.target_moves import variables_by_label

    broken = [(c, s) for c, call in enumerate(report.calls) for s, x in enumerate(call.sources) if x.verdict.is_broken and x.kind == "variable"]
    if not broken:
        return report
    step, args, kwargs = prepared.with_values()
    run = run_step(step, args, kwargs, prepared.locator)
    if run.raised is not None:
        why = f"whether the loss moves was not tried, since the step raises {type(run.raised).__name__} when it runs eagerly"
        return replace(report, notes=(*report.notes, why))
    variables = variables_by_label(run)
    reruns = Reruns(run, step, args, kwargs, prepared.locator)
    moves: dict[tuple[int, int], Movement] = {}
    known: dict[str, dict[int, Movement]] = {}
    for c, s in broken:
        label = report.calls[c].sources[s].label
        if label not in variables:
            continue
        if label not in known:
            known[label] = _movements(reruns, variables[label])
        if len(run.calls()) == len(report.calls) and c in known[label]:
            moves[c, s] = known[label][c]
        elif known[label] and len(run.calls()) != len(report.calls):
            moves[c, s] = min(known[label].values(), key=list(Movement).index)
    told = tell_movement(report, moves)
    left = len(broken) - len(moves)
    return replace(told, notes=(*told.notes, f"of {left} more sources it is not known whether the loss moves")) if left else told


def _movements(reruns: Reruns, variable: object) -> dict[int, Movement]:
    from tapetrace.capture.target_moves import moved_targets

    found: dict[int, Movement] = {}
    for by, moved in moved_targets(reruns, variable).items():
        for c, did in enumerate(moved):
            if did:
                found[c] = Movement.A_LITTLE if by == 1.0 else Movement.MUCH
            elif did is False:
                found.setdefault(c, Movement.NONE)
    return found


def compare_modes(report: Report, prepared: Prepared) -> Report:
    """The report with notes on the sources for which TensorFlow returns something else in the other mode."""
    try:
        if report.mode == "eager":
            notes = differences(check_graph(prepared, verify=True), report)
        else:
            notes = differences(report, check_eager(prepared))
    except TapetraceError as error:
        notes = (f"a graph and an eager run cannot be compared: {error}",)
    return replace(report, notes=(*report.notes, *notes))

"""The gradients of eager runs as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.eager_flows import rows_of
from tapetrace.capture.eager_run import Again, EagerRun
from tapetrace.capture.norms import INF, NAN, NORM, ZEROS, statistics_of
from tapetrace.model.locations import Location
from tapetrace.model.measurements import CallNumbers, Flow
from tapetrace.model.report import Numbers


class EagerExperiment:
    """`tapetrace.model.measurements.Experiment` on runs that are over; what happened on the way is measured in one more run like the first."""

    def __init__(self, runs: Sequence[EagerRun], generated: bool, again: Callable[[Again], EagerRun]) -> None:
        self._runs = runs
        self._again = again
        self._stacks: dict[tuple[int, str], Any] = {}
        self.generated = generated
        self.problem = ""

    def numbers(self, call: int) -> CallNumbers:
        records = [run.calls() for run in self._runs]
        # On other values Python may take other ways, and make other calls.
        made = [r[call] for r in records if len(r) == len(records[0])]
        raised = next((r.error for r in made if r.error is not None), None)
        if raised is not None:
            failed = dict.fromkeys(range(len(records[0][call].sources)), f"{raised.type}: {raised.message}")
            return CallNumbers(failed=failed, problem=f"the gradient call has no numbers, since it raises {raised.type}")
        rows = [tuple(map(_numbers, record.gradients or ())) for record in made]
        return CallNumbers(tuple(rows))

    def flow(self, call: int, sources: Sequence[int]) -> Flow | None:
        first = self._runs[0]
        record = first.calls()[call]
        if record.graph is not None or record.kind not in ("gradient", "loss"):
            return None
        run = self._again(Again(first.seed, first.recorder.functions, measured=(record.index, tuple(sources))))
        if run.meter is None or run.meter.flow is None:
            return None
        self._stacks.update({(call, name): run.log.ops[p].stack for name, p in run.meter.ops.items()})
        return run.meter.flow

    def locate(self, call: int, op: str) -> Location | None:
        stack = self._stacks.get((call, op))
        return self._runs[0].recorder.locator.locate(stack) if stack else None


def _numbers(gradient: Any) -> Numbers | None:
    if gradient is None:
        return None
    tensor = rows_of(gradient)
    if not isinstance(tensor, private.EagerTensor):  # of a call inside a function
        return None
    row = statistics_of([tensor]).numpy()[0]
    return Numbers(float(row[NORM]), int(row[ZEROS]), int(row[NAN]), int(row[INF]))

"""The gradients of eager runs as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.eager_run import EagerRun
from tapetrace.capture.norms import INF, NAN, NORM, ZEROS, statistics_of
from tapetrace.capture.values import tensor_of
from tapetrace.model.locations import Location
from tapetrace.model.measurements import CallNumbers, Flow
from tapetrace.model.report import Numbers


class EagerExperiment:
    """`tapetrace.model.measurements.Experiment` on runs that are over: what they returned, without what happened on the way."""

    def __init__(self, runs: Sequence[EagerRun], generated: bool) -> None:
        self._runs = runs
        self.generated = generated
        self.problem = ""

    def numbers(self, call: int) -> CallNumbers:
        records = [run.calls() for run in self._runs]
        # On other values Python may take other ways, and make other calls.
        made = [r[call] for r in records if len(r) == len(records[0])]
        raised = next((r.error for r in made if r.error is not None), None)
        if raised is not None:
            return CallNumbers(problem=f"the gradient call has no numbers, since it raises {raised.type}")
        rows = [tuple(map(_numbers, record.gradients or ())) for record in made]
        return CallNumbers(tuple(rows))

    def flow(self, call: int, sources: Sequence[int]) -> Flow | None:
        return None

    def locate(self, call: int, op: str) -> Location | None:
        return None


def _numbers(gradient: Any) -> Numbers | None:
    if gradient is None:
        return None
    tensor = _rows(gradient) if isinstance(gradient, tf.IndexedSlices) else tensor_of(gradient)
    if not isinstance(tensor, private.EagerTensor):  # of a call inside a function
        return None
    row = statistics_of([tensor]).numpy()[0]
    return Numbers(float(row[NORM]), int(row[ZEROS]), int(row[NAN]), int(row[INF]))


def _rows(gradient: Any) -> Any:
    """The rows that slices touch, those of equal index summed."""
    rows, place = tf.unique(tf.reshape(gradient.indices, [-1]))
    return tf.math.unsorted_segment_sum(gradient.values, place, tf.size(rows))

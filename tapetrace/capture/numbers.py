"""The gradients of a traced step as numbers: the part of its graph that they depend on is run, and nothing else of the step.

What was traced is run, so the Python code of the step does not run again; only what a ``py_function`` or ``numpy_function`` holds does.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.flows import FlowMeter
from tapetrace.capture.generated import fill_in, has_specs
from tapetrace.capture.locations import Locator
from tapetrace.capture.norms import NAN, NORM, ZEROS, as_tensor, statistics_of
from tapetrace.capture.partial_runs import PREFIX, CannotRun, Part, Values
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.restoring import all_variable_handles, restored
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import is_variable
from tapetrace.errors import TapetraceError
from tapetrace.model.locations import Location
from tapetrace.model.measurements import CallNumbers, Flow
from tapetrace.model.report import Numbers

GENERATED_RUNS = 3
"""How often generated arguments are drawn anew: a number that is zero by chance is not zero thrice."""

_FAILURES = (tf.errors.OpError, ValueError, TypeError, LookupError, RuntimeError)
"""What TensorFlow raises when a part of a graph cannot be differentiated or run."""


class StepExperiment:
    """`tapetrace.model.measurements.Experiment` on a traced step. ``concrete`` is None when the trace failed."""

    def __init__(self, calls: Sequence[CallRecord], concrete: Any, args: Sequence[Any], kwargs: Mapping[str, Any], locator: Locator) -> None:
        self._calls = calls
        self._concrete = concrete
        self._arguments: tuple[Any, Any] = (tuple(args), dict(kwargs))
        if not args and not kwargs and concrete is not None:
            self._arguments = concrete.structured_input_signature
        self._locator = locator
        self.generated = has_specs(self._arguments)
        self.problem = "" if concrete is not None else "the step was not run, since it could not be traced to its end"
        self._values: list[Values] = []

    def numbers(self, call: int) -> CallNumbers:
        record = self._calls[call]
        earlier = next((c for c in self._calls[: call + 1] if c.error is not None), None)
        if earlier is not None:
            raised = "it" if earlier is record else "an earlier call"
            return CallNumbers(problem=f"the gradient call has no numbers, since {raised} raises {earlier.error.type if earlier.error else ''}")
        try:
            gradients = self._gradients(record)
            asked = [i for i, g in enumerate(gradients) if g is not None]
            if not asked:
                return CallNumbers(((None,) * len(gradients),))
            part = Part(record.graph, [as_tensor(gradients[i]) for i in asked], statistics_of)
            return CallNumbers(tuple(_row(len(gradients), asked, self._run(record, part, n)) for n in range(self._runs)))
        except (CannotRun, TapetraceError) as problem:
            return CallNumbers(problem=str(problem))
        except _FAILURES as error:
            return self._one_by_one(record, error)

    def flow(self, call: int, sources: Sequence[int]) -> Flow | None:
        record = self._calls[call]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                meter = FlowMeter(record, sources)
            return meter.flow(self._run(record, Part(record.graph, meter.tensors, meter.reduce), 0))
        except (CannotRun, TapetraceError, *_FAILURES):
            return None

    def locate(self, call: int, op: str) -> Location | None:
        found = _operation(self._calls[call].graph, op)
        return None if found is None or not found.traceback else self._locator.locate(found.traceback)

    @property
    def _runs(self) -> int:
        return GENERATED_RUNS if self.generated else 1

    def _gradients(self, record: CallRecord) -> list[Any]:
        """What the call returned, or, for a step that only returns its loss, what it would return."""
        if record.made and record.gradients is not None:
            return [None if g is None else tensor_of(g) if not isinstance(g, tf.IndexedSlices) else g for g in record.gradients]
        with record.graph.as_default(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(tf.gradients([tensor_of(t) for t in record.targets], [tensor_of(s) for s in record.sources]))

    def _run(self, record: CallRecord, part: Part, number: int) -> Any:
        values = self._values_of(record, number)
        with restored(self._reachable(part, record)):
            feeds = values.feeds(record.graph)
            if feeds is None:
                raise CannotRun("the gradient call stands in a branch that is not taken, or where its inputs cannot be followed")
            return part.run(feeds)

    def _reachable(self, part: Part, record: CallRecord) -> list[Any]:
        """The handles of all variables that a run might write."""
        handles = [external for graph in (*record.around, record.root) for external, _ in graph.captures]
        handles += [v.handle if is_variable(v) else v for v in tf.nest.flatten(self._arguments) if is_variable(v)]
        return handles + (all_variable_handles() if part.calls_python() else [])

    def _values_of(self, record: CallRecord, number: int) -> Values:
        while len(self._values) <= number:
            args, kwargs = fill_in(self._arguments, len(self._values))
            function_type = self._concrete.function_type
            flat = function_type.unpack_inputs(private.canonicalize_inputs(args, kwargs, function_type))
            self._values.append(Values(record.root, flat))
        return self._values[number]

    # When a run fails.

    def _one_by_one(self, record: CallRecord, error: BaseException) -> CallNumbers:
        """Whose gradient it is that fails, when the way to the target does not."""
        targets = [tensor_of(t) for t in record.targets if is_tensor(t)]
        try:
            self._run(record, Part(record.graph, targets), 0)
        except (CannotRun, *_FAILURES) as forward:
            return CallNumbers(problem=self._explain(record, forward))
        row: list[Numbers | None] = []
        failed: dict[int, str] = {}
        for i, gradient in enumerate(self._gradients(record)):
            row.append(None)
            if gradient is None:
                continue
            try:
                found = self._run(record, Part(record.graph, [as_tensor(gradient)], statistics_of), 0)
                row[i] = _numbers(found.numpy()[0])
            except (CannotRun, *_FAILURES) as backward:
                failed[i] = _first_sentence(backward)
        return CallNumbers((tuple(row),), failed, self._explain(record, error) if len(failed) == len(row) else "")

    def _explain(self, record: CallRecord, error: BaseException) -> str:
        if isinstance(error, CannotRun):
            return str(error)
        place = self._place_in(record, str(error))
        on = "generated values" if self.generated else "the given values"
        mend = ": give real ones with --args module:factory, or as check(step, x, y)" if self.generated else ""
        where = f" at {place.place}, `{place.code}`" if place else ""
        return f"the step failed when it was run on {on}{where} ({type(error).__name__}: {_first_sentence(error)}), so there are no numbers{mend}"

    def _place_in(self, record: CallRecord, message: str) -> Location | None:
        """The user's line of the op that TensorFlow names in a message."""
        for name in re.findall(r"node ([\w./>-]+)", message):
            graph = record.graph
            while isinstance(graph, private.FuncGraph):
                found = _operation(graph, name.removeprefix(f"{PREFIX}/"))
                if found is not None and found.traceback:
                    return self._locator.locate(found.traceback)
                graph = graph.outer_graph
        return None


def _operation(graph: Any, name: str) -> Any:
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None


def _row(size: int, asked: Sequence[int], found: Any) -> tuple[Numbers | None, ...]:
    measured = {i: _numbers(row) for i, row in zip(asked, found.numpy(), strict=True)}
    return tuple(measured.get(i) for i in range(size))


def _numbers(row: Any) -> Numbers:
    return Numbers(float(row[NORM]), int(row[ZEROS]), int(row[NAN]), int(row[NAN + 1]))


def _first_sentence(error: BaseException) -> str:
    text = str(getattr(error, "message", "") or error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    skipped = ("Graph execution error", "Detected at node", "File ", "Node:", "[[", "Stack trace", "(most recent")
    told = next((line for line in reversed(lines) if not line.startswith(skipped)), lines[0] if lines else type(error).__name__)
    return re.sub(r"\s*\[(Op:[^]]*|\[.*)\]\s*$", "", told)[:200]

"""The verdict for each source of a gradient call, with its breaks and its route."""

from __future__ import annotations

from dataclasses import dataclass

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.dead_ends import reads_of
from tapetrace.analysis.diagnosis import Diagnosis
from tapetrace.analysis.flat import Tensor
from tapetrace.analysis.liveness import passes_opaque, passes_zeros
from tapetrace.analysis.paths import Step, breaks_on
from tapetrace.analysis.ways import Passage
from tapetrace.model.report import Break
from tapetrace.model.trace import Source
from tapetrace.model.words import Cause, Returned, Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for one source, before root causes are numbered. ``steps`` is its best path, ``chain`` its dead end if it has no path."""

    source: Source
    tensor: Tensor | None
    verdict: Verdict
    breaks: tuple[Break, ...]
    steps: tuple[Step, ...] = ()
    chain: tuple[int, ...] = ()


class Verdicts:
    """Answers for the sources of one call."""

    def __init__(self, connection: Connection, diagnosis: Diagnosis) -> None:
        self.connection = connection
        self.diagnosis = diagnosis
        self.call = connection.call
        self._read_owners = frozenset(s.owner for s in self.call.sources if s.owner and self._is_read(connection.tensor_of(s)))

    def answers(self) -> list[Answer]:
        return [self.answer(s) for s in self.call.sources]

    def _is_read(self, t: Tensor | None) -> bool:
        return t is not None and bool(reads_of(self.connection.flat, t))

    def answer(self, source: Source) -> Answer:
        t = self.connection.tensor_of(source)
        own = self._own_breaks(source, t)
        if self.call.tape_reused:
            return Answer(source, t, Verdict.ERROR, (self.diagnosis.of_call(Cause.TAPE_REUSED),), self._data_path(t))
        verdict = None if own or self._is_unseen(source, t) else self._live_verdict(t)
        if self.connection.raises and (verdict is not None or (not own and self._is_live_if_registered(t))):
            return Answer(source, t, Verdict.ERROR, self._raising_breaks(t), self._data_path(t))
        if t is None or verdict is None:
            return self._dead(source, t, own)
        steps = tuple(self.connection.live_paths.steps(t))
        if verdict is Verdict.CONDITIONAL:
            return Answer(source, t, verdict, self._branch_breaks(steps), steps)
        if verdict is Verdict.OPAQUE:
            return self._opaque(source, t, steps)
        return Answer(source, t, verdict, (), steps)

    def _data_path(self, t: Tensor | None) -> tuple[Step, ...]:
        return () if t is None else tuple(self.connection.paths.steps(t))

    def _own_breaks(self, source: Source, t: Tensor | None) -> list[Break]:
        """What bars gradient from the source before any op is looked at."""
        if not source.is_float:
            return [self.diagnosis.of_source(source, Cause.NON_FLOAT_SOURCE, f"its dtype is {source.spec.dtype}")]
        if t is None or self.connection.is_tracked(t) or self.connection.is_itself(t):
            return []
        if source.kind == "variable" and source.trainable and self.call.tape.watches_variables:
            return []  # it is not on the tape because nothing recorded reads it, and that is the break
        return [self.diagnosis.of_source(source, Cause.NOT_WATCHED)]

    def _is_unseen(self, source: Source, t: Tensor | None) -> bool:
        """Whether the tape never saw the variable read, since its handle was given to a raw op: what watches by itself watches reads."""
        return source.returned is not Returned.TENSOR and t is not None and not self.connection.is_tracked(t) and not self.connection.is_itself(t)

    def _live_verdict(self, t: Tensor | None) -> Verdict | None:
        """None for a source that is not live, nor could be."""
        live = self.connection.live
        if t is None or t not in live.maybe_opaque:
            return None
        if self.connection.is_itself(t):
            return Verdict.CONNECTED
        if not self.connection.used_since_watched(t, live.maybe_opaque, passes_opaque):
            return None
        if t in live.always:
            return Verdict.CONNECTED
        return Verdict.CONDITIONAL if t in live.possible else Verdict.OPAQUE

    def _is_live_if_registered(self, t: Tensor | None) -> bool:
        return self.connection.lacks_a_gradient and t in self.connection.live_if_registered

    def _raising_breaks(self, t: Tensor | None) -> tuple[Break, ...]:
        if not self.connection.lacks_a_gradient:
            return (self.diagnosis.of_failing_op(self.connection.failing),)
        closed = breaks_on(self._data_path(t))
        on_path = tuple(self.diagnosis.of_step(s) for s in closed)
        if on_path and (closed[0].way.raises or on_path[0].cause is Cause.NO_GRADIENT_REGISTERED):
            return on_path
        if self.connection.raising:
            return (self.diagnosis.of_raising_op(self.connection.raising[-1]),)
        said = self.call.error.message if self.call.error else ""
        return (self.diagnosis.of_call(Cause.NO_GRADIENT_REGISTERED, said),)

    def _branch_breaks(self, steps: tuple[Step, ...]) -> tuple[Break, ...]:
        found = []
        for step in steps:
            node = self.connection.flat.nodes[step.node]
            if node.kind == "arg" and step.tensor not in self.connection.live.always:
                found.append(self.diagnosis.of_branch(node))
            elif step.way.depends:
                found.append(self.diagnosis.of_some_branch(node))
        return tuple(found)

    def _opaque(self, source: Source, t: Tensor, steps: tuple[Step, ...]) -> Answer:
        breaks = tuple(self.diagnosis.of_step(s) for s in steps if s.way.passage is Passage.OPAQUE)
        verdict = Verdict.NONE if source.returned is Returned.NONE else Verdict.OPAQUE
        return Answer(source, t, verdict, breaks, steps)

    def _dead(self, source: Source, t: Tensor | None, own: list[Break]) -> Answer:
        steps = self._data_path(t)
        breaks = list(own)
        chain: list[int] = []
        if own and source.kind == "variable" and not source.trainable:
            pass  # nobody means to train it: what else stands in its way is of no interest
        elif steps:
            found = breaks_on(steps)
            if not source.is_float:  # that reading it gives an integer is said already
                found = [s for s in found if s.tensor != t]
            breaks += [self.diagnosis.of_step(s, steps) for s in found if not (own and s.way.passage is Passage.CARRIED)]
        elif t is not None and t in self.connection.targets:
            pass
        elif t is None or not self._is_read(t):
            breaks.append(self.diagnosis.unread(source, self._read_owners))
        else:
            chain = self.connection.dead_ends.chain(t)
            breaks.append(self.diagnosis.of_dead_end(source, chain))
        if not breaks:  # the target itself cannot be differentiated, or the tensor was watched after its last use
            cause = Cause.NOT_WATCHED if t in self.connection.live.maybe_opaque else Cause.NON_FLOAT
            breaks.append(self.diagnosis.of_source(source, cause))
        return Answer(source, t, self._dead_verdict(source, t), tuple(breaks), steps, tuple(chain))

    def _dead_verdict(self, source: Source, t: Tensor | None) -> Verdict:
        if source.returned is not None:
            return Verdict.ZERO if source.returned is Returned.TENSOR else Verdict.NONE
        return Verdict.ZERO if self.call.unconnected_zero or self._gets_zeros(source, t) else Verdict.NONE

    def _gets_zeros(self, source: Source, t: Tensor | None) -> bool:
        if t is None or not source.is_float or not self.connection.is_tracked(t) or t not in self.connection.zeros:
            return False
        return self.connection.used_since_watched(t, self.connection.zeros, passes_zeros)

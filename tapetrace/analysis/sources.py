"""The verdict for each source of a gradient call, with its breaks and its route."""

from __future__ import annotations

from dataclasses import dataclass

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.dead_ends import reads_of
from tapetrace.analysis.diagnosis import Diagnosis, branches_on
from tapetrace.analysis.flat import Tensor
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
        steps = [] if t is None else self.connection.paths.steps(t)
        if self.call.tape_reused:
            return Answer(source, t, Verdict.ERROR, (self.diagnosis.of_call(Cause.TAPE_REUSED),), tuple(steps))
        verdict = self._live_verdict(source, t) if not own else None
        if verdict is not None and self._raises(t):
            return Answer(source, t, Verdict.ERROR, self._raising_breaks(source, steps), tuple(steps))
        if verdict is Verdict.CONDITIONAL:
            return Answer(source, t, verdict, self._branch_breaks(steps), tuple(steps))
        if verdict is Verdict.OPAQUE:
            return self._opaque(source, t, steps)
        if verdict is Verdict.CONNECTED:
            return Answer(source, t, verdict, (), tuple(steps))
        return self._dead(source, t, own, steps)

    def _own_breaks(self, source: Source, t: Tensor | None) -> list[Break]:
        """What bars gradient from the source before any op is looked at."""
        if not source.is_float:
            return [self.diagnosis.of_source(source, Cause.NON_FLOAT_SOURCE, f"its dtype is {source.spec.dtype}")]
        if t is None or self.connection.is_tracked(t) or self.call.watched is None:
            return []
        if source.kind == "variable" and source.trainable and self.call.tape.watches_variables:
            return []  # it is not on the tape because nothing recorded reads it, and that is the break
        return [self.diagnosis.of_source(source, Cause.NOT_WATCHED)]

    def _live_verdict(self, source: Source, t: Tensor | None) -> Verdict | None:
        live = self.connection.live
        if t is None or t not in live.maybe_opaque:
            if t is not None and t in self.connection.live_if_registered:
                return Verdict.ERROR
            return None
        if not self.connection.used_since(t, source):
            return None
        if t in live.always:
            return Verdict.CONNECTED
        return Verdict.CONDITIONAL if t in live.possible else Verdict.OPAQUE

    def _raises(self, t: Tensor | None) -> bool:
        """Whether the call raises before it can hand a gradient back for this tensor."""
        return bool(self.connection.raising) and t in self.connection.live_if_registered

    def _raising_breaks(self, source: Source, steps: list[Step]) -> tuple[Break, ...]:
        on_path = [self.diagnosis.of_step(s, source) for s in breaks_on(self.connection.flat, steps)]
        if on_path and on_path[0].cause is Cause.NO_GRADIENT_REGISTERED:
            return tuple(on_path)
        return tuple(self.diagnosis.of_raising_op(n) for n in self.connection.raising[-1:])

    def _branch_breaks(self, steps: list[Step]) -> tuple[Break, ...]:
        return tuple(self.diagnosis.of_branch(c, branch) for c, branch in branches_on(self.connection, steps))

    def _opaque(self, source: Source, t: Tensor | None, steps: list[Step]) -> Answer:
        breaks = tuple(self.diagnosis.of_step(s, source) for s in steps if s.way.passage is Passage.OPAQUE)
        if source.returned is Returned.NONE:
            return Answer(source, t, Verdict.NONE, breaks, tuple(steps))
        return Answer(source, t, Verdict.OPAQUE, breaks, tuple(steps))

    def _dead(self, source: Source, t: Tensor | None, own: list[Break], steps: list[Step]) -> Answer:
        breaks = list(own)
        chain: list[int] = []
        if steps:
            found = breaks_on(self.connection.flat, steps)
            if not source.is_float:  # that reading it gives an integer is said already
                found = [s for s in found if s.tensor != t]
            breaks += [self.diagnosis.of_step(s, source) for s in found if not (own and s.way.passage is Passage.CARRIED)]
        elif t is None or not self._is_read(t):
            if not own and t not in self.connection.targets:
                breaks.append(self.diagnosis.unread(source, self._read_owners))
        else:
            chain = self.connection.dead_ends.chain(t)
            breaks.append(self.diagnosis.of_dead_end(source, chain))
        if not breaks:  # the target itself cannot be differentiated, or the tensor was watched after its last use
            cause = Cause.NOT_WATCHED if t in self.connection.live.maybe_opaque else Cause.NON_FLOAT
            breaks.append(self.diagnosis.of_source(source, cause))
        return Answer(source, t, self._dead_verdict(source, t), tuple(breaks), tuple(steps), tuple(chain))

    def _dead_verdict(self, source: Source, t: Tensor | None) -> Verdict:
        if source.returned is not None:
            return Verdict.ZERO if source.returned is Returned.TENSOR else Verdict.NONE
        return Verdict.ZERO if self.call.unconnected_zero or t in self.connection.zeros else Verdict.NONE

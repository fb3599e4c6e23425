"""What is true of a step with one or two planted cuts, worked out from the ways between its sources and its targets alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tapetrace.model.words import Cause, Verdict
from tests.models.layer_ways import Way

Ways = frozenset[Way]
Place = tuple[Cause, str, int]


@dataclass(frozen=True)
class Cut:
    """What a report must say of a planted cut: cause, types of op that it may name, line; ``verdict``: of a source that it alone cuts off.

    ``leaves_tape``: what comes out of it is on no tape, as after ``tf.stop_gradient``, which is not recorded, or an integer.
    """

    cause: Cause
    types: frozenset[str]
    verdict: Verdict
    file: str
    line: int
    leaves_tape: bool = False

    @property
    def place(self) -> Place:
        """What makes two breaks one root cause: cuts of one kind stand on the same line, and are mended together."""
        return (self.cause, self.file, self.line)


@dataclass(frozen=True)
class CallTruth:
    """One gradient call: its sources by path, with the ways from each to the target; and for each cut the ways on from there."""

    sources: tuple[tuple[str, Ways], ...]
    onward: tuple[Ways, ...]


@dataclass(frozen=True)
class Truth:
    """The right answers about a step with these cuts."""

    cuts: tuple[Cut, ...]
    calls: tuple[CallTruth, ...]

    def raises(self, call: CallTruth, mended: Collection[int] = ()) -> bool:
        """Whether gradient, be it zeros, comes to an op that has none registered. The whole call raises then, whatever its sources: TensorFlow walks
        back over all that the tape recorded."""
        return any(
            cut.verdict is Verdict.ERROR and n not in mended and self._is_recorded(n) and any(self._hands_back(way, mended) for way in call.onward[n])
            for n, cut in enumerate(self.cuts)
        )

    def _is_recorded(self, n: int) -> bool:
        """Whether a variable leads to this cut on the tape."""
        ways = [way for call in self.calls for _, found in call.sources for way in found if n in way]
        return any(not any(self.cuts[m].leaves_tape for m in way[: way.index(n)]) for way in ways)

    def _hands_back(self, way: Way, mended: Collection[int]) -> bool:
        return all(n in mended or self.cuts[n].verdict is not Verdict.NONE for n in way)

    def _consists_of(self, way: Way, *verdicts: Verdict) -> bool:
        return all(self.cuts[n].verdict in verdicts for n in way)

    def verdict(self, call: CallTruth, ways: Ways) -> Verdict:
        """Of a source from which these are the ways."""
        if self.raises(call):  # it is an error of the sources that would have gradient if all ops had one; others have none in any case
            return Verdict.ERROR if any(self._consists_of(way, Verdict.ERROR, Verdict.OPAQUE) for way in ways) else Verdict.NONE
        if () in ways:
            return Verdict.CONNECTED
        if any(self._consists_of(way, Verdict.OPAQUE) for way in ways):
            return Verdict.OPAQUE
        return Verdict.ZERO if any(self._consists_of(way, Verdict.ZERO, Verdict.OPAQUE) for way in ways) else Verdict.NONE

    def breaks(self, call: CallTruth, ways: Ways) -> set[Way]:
        """What may be named, as the cuts of one way in order from the source: a way with the fewest closed gates is shown, and any of them is right.

        Where Python code alone is on a way, it is named, or what makes the call raise; on a way that is closed anyway it is no break.
        """
        if () in ways:
            return set()
        closed = {tuple(n for n in way if self.cuts[n].verdict is not Verdict.OPAQUE) for way in ways}
        if () in closed and self.raises(call):
            return {(n,) for n, cut in enumerate(self.cuts) if cut.verdict is Verdict.ERROR}
        if () in closed:
            return {way for way in ways if self._consists_of(way, Verdict.OPAQUE)}
        fewest = min(map(len, closed))
        return {way for way in closed if len(way) == fewest}

    def cut_off(self, call: CallTruth) -> dict[str, set[Way]]:
        """The sources from which no way is open, with the breaks that may be named."""
        return {path: self.breaks(call, ways) for path, ways in call.sources if () not in ways}

    def reconnects(self, call: CallTruth, place: Place) -> set[str]:
        """The sources that mending this line alone brings back for sure: not those where Python code is still on the way."""
        mended = [n for n, cut in enumerate(self.cuts) if cut.place == place]
        if self._consists_of(tuple(mended), Verdict.OPAQUE) or self.raises(call, mended):
            return set()
        broken = {path for path, ways in call.sources if self.verdict(call, ways) not in (Verdict.CONNECTED, Verdict.OPAQUE)}
        return {path for path, ways in call.sources if path in broken and any(set(way) <= set(mended) for way in ways)}

    def most_worth(self, call: CallTruth) -> set[Place]:
        """The lines that may be ranked first: those that reconnect most; among equals those that stand in the way of most sources."""
        cut_off = self.cut_off(call)
        worth = {}
        for cut in self.cuts:
            blocked = sum(any(self.cuts[n].place == cut.place for way in ways for n in way) for ways in cut_off.values())
            if blocked or cut.verdict is Verdict.ERROR:
                worth[cut.place] = (len(self.reconnects(call, cut.place)), blocked)
        return {place for place, value in worth.items() if value == max(worth.values())}

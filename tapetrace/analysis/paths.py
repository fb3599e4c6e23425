"""The data path from each source to the target that crosses the fewest breaks, for all sources in one search."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tapetrace.analysis.flat import Flat, Tensor
from tapetrace.analysis.liveness import Live
from tapetrace.analysis.ways import Passage, Way
from tapetrace.model.words import Cause

_NOT_RECORDED = frozenset({Cause.OUTSIDE_TAPE, Cause.RECORDING_STOPPED})
_BREAKS = frozenset({Passage.CLOSED, Passage.INDEX})
_AFTER_BACKWARD = 3
"""Extra cost of a write that stores the result of a gradient call: through an optimizer's update everything hangs together somehow."""

Stretch = Cause | None
"""Which stretch of unrecorded ops a path is in. It goes on through gates that are closed anyway, until one is open."""

Price = Callable[[Tensor, int, Way], int | None]
"""(tensor, node that reads it, way) → what the step costs, None for no step"""


@dataclass(frozen=True, slots=True)
class Step:
    """One gate on a path: from ``tensor`` through input ``input_index`` of ``node`` to its output ``output_index``."""

    tensor: Tensor
    node: int
    input_index: int
    output_index: int
    way: Way


@dataclass(slots=True)
class Paths:
    """``cost[t]``: what the best path from tensor ``t`` to the targets costs, in breaks."""

    cost: dict[Tensor, int] = field(default_factory=dict)
    _states: dict[Tensor, list[Stretch]] = field(default_factory=dict)
    _after: dict[tuple[Tensor, Stretch], tuple[Step, Stretch]] = field(default_factory=dict)

    def steps(self, start: Tensor) -> list[Step]:
        """The best path from ``start`` to a target, in the direction of the data. Empty when ``start`` is a target or has no path."""
        path: list[Step] = []
        if start not in self.cost:
            return path
        at = (start, self._states[start][0])
        while at in self._after:
            step, stretch = self._after[at]
            path.append(step)
            at = ((step.node, step.output_index), stretch)
        return path

    def _settle(self, t: Tensor, stretch: Stretch, cost: int) -> bool:
        """Whether the state is new: at the same cost, being in a stretch is better than not, and two stretches cannot be compared."""
        known = self._states.get(t)
        if known is None:
            self.cost[t] = cost
            self._states[t] = [stretch]
            return True
        if stretch is None or stretch in known or cost > self.cost[t]:
            return False
        known.append(stretch)
        return True


def _search(flat: Flat, targets: Iterable[Tensor], price: Price) -> Paths:
    """0-1 breadth-first search backwards from the targets. A stretch of unrecorded ops is paid for once."""
    paths = Paths()
    levels: dict[int, deque[tuple[Tensor, Stretch, Step | None, Stretch]]] = {0: deque((t, None, None, None) for t in targets)}
    settle, after = paths._settle, paths._after
    while levels:
        level = min(levels)
        queue = levels[level]
        while queue:
            t, stretch, step, beyond = queue.popleft()
            if not settle(t, stretch, level):
                continue
            if step is not None:
                after[t, stretch] = (step, beyond)
            n, j = t
            node = flat.nodes[n]
            for i, u in enumerate(node.inputs):
                way = node.way(i, j)
                cost = price(u, n, way)
                if cost is None:
                    continue
                there = stretch
                if way.cause in _NOT_RECORDED:
                    cost = 0 if way.cause is stretch else cost
                    there = way.cause
                elif way.passage is Passage.OPEN:
                    there = None
                if there is None and paths.cost.get(u, level + cost) < level + cost:
                    continue
                levels.setdefault(level + cost, deque()).append((u, there, Step(u, n, i, j, way), stretch))
        del levels[level]
    return paths


def find_paths(flat: Flat, targets: Iterable[Tensor]) -> Paths:
    """The paths over every gate that data flows through."""

    def price(t: Tensor, node: int, way: Way) -> int | None:
        if way.passage is Passage.OPEN or way.passage is Passage.CARRIED:
            return 0
        if way.passage is Passage.NO_DATA:
            return None
        return 1 + _AFTER_BACKWARD if way.cause is Cause.VARIABLE_WRITE and flat.nodes[node].from_backward else 1

    return _search(flat, targets, price)


def find_live_paths(flat: Flat, targets: Iterable[Tensor], live: Live) -> Paths:
    """The paths that gradient takes, through the fewest Python functions and the fewest branches that must be taken."""

    def price(t: Tensor, node: int, way: Way) -> int | None:
        if way.passage is Passage.OPAQUE:
            return 1
        if way.passage is not Passage.OPEN:
            return None
        return 1 if way.depends or (flat.nodes[node].kind == "arg" and t not in live.always) else 0

    return _search(flat, targets, price)


def breaks_on(steps: Iterable[Step]) -> list[Step]:
    """The steps of a path that are breaks, in the direction of the data; a stretch of unrecorded ops counts once, at its beginning. Where nothing
    but integers is handed on, the first of these steps."""
    found: list[Step] = []
    carried: Step | None = None
    stretch: Stretch = None
    for step in steps:
        cause = step.way.cause
        if step.way.passage in _BREAKS and not (cause in _NOT_RECORDED and cause is stretch):
            found.append(step)
        if cause in _NOT_RECORDED:
            stretch = cause
        elif step.way.passage is Passage.OPEN:
            stretch = None
        elif step.way.passage is Passage.CARRIED and carried is None:
            carried = step
    return found or ([carried] if carried else [])

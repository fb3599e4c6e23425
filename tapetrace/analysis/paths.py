"""The data path from each source to the target that crosses the fewest breaks, for all sources in one search."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from tapetrace.analysis.flat import Flat, Tensor
from tapetrace.analysis.ways import Passage, Way
from tapetrace.model.words import Cause

_NOT_RECORDED = frozenset({Cause.OUTSIDE_TAPE, Cause.RECORDING_STOPPED})
_LEAVES = frozenset({"Variable", "Argument", "Captured", "Const", "Placeholder"})
_AFTER_BACKWARD = 3
"""Extra cost of a write that stores the result of a gradient call: through an optimizer's update everything hangs together somehow."""


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
    """``cost[t]``: how many breaks lie between tensor ``t`` and the targets on the best path; ``after[t]``: its first step."""

    flat: Flat
    cost: dict[Tensor, int]
    after: dict[Tensor, Step]

    def steps(self, start: Tensor) -> list[Step]:
        """The best path from ``start`` to a target, in the direction of the data. Empty when ``start`` is a target or has no path."""
        path: list[Step] = []
        t = start
        while t in self.after:
            step = self.after[t]
            path.append(step)
            t = (step.node, step.output_index)
        return path


def _is_leaf(flat: Flat, t: Tensor) -> bool:
    node = flat.nodes[t[0]]
    return not node.inputs or node.type in _LEAVES


def _step_cost(flat: Flat, t: Tensor, node: int, way: Way) -> int:
    if way.passage in (Passage.OPEN, Passage.CARRIED):
        return 0
    if way.cause in _NOT_RECORDED:
        # A stretch of unrecorded ops is one break: it is paid for where it begins.
        before = flat.nodes[t[0]]
        return 1 if _is_leaf(flat, t) or before.recording is not flat.nodes[node].recording else 0
    if way.cause is Cause.VARIABLE_WRITE and flat.nodes[node].from_backward:
        return 1 + _AFTER_BACKWARD
    return 1


def find_paths(flat: Flat, targets: Iterable[Tensor], skip_backward: bool = False) -> Paths:
    """0-1 breadth-first search backwards from the targets over every gate that data flows through."""
    cost: dict[Tensor, int] = {}
    after: dict[Tensor, Step] = {}
    levels: dict[int, deque[tuple[Tensor, Step | None]]] = {0: deque((t, None) for t in targets)}
    level = 0
    while levels:
        if level not in levels:
            level = min(levels)
        queue = levels[level]
        while queue:
            t, step = queue.popleft()
            if t in cost:
                continue
            cost[t] = level
            if step is not None:
                after[t] = step
            n, j = t
            node = flat.nodes[n]
            for i, u in enumerate(node.inputs):
                if u in cost:
                    continue
                way = node.way(i, j)
                if way.passage is Passage.NO_DATA:
                    continue
                price = level + _step_cost(flat, u, n, way)
                levels.setdefault(price, deque()).append((u, Step(u, n, i, j, way)))
        del levels[level]
    return Paths(flat, cost, after)


def breaks_on(flat: Flat, steps: list[Step]) -> list[Step]:
    """The steps of a path that are breaks, in the direction of the data; a stretch of unrecorded ops counts once, at its beginning."""
    found: list[Step] = []
    unrecorded: Cause | None = None
    for step in steps:
        cause = step.way.cause
        if step.way.passage is Passage.CLOSED:
            if cause in _NOT_RECORDED and cause is unrecorded:
                continue
            found.append(step)
        if step.way.passage is Passage.OPEN or cause in _NOT_RECORDED:
            unrecorded = cause if cause in _NOT_RECORDED else None
    if not found:
        found = [s for s in steps if s.way.passage is Passage.CARRIED][:1]
    return found

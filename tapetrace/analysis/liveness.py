"""Which tensors are live: reached from the targets backwards through open gates. Each pass is linear in the edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tapetrace.analysis.flat import Flat, Tensor
from tapetrace.analysis.ways import Passage, Way
from tapetrace.model.words import Cause

Accept = Callable[[int, int, int, Way], bool]
"""(node, input index, output index, way) → does gradient pass?"""


@dataclass(frozen=True, slots=True)
class Live:
    """``always``: live whatever branches are taken. ``possible``: live in some branch. ``maybe_opaque``: live if Python code, or an op that could
    not be probed, lets gradient through. Each set holds the one before it."""

    always: set[Tensor]
    possible: set[Tensor]
    maybe_opaque: set[Tensor]


def passes_open(node: int, i: int, j: int, way: Way) -> bool:
    return way.passage is Passage.OPEN


def passes_opaque(node: int, i: int, j: int, way: Way) -> bool:
    return way.passage in (Passage.OPEN, Passage.OPAQUE)


def reach_back(flat: Flat, targets: Iterable[Tensor], accept: Accept, found: set[Tensor] | None = None) -> set[Tensor]:
    """All tensors that reach a target through accepted gates, the targets included. ``found`` is extended in place when given."""
    seen: set[Tensor] = set() if found is None else found
    stack = [t for t in targets if t not in seen]
    seen.update(stack)
    nodes = flat.nodes
    while stack:
        n, j = stack.pop()
        node = nodes[n]
        for i, t in enumerate(node.inputs):
            if t not in seen and accept(n, i, j, node.way(i, j)):
                seen.add(t)
                stack.append(t)
    return seen


def reach_always(flat: Flat, targets: Iterable[Tensor], accept: Accept) -> set[Tensor]:
    """As `reach_back`, but a value that enters a conditional counts only when every branch passes gradient on to it."""
    seen: set[Tensor] = set(targets)
    stack = list(seen)
    entered: dict[tuple[int, Tensor], set[int]] = {}
    nodes = flat.nodes
    while stack:
        n, j = stack.pop()
        node = nodes[n]
        for i, t in enumerate(node.inputs):
            if t in seen or not accept(n, i, j, node.way(i, j)):
                continue
            if node.kind == "arg":
                branches = entered.setdefault((node.conditional, t), set())
                branches.add(node.branch)
                if len(branches) < len(flat.conditionals[node.conditional].branches):
                    continue
            seen.add(t)
            stack.append(t)
    return seen


def live_tensors(flat: Flat, targets: Iterable[Tensor]) -> Live:
    """The live tensors for these targets."""
    ends = list(targets)
    always = reach_always(flat, ends, passes_open)
    possible = reach_back(flat, ends, passes_open)
    return Live(always, possible, reach_back(flat, ends, passes_opaque, set()))


def live_if_registered(flat: Flat, targets: Iterable[Tensor]) -> set[Tensor]:
    """What would be live if every op that lacks a gradient had one. Such an op raises as soon as gradient comes to it."""

    def accept(node: int, i: int, j: int, way: Way) -> bool:
        return way.passage is Passage.OPEN or way.cause is Cause.NO_GRADIENT_REGISTERED

    return reach_back(flat, targets, accept)


def zeros_back(flat: Flat, targets: Iterable[Tensor]) -> set[Tensor]:
    """Tensors for which the gradient functions hand back some tensor, were it of zeros: through open gates and those that return zeros."""

    def accept(node: int, i: int, j: int, way: Way) -> bool:
        return way.passage is Passage.OPEN or way.is_zero

    return reach_back(flat, targets, accept)

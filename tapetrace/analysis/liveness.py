"""Which tensors are live: reached from the targets backwards through open gates. Each pass is linear in the edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from tapetrace.analysis.choices import ALWAYS, NEVER, Choices, Diagram, TooManyChoices
from tapetrace.analysis.flat import CallSite, Flat, Tensor
from tapetrace.analysis.ways import Passage, Way
from tapetrace.model.trace import CallKind
from tapetrace.model.words import Cause

Accept = Callable[[Way], bool]
"""Does gradient pass?"""

_MOST_CONDITIONALS = 150
"""How deep the recursion over conditionals may go, beyond which liveness is judged one conditional at a time."""


@dataclass(frozen=True, slots=True)
class Live:
    """``always``: live whatever branches are taken. ``possible``: live in some branch. ``maybe_opaque``: live if Python code, or an op that could
    not be probed, lets gradient through. Each set holds the one before it."""

    always: set[Tensor]
    possible: set[Tensor]
    maybe_opaque: set[Tensor]


def passes_open(way: Way) -> bool:
    return way.passage is Passage.OPEN


def passes_opaque(way: Way) -> bool:
    return way.lets_through


def passes_registered(way: Way) -> bool:
    """As if every op that lacks a gradient had one."""
    return way.lets_through or way.if_registered


def passes_zeros(way: Way) -> bool:
    """Whether some tensor comes back, were it of zeros."""
    return way.passage is Passage.OPEN or way.is_zero


def arrives(way: Way) -> bool:
    """Whether some tensor comes back for sure: what ``tf.py_function`` answers to zeros is a tensor too."""
    return passes_zeros(way) or (way.passage is Passage.OPAQUE and way.cause is Cause.PYTHON_FUNCTION)


def reach_back(flat: Flat, targets: Iterable[Tensor], accept: Accept, seen: set[Tensor] | None = None) -> set[Tensor]:
    """All tensors that reach a target through accepted gates, the targets included. Those of ``seen`` are left out, and it is extended."""
    seen = set() if seen is None else seen
    stack = [t for t in dict.fromkeys(targets) if t not in seen]
    found = set(stack)
    seen |= found
    nodes = flat.nodes
    while stack:
        n, j = stack.pop()
        node = nodes[n]
        way = node.way
        for i, t in enumerate(node.inputs):
            if t not in seen and accept(way(i, j)):
                seen.add(t)
                found.add(t)
                stack.append(t)
    return found


def _surely_live(flat: Flat, targets: Iterable[Tensor]) -> set[Tensor]:
    """As `reach_back` through open gates, but a value that enters a conditional counts only when every branch passes gradient on to it."""
    seen: set[Tensor] = set(targets)
    stack = list(seen)
    entered: dict[tuple[int, Tensor], set[int]] = {}
    nodes = flat.nodes
    while stack:
        n, j = stack.pop()
        node = nodes[n]
        for i, t in enumerate(node.inputs):
            if t in seen:
                continue
            way = node.way(i, j)
            if way.passage is not Passage.OPEN or way.depends:
                continue
            if node.kind == "arg":
                branches = entered.setdefault((node.conditional, t), set())
                branches.add(node.branch)
                if len(branches) < len(flat.conditionals[node.conditional].branches):
                    continue
            seen.add(t)
            stack.append(t)
    return seen


def _conditions(flat: Flat, sure: set[Tensor], unsure: set[Tensor]) -> dict[Tensor, Diagram]:
    """For each tensor of ``unsure``: under which choices of branches it is live. Raises TooManyChoices."""
    asked = {flat.nodes[n].conditional for n, _ in unsure if flat.nodes[n].kind == "arg"}
    asked |= {flat.nodes[n].conditional for t in unsure for n, _ in flat.consumers.get(t, ()) if flat.nodes[n].kind == "arg"}
    if len(asked) > _MOST_CONDITIONALS:
        raise TooManyChoices
    choices = Choices()
    found: dict[Tensor, Diagram] = {}

    def through(n: int, i: int) -> Diagram:
        node = flat.nodes[n]
        result = NEVER
        for j in range(node.output_count):
            after = ALWAYS if (n, j) in sure else found.get((n, j), NEVER)
            if after == NEVER:
                continue
            way = node.way(i, j)
            if way.passage is Passage.OPEN and not way.depends:
                result = choices.either(result, after)
        if node.kind == "arg" and result != NEVER:
            return choices.both(result, choices.taken(node.conditional, node.branch, len(flat.conditionals[node.conditional].branches)))
        return result

    order = sorted(unsure, reverse=True)  # readers first, but for the way back of a loop
    changed = True
    while changed:
        changed = False
        for t in order:
            condition = NEVER
            for n, i in flat.consumers.get(t, ()):
                condition = choices.either(condition, through(n, i))
            if condition != found.get(t, NEVER):
                found[t] = condition
                changed = True
    return found


def live_tensors(flat: Flat, targets: Iterable[Tensor]) -> Live:
    """The live tensors for these targets."""
    ends = list(targets)
    always = _surely_live(flat, ends)
    possible = reach_back(flat, ends, passes_open)
    unsure = possible - always
    if unsure:
        with suppress(TooManyChoices):  # what could not be shown to be live in all branches stays conditional
            always |= {t for t, condition in _conditions(flat, always, unsure).items() if condition == ALWAYS}
    return Live(always, possible, reach_back(flat, ends, passes_opaque))


def reach_through_calls(flat: Flat, targets: Iterable[Tensor], accept: Accept) -> set[Tensor]:
    """As `reach_back`, but a call that gets gradient for one of its results is handed zeros for the others, and a loop hands zeros on to each of
    its variables that it does not differentiate."""
    beside = {t: site for site in flat.calls for t in site.results}
    seen: set[Tensor] = set()
    more = list(targets)
    while more:
        new = reach_back(flat, more, accept, seen)
        sites = {id(beside[t]): beside[t] for t in new if t in beside}
        further = [t for site in sites.values() for t in (*site.results, *(site.arguments if _fills_in(site) else ()))]
        more = [t for t in further if t not in seen and flat.carries_gradient(t)]
    return seen


def _fills_in(site: CallSite) -> bool:
    return site.kind is CallKind.LOOP and site.is_recorded


def raising_nodes(flat: Flat, reached: set[Tensor], on_tape: Callable[[int, Tensor], bool] = lambda n, t: True) -> list[int]:
    """Nodes without a registered gradient that some gradient comes to, in program order: TensorFlow raises LookupError at the last of them.

    ``reached`` is where gradient comes to, zeros included; ``on_tape(node, input)`` says whether the node was recorded on account of that input.
    """
    touched: dict[int, list[int]] = {}
    for n, j in reached:
        touched.setdefault(n, []).append(j)
    nodes = flat.nodes
    return sorted(
        n
        for n, outputs in touched.items()
        if any(nodes[n].way(i, j).raises and on_tape(n, t) for i, t in enumerate(nodes[n].inputs) for j in outputs)
    )

"""What a tape tracked: the watched variables and tensors, and everything recorded that was computed from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tapetrace.analysis.flat import CallSite, Flat, Tensor
from tapetrace.analysis.ways import is_recorded_for
from tapetrace.model.trace import CallKind, GradientCall, Recording


@dataclass(frozen=True, slots=True)
class Tracked:
    """``tensors`` are on the tape. ``since``: those of them that were watched late, each with the rank from which its uses were recorded.

    A function is recorded as one op: its gradient is built for all its arguments, also those that are not on the tape. So ``inside`` are more
    tensors within functions, and ``given`` the arguments that count only within certain stretches of nodes. A loop is one op too, but gradient
    goes only through the loop variables that are on the tape: ``after`` are the others, with the first node that reads them as results.
    """

    tensors: set[Tensor]
    since: dict[Tensor, int]
    inside: set[Tensor] = field(default_factory=set)
    given: dict[Tensor, list[tuple[int, int]]] = field(default_factory=dict)
    after: dict[Tensor, int] = field(default_factory=dict)

    def reads(self, node: int, t: Tensor) -> bool:
        """Whether gradient functions see ``node`` as computed from ``t``."""
        if t in self.inside or (t in self.tensors and node >= self.after.get(t, 0)):
            return True
        return any(first <= node < last for first, last in self.given.get(t, ()))

    def recorded_without(self, flat: Flat, node: int, t: Tensor) -> bool:
        """Whether the tape recorded ``node``, or the loop it is in, on account of another input than ``t``. It then holds ``t`` as an input too."""
        if any(first <= node < last for first, last in self.given.get(t, ())):
            return True
        n = flat.nodes[node]
        if n.recording is not Recording.RECORDED:
            return False
        others = [(i, u) for i, u in enumerate(n.inputs) if u != t and self._is_on_tape(u, n.order)]
        if any(is_recorded_for(n.way(i, j)) for i, _ in others for j in range(n.output_count)):
            return True
        loops = (c for c in flat.calls if c.kind is CallKind.LOOP and c.is_recorded and c.first <= node < c.last and t in c.arguments)
        return any(u != t and self._is_on_tape(u, loop.order) for loop in loops for u in loop.arguments)

    def _is_on_tape(self, t: Tensor, order: int) -> bool:
        return t in self.tensors and order >= self.since.get(t, 0)


def watched_from(flat: Flat, call: GradientCall) -> dict[Tensor, int]:
    """What the tape was told to watch, each with the rank from which its uses were recorded."""
    orders: dict[Tensor, list[int]] = {}
    for ref, order in call.watched or ():
        t = flat.tensor(call.body, ref)
        if t is not None:
            orders.setdefault(t, []).append(order)
    frozen = {s.ref for s in call.sources if s.kind == "variable" and not s.trainable}
    by_hand = {flat.tensor(call.body, ref) for ref in frozen if ref is not None}
    since: dict[Tensor, int] = {}
    for t, found in orders.items():
        is_variable = flat.nodes[t[0]].type == "Variable"
        if is_variable and (t in by_hand or not call.tape.watches_variables):
            # Every watched variable is listed with rank 0; one that the tape would not watch by itself counts from where it was told to.
            found = [order for order in found if order > 0] or found
        since[t] = min(found)
    return since


def tracked_tensors(flat: Flat, call: GradientCall) -> Tracked | None:
    """What is on the tape; None when there is no tape and everything counts (``tf.gradients``)."""
    if call.watched is None:
        return None
    since = watched_from(flat, call)
    search = _Search(flat, Tracked(set(since), {t: order for t, order in since.items() if order > 0}))
    for t, order in since.items():
        search.spread(t, order)
    return search.run()


def computed_from(flat: Flat, sources: Iterable[Tensor]) -> Tracked:
    """All that ``tf.gradients`` looks at when it is asked for these: what gradient could come to them through."""
    found = Tracked(set(sources), {})
    search = _Search(flat, found, has_tape=False)
    for t in tuple(found.tensors):
        search.spread(t)
    return search.run()


class _Search:
    def __init__(self, flat: Flat, found: Tracked, has_tape: bool = True) -> None:
        self.flat = flat
        self.found = found
        self.has_tape = has_tape
        self.sites: dict[Tensor, list[CallSite]] = {}
        for site in flat.calls:
            for t in site.arguments:
                if site.is_recorded and flat.carries_gradient(t):
                    self.sites.setdefault(t, []).append(site)
        self._entered: set[int] = set()
        self._stack: list[tuple[Tensor, int, int, int]] = []

    def spread(self, t: Tensor, since: int = 0, first: int = 0, last: int | None = None) -> None:
        self._stack.append((t, since, first, len(self.flat.nodes) if last is None else last))

    def run(self) -> Tracked:
        while self._stack:
            t, since, first, last = self._stack.pop()
            is_on_tape = t in self.found.tensors
            for n, i in self.flat.consumers.get(t, ()):
                node = self.flat.nodes[n]
                if not first <= n < last or node.order < since or node.recording is not Recording.RECORDED:
                    continue
                if node.type == "StopGradient" and not node.is_inside and self.has_tape:
                    continue  # tf.stop_gradient stops the tapes while it adds the op
                if node.is_hidden_input(i):
                    continue  # the value left TensorFlow and comes in again as one that nobody computed
                for j in range(len(node.outputs)):
                    if is_recorded_for(node.way(i, j)):
                        self._mark((n, j), is_on_tape)
            for site in self.sites.get(t, ()):
                if site.order >= since and first <= site.first and site.last <= last:
                    self._enter(site, is_on_tape)
        return self.found

    def _mark(self, t: Tensor, is_on_tape: bool) -> None:
        """``t`` was computed from something on the tape."""
        late = self.found.since.pop(t, None) if is_on_tape else None  # its uses were recorded anyway, watched or not
        after = self.found.after.pop(t, None) if is_on_tape else None
        if t in self.found.tensors:
            if late is not None or after is not None:
                self.spread(t)
        elif is_on_tape or t not in self.found.inside:
            (self.found.tensors if is_on_tape else self.found.inside).add(t)
            self.spread(t)

    def _enter(self, site: CallSite, is_on_tape: bool) -> None:
        """The results of a call that the tape recorded are on it, whatever they were computed from."""
        for t in site.results:
            if not self.flat.carries_gradient(t) or t in site.arguments:
                continue
            if site.kind is not CallKind.LOOP:
                self._mark(t, is_on_tape)
            elif is_on_tape and t not in self.found.tensors:
                self.found.tensors.add(t)
                self.found.after[t] = site.last
                self.spread(t, 0, site.last)
        if id(site) in self._entered:
            return
        self._entered.add(id(site))
        if site.kind is not CallKind.LOOP:
            for t in site.arguments:
                if self.flat.carries_gradient(t):
                    self.found.given.setdefault(t, []).append((site.first, site.last))
                    self.spread(t, 0, site.first, site.last)

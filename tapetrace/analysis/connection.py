"""The questions about one gradient call, each answered once for all its sources: liveness, tracking, paths, dead ends, ops that raise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tapetrace.analysis.dead_ends import DeadEnds
from tapetrace.analysis.flat import Flat, Tensor
from tapetrace.analysis.flattening import BUDGET, flatten
from tapetrace.analysis.liveness import (
    Accept,
    Live,
    arrives,
    live_tensors,
    passes_registered,
    passes_zeros,
    raising_nodes,
    reach_back,
    reach_through_calls,
)
from tapetrace.analysis.paths import Paths, find_live_paths, find_paths
from tapetrace.analysis.tracked import Tracked, computed_from, tracked_tensors
from tapetrace.analysis.ways import Passage, is_python
from tapetrace.model.trace import Body, GradientCall, Source
from tapetrace.model.words import Cause


class Connection:
    """The flat graph of one call with what was found in it. Everything is computed when first asked, and once."""

    def __init__(self, bodies: Mapping[str, Body], call: GradientCall, budget: int = BUDGET) -> None:
        self.call = call
        self.flat: Flat = flatten(bodies, call, budget)

    @cached_property
    def targets(self) -> list[Tensor]:
        """The tensors of all targets that the graph knows."""
        found = (self.flat.tensor(self.call.body, ref) for ref in self.call.targets if ref is not None)
        return [t for t in found if t is not None]

    @cached_property
    def float_targets(self) -> list[Tensor]:
        """Those that can carry gradient."""
        floats = self.call.float_targets or (True,) * len(self.call.targets)
        pairs = ((self.flat.tensor(self.call.body, ref), ok) for ref, ok in zip(self.call.targets, floats, strict=True) if ref is not None)
        return [t for t, ok in pairs if t is not None and ok]

    @cached_property
    def live(self) -> Live:
        return live_tensors(self.flat, self.float_targets)

    @cached_property
    def live_if_registered(self) -> set[Tensor]:
        """What could be live if every op that lacks a gradient had one."""
        return reach_back(self.flat, self.float_targets, passes_registered)

    @cached_property
    def zeros(self) -> set[Tensor]:
        """Tensors for which some tensor comes back, were it of zeros."""
        return reach_through_calls(self.flat, self.float_targets, passes_zeros)

    @cached_property
    def tracked(self) -> Tracked | None:
        return tracked_tensors(self.flat, self.call)

    @cached_property
    def paths(self) -> Paths:
        return find_paths(self.flat, self.targets)

    @cached_property
    def live_paths(self) -> Paths:
        """The paths that gradient takes."""
        return find_live_paths(self.flat, self.float_targets, self.live)

    @cached_property
    def dead_ends(self) -> DeadEnds:
        return DeadEnds(self.flat)

    @cached_property
    def raising(self) -> list[int]:
        """Nodes without a registered gradient that gradient comes to: TensorFlow raises LookupError at the last of them."""
        return self.raising_among(reach_through_calls(self.flat, self.float_targets, arrives))

    def raising_among(self, reached: set[Tensor]) -> list[int]:
        """Those that raise when gradient comes to ``reached``."""
        looked_at = self.below_sources if self.call.kind == "gradients" else self.tracked
        return raising_nodes(self.flat, reached) if looked_at is None else raising_nodes(self.flat, reached, looked_at.reads)

    @cached_property
    def below_sources(self) -> Tracked:
        """All that is computed from the sources, whatever a tape recorded: what ``tf.gradients`` goes through."""
        tensors = [self.tensor_of(s) for s in self.call.sources]
        return computed_from(self.flat, [t for t in tensors if t is not None])

    @cached_property
    def raises(self) -> bool:
        """Whether the call raises: TensorFlow said so, or it will, for want of a gradient."""
        return self.call.error is not None or bool(self.raising)

    @cached_property
    def lacks_a_gradient(self) -> bool:
        """Whether it raises because the registry has no entry for an op, not because a gradient function that is there fails."""
        return self.call.error is None or self.call.error.type == "LookupError"

    @cached_property
    def failing(self) -> int | None:
        """The node at which the call raised. Python code that hands back a gradient of a wrong shape makes an op before it fail: it is the code."""
        n = self._asked_when_raised()
        behind = () if n is None else self.paths.steps((n, 0))
        return next((s.node for s in behind if s.way.passage is Passage.OPAQUE and is_python(self.flat.nodes[s.node].type)), n)

    def _asked_when_raised(self) -> int | None:
        """The node whose gradient function raised: the one TensorFlow was seen to ask, else the last of its type that gradient comes to, else the
        last of those that would not answer us."""
        at = None if self.call.raised_at is None else self.flat.tensor(self.call.body, self.call.raised_at)
        if at is not None:
            return at[0]
        nodes = self.flat.nodes
        reached = reach_through_calls(self.flat, self.float_targets, arrives)
        for op_type in self.call.raised_in:
            found = [n for n, _ in reached if nodes[n].type == op_type]
            if found:
                return max(found)
        return max((n for n, j in reached if self._would_not_answer(n, j)), default=None)

    def _would_not_answer(self, n: int, j: int) -> bool:
        node = self.flat.nodes[n]
        return any(node.way(i, j).cause is Cause.NOT_PROBED for i in range(len(node.inputs)))

    def tensor_of(self, source: Source) -> Tensor | None:
        """The flat tensor of a source, None when the graph never mentions it."""
        return None if source.ref is None else self.flat.tensor(self.call.body, source.ref)

    def is_itself(self, t: Tensor) -> bool:
        """Whether ``t`` is a target: the tape hands back ones for it, also when it never saw it, but a jacobian reads its target once more."""
        return t in self.float_targets and (self.is_tracked(t) or "jacobian" not in self.call.kind)

    def is_tracked(self, t: Tensor) -> bool:
        return self.tracked is None or t in self.tracked.tensors

    def used_since_watched(self, t: Tensor, reached: set[Tensor], accept: Accept) -> bool:
        """Whether ``t`` has a use that the tape recorded, after it was watched or on another's account, by which gradient comes from ``reached``."""
        tracked = self.tracked
        since = 0 if tracked is None else tracked.since.get(t, 0)
        if tracked is None or since == 0:
            return True
        nodes, uses = self.flat.nodes, self.flat.consumers.get(t, ())
        # A tensor of a graph around this one is put on the tape when it is used, not when it is watched.
        is_outer = nodes[t[0]].type == "Captured" or nodes[t[0]].origin[0] != self.call.body
        is_seen = not is_outer or any(nodes[n].order >= since for n, _ in uses)
        return is_seen and any(
            (nodes[n].order >= since or tracked.recorded_without(self.flat, n, t))
            and any((n, j) in reached and accept(nodes[n].way(i, j)) for j in range(nodes[n].output_count))
            for n, i in uses
        )

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
from tapetrace.analysis.tracked import Tracked, tracked_tensors
from tapetrace.model.trace import Body, GradientCall, Source


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
        if self.tracked is None:
            return raising_nodes(self.flat, reached)
        return raising_nodes(self.flat, reached, self.tracked.reads)

    @cached_property
    def raises(self) -> bool:
        """Whether the call raises for want of a gradient: TensorFlow said so, or it will."""
        if self.call.error is not None:
            return self.call.error.type == "LookupError"
        return bool(self.raising)

    def tensor_of(self, source: Source) -> Tensor | None:
        """The flat tensor of a source, None when the graph never mentions it."""
        return None if source.ref is None else self.flat.tensor(self.call.body, source.ref)

    def is_tracked(self, t: Tensor) -> bool:
        return self.tracked is None or t in self.tracked.tensors

    def used_since_watched(self, t: Tensor, reached: set[Tensor], accept: Accept) -> bool:
        """Whether ``t`` has a use that the tape recorded, one after it was watched, by which gradient comes to it from ``reached``."""
        since = 0 if self.tracked is None else self.tracked.since.get(t, 0)
        if since == 0:
            return True
        nodes = self.flat.nodes
        return any(
            nodes[n].order >= since and any((n, j) in reached and accept(nodes[n].way(i, j)) for j in range(nodes[n].output_count))
            for n, i in self.flat.consumers.get(t, ())
        )

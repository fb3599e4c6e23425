"""The questions about one gradient call, each answered once for all its sources: liveness, tracking, paths, dead ends, ops that raise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tapetrace.analysis.dead_ends import DeadEnds
from tapetrace.analysis.flat import Flat, Tensor, flatten
from tapetrace.analysis.liveness import Live, live_if_registered, live_tensors, zeros_back
from tapetrace.analysis.paths import Paths, find_paths
from tapetrace.analysis.tracked import tracked_tensors
from tapetrace.model.trace import Body, GradientCall, Source
from tapetrace.model.words import Cause


class Connection:
    """The flat graph of one call with what was found in it. Everything is computed when first asked, and once."""

    def __init__(self, bodies: Mapping[str, Body], call: GradientCall) -> None:
        self.call = call
        self.flat: Flat = flatten(bodies, call)

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
        return live_if_registered(self.flat, self.float_targets)

    @cached_property
    def zeros(self) -> set[Tensor]:
        return zeros_back(self.flat, self.float_targets)

    @cached_property
    def tracked(self) -> set[Tensor] | None:
        return tracked_tensors(self.flat, self.call)

    @cached_property
    def paths(self) -> Paths:
        return find_paths(self.flat, self.targets)

    @cached_property
    def dead_ends(self) -> DeadEnds:
        return DeadEnds(self.flat)

    @cached_property
    def raising(self) -> list[int]:
        """Nodes without a registered gradient that gradient comes to: TensorFlow raises LookupError at the first of them."""
        found = []
        for n, node in enumerate(self.flat.nodes):
            if node.kind != "op" or not any((n, j) in self.live.maybe_opaque for j in range(len(node.outputs))):
                continue
            ways = ((t, node.way(i, j)) for i, t in enumerate(node.inputs) for j in range(len(node.outputs)) if (n, j) in self.live.maybe_opaque)
            if any(way.cause is Cause.NO_GRADIENT_REGISTERED and (self.tracked is None or t in self.tracked) for t, way in ways):
                found.append(n)
        return found

    def tensor_of(self, source: Source) -> Tensor | None:
        """The flat tensor of a source, None when the graph never mentions it."""
        return None if source.ref is None else self.flat.tensor(self.call.body, source.ref)

    def is_tracked(self, t: Tensor) -> bool:
        return self.tracked is None or t in self.tracked

    def used_since(self, t: Tensor, source: Source) -> bool:
        """Whether a live use of a watched plain tensor came after it was watched."""
        if self.call.watched is None or t in self.float_targets:
            return True
        since = max((order for ref, order in self.call.watched if ref == source.ref), default=0)
        if since == 0:
            return True
        live = self.live.maybe_opaque
        return any(
            self.flat.nodes[n].order >= since and any((n, j) in live for j in range(len(self.flat.nodes[n].outputs)))
            for n, _ in self.flat.consumers.get(t, ())
        )

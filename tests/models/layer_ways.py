"""Which planted cuts lie on the ways from each layer to the target: worked out on the graph of layers that Keras holds, not by tapetrace.

An edge is one input of one consumer. Cuts are known by their numbers. A way is written as the cuts on it, in order from the source to the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import keras

Edge = tuple[Any, int]
"""A consumer, and the place of the edge among its inputs; for what the target reads: (None, the place among the outputs)."""

Way = tuple[int, ...]


@dataclass(frozen=True)
class LayerGraph:
    """Layers in the order from input to output, with the edges out of each, in one model or in several that follow upon one another."""

    layers: tuple[Any, ...]
    out: Mapping[Any, tuple[Edge, ...]]

    @classmethod
    def of(cls, *models: keras.Model) -> LayerGraph:
        """The graph of models of which each is called on what the one before gives back."""
        out: dict[Any, list[Edge]] = {}
        for model, follower in zip(models, [*models[1:], None], strict=True):
            for layer in model.operations:
                out.setdefault(layer, [])
                for place, tensor in enumerate(_inputs(layer)):
                    out.setdefault(tensor._keras_history.operation, []).append((layer, place))
            for place, tensor in enumerate(model.outputs):
                out[tensor._keras_history.operation].append((follower.operations[0] if follower else None, place))
        return cls(tuple(layer for model in models for layer in model.operations), {k: tuple(v) for k, v in out.items()})

    def ways(self, cuts: Mapping[Edge, Way]) -> dict[Any, frozenset[Way]]:
        """The ways from the output of each layer to the target; ``cuts`` tells which cuts lie on an edge, in order. None stands for the target."""
        found: dict[Any, frozenset[Way]] = {None: frozenset([()])}
        for layer in reversed(self.layers):
            found[layer] = frozenset(cuts.get(edge, ()) + rest for edge in self.out[layer] for rest in found[edge[0]])
        return found

    def behind(self, layer: Any) -> LayerGraph:
        """The part that is computed from the output of ``layer``."""
        found: set[Any] = set()
        for other in self.layers:
            if other is layer or other in found:
                found.update(consumer for consumer, _ in self.out[other])
        return LayerGraph(tuple(other for other in self.layers if other in found), self.out)

    def trained(self) -> set[Any]:
        """The layers whose output depends on a variable that is trained."""
        found: set[Any] = set()
        for layer in self.layers:
            if layer in found or getattr(layer, "trainable_variables", ()):
                found.add(layer)
                found.update(consumer for consumer, _ in self.out[layer])
        return found


def _inputs(layer: Any) -> Iterable[Any]:
    return layer._inbound_nodes[0].input_tensors if not isinstance(layer, keras.layers.InputLayer) else ()

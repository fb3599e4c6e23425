"""What is called again and again: the same layer, with the same weights, or several that are layers of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass

from tapetrace.render.captions import count
from tapetrace.render.control_flow import control_scopes
from tapetrace.render.layers import innermost_only, reads_of, unnumbered
from tapetrace.render.panels import Panel
from tapetrace.render.units import Partition

FEWEST = 4
"""Calls of one layer that are worth a fold."""


@dataclass(frozen=True, slots=True)
class Calls:
    """For each scope that reads sources, of a layer or around some, the first scope of the same layer. Each scope is one call."""

    first: Mapping[str, str]
    control: Collection[str] = ()
    """Scopes of branches and loops, which are no layers."""

    @classmethod
    def new(cls, panel: Panel) -> Calls:
        read: dict[str, set[str]] = {}
        for i, path, _ in reads_of(panel.nodes, panel.edges):
            for scope in _and_around(panel.layers[i]):
                read.setdefault(scope, set()).add(path)
        return cls(_first_calls(panel, read), control_scopes(panel.nodes))

    def layer(self, scope: str) -> Hashable:
        """Equal for two calls of one layer: of one without weights, where the layer around it and its name are the same."""
        around, _, name = scope.rpartition("/")
        return self.first.get(scope) or ((name, self.layer(around)) if around else name)

    def said(self, scopes: Iterable[str]) -> str:
        """``24 layers``, ``12 calls of 1 layer``, empty for a single call."""
        calls = innermost_only(set(scopes)) - set(self.control)
        if len(calls) < 2:
            return ""
        layers = count(len({self.layer(scope) for scope in calls}), "layer")
        return layers if layers == count(len(calls), "layer") else f"{len(calls):,} calls of {layers}"


def fold_repeats(panel: Panel, partition: Partition) -> Partition:
    """All calls of a layer that is called at least `FEWEST` times become one unit for each status, with what lies between two of them.

    They stay as they are where a break, a target or what reads other weights lies between them.
    """
    calls = Calls.new(panel)
    repeated = _repeated(calls)
    if not repeated:
        return partition
    units = partition.units
    keys: list[tuple[Hashable, ...]] = [("unit", i) for i in range(len(units))]
    for i, u in enumerate(units):
        if not (u.is_source or u.is_break or u.is_target):
            layers = {next((repeated[s] for s in reversed(_and_around(panel.layers[m])) if s in repeated), None) for m in u.members}
            if len(layers) == 1 and (layer := layers.pop()) is not None:
                keys[i] = ("repeat", layer, u.status)
    for key in dict.fromkeys(k for k in keys if k[0] == "repeat"):
        group = {i for i, k in enumerate(keys) if k == key}
        whole = _with_between(partition, group)
        keys = [key if i in whole else ("unit", i) if i in group else k for i, k in enumerate(keys)]
    return partition.merged(keys)


def _first_calls(panel: Panel, read: Mapping[str, set[str]]) -> dict[str, str]:
    """Keras numbers the scope of a second call (``enc_1``), so a layer is known by its name without the number and by its weights; of these a call
    may read fewer, since the drawing leaves out what does not matter."""
    found: dict[str, str] = {}
    readers: dict[tuple[str, str], list[str]] = {}
    for scope in sorted(read, key=lambda s: -len(read[s])):
        name = panel.names.get(scope) or unnumbered(scope)
        alike = readers.get((name, min(read[scope])), ())
        found[scope] = next((other for other in alike if read[scope] <= read[other]), scope)
        if found[scope] == scope:
            for source in read[scope]:
                readers.setdefault((name, source), []).append(scope)
    return found


def _repeated(calls: Calls) -> dict[str, str]:
    """The scopes of layers that are called often, with the first of each."""
    often = Counter(calls.first.values())
    return {scope: first for scope, first in calls.first.items() if often[first] >= FEWEST}


def _with_between(partition: Partition, group: set[int]) -> set[int]:
    """The group with all units on ways from it back into it; empty if one of those has another status, is a target, or has weights of its own."""
    units = partition.units
    before, after = partition.neighbours
    below, above = set(group), set(group)
    for i in range(len(units)):
        if before[i] & below:
            below.add(i)
    for i in range(len(units) - 1, -1, -1):
        if after[i] & above:
            above.add(i)
    whole = below & above
    status = {units[i].status for i in group}
    fits = all({units[i].status} == status and not (units[i].is_target or any(units[a].is_source for a in before[i])) for i in whole - group)
    return whole if fits else set()


def _and_around(scope: str) -> list[str]:
    """The scope and those around it, innermost first."""
    parts = scope.split("/") if scope else []
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]

"""Which boxes stand inside a box of their Keras layer or function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tapetrace.model.locations import Location
from tapetrace.render.captions import NAME_WIDTH, clip
from tapetrace.render.layers import common_start
from tapetrace.render.panels import Panel
from tapetrace.render.places import Places
from tapetrace.render.scene import SceneGroup
from tapetrace.render.units import Partition, Unit

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """``groups``, outer ones first; for each unit the key of the innermost group ``around`` it, and the scope it is then ``inside`` of."""

    groups: tuple[SceneGroup, ...]
    around: tuple[str | None, ...]
    inside: tuple[str, ...]


def arrange(panel: Panel, partition: Partition, call: SceneGroup | None, index: int, places: Places, own: Location | None) -> Arrangement:
    """Groups for the layers and functions of a panel, inside that of its gradient ``call`` if there is one.

    A group is drawn where at least two boxes that are not sources share a layer, or a function other than the one that makes the gradient call
    at ``own``, and others do not; and where nothing leaves it to come back, since what lies between would have to stand both below and above the
    group.
    Sources stand with their readers.
    """
    own_function = places.function(own)
    paths = [_path(panel, u, places, own_function) for u in partition.units]
    _, after = partition.neighbours
    for i, u in enumerate(partition.units):
        if u.is_source:
            paths[i] = common_start([paths[b] for b in after[i]])
    plain = [p for u, p in zip(partition.units, paths, strict=True) if not u.is_source]
    inside = Counter(p[:n] for p in plain for n in range(1, len(p) + 1) if panel.names.get("/".join(p[:n])) != "")
    drawn = [p for p in inside if 2 <= inside[p] < len(plain) and all(inside[q] != inside[p] for q in inside if len(q) > len(p) and q[: len(p)] == p)]
    whole = [p for p in drawn if not _is_left_and_entered(partition, {i for i, found in enumerate(paths) if found[: len(p)] == p})]
    keys = {p: f"g{index}_{n}" for n, p in enumerate(sorted(whole, key=lambda p: (len(p), p)))}
    outside = call.key if call else None

    def innermost(path: Path) -> Path:
        return next((path[:n] for n in range(len(path), 0, -1) if path[:n] in keys), ())

    groups: list[SceneGroup] = []
    for p, key in keys.items():
        parent = innermost(p[:-1])
        groups.append(SceneGroup(key, clip(panel.named("/".join(p), "/".join(parent)), NAME_WIDTH, keep_end=True), keys.get(parent, outside)))
    found = [innermost(p) for p in paths]
    return Arrangement(tuple([call] if call else []) + tuple(groups), tuple(keys.get(p, outside) for p in found), tuple("/".join(p) for p in found))


def _is_left_and_entered(partition: Partition, group: set[int]) -> bool:
    """Whether data flows from a unit of the group through one outside of it back into the group."""
    left: set[int] = set()
    for a, b in sorted(partition.edges):
        if a in left and b in group:
            return True
        if b not in group and (a in group or a in left):
            left.add(b)
    return False


def _path(panel: Panel, unit: Unit, places: Places, own_function: str) -> Path:
    if unit.scope:
        return tuple(unit.scope.split("/"))
    functions = {places.function(at) for m in unit.members if (at := panel.nodes[m].location)}
    function = functions.pop() if len(functions) == 1 else ""
    return (function,) if function not in ("", own_function) else ()

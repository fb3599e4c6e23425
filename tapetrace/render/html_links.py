"""What a choice lights up: which boxes lie on the path of a source, which places break it, and what comes alive when a place is reopened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

from tapetrace.model.graph import Role, Status, name_in_call
from tapetrace.model.report import Report, SourceResult, sources_called
from tapetrace.render.outline import Place, outline
from tapetrace.render.panels import Panel
from tapetrace.render.routes import Routes, find_op
from tapetrace.render.scene import Scene


@dataclass(frozen=True, slots=True)
class SourceLink:
    """One source of one call. ``path`` holds keys of boxes from the source to the target, ``places`` positions in `Links.places`."""

    call: int
    source: SourceResult
    anchor: str
    """Identifies the choice in the address of the page: ``source=vae/enc/kernel``."""
    path: tuple[str, ...]
    places: tuple[int, ...]

    @property
    def layer(self) -> str:
        """The Keras layer that owns it, or what stands before the last slash of its path."""
        return self.source.owner or self.source.label.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class PlaceLink:
    """One place that breaks. ``blocks`` and ``reconnects`` are positions in `Links.sources`; ``revived`` holds the keys of the boxes through which
    gradient flows only once the place is reopened, ``flows`` the ways between boxes."""

    place: Place
    anchor: str
    blocks: tuple[int, ...]
    reconnects: tuple[int, ...]
    boxes: tuple[str, ...]
    revived: tuple[str, ...]
    flows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Links:
    sources: tuple[SourceLink, ...]
    places: tuple[PlaceLink, ...]

    def of_call(self, call: int) -> list[tuple[int, PlaceLink]]:
        return [(i, p) for i, p in enumerate(self.places) if p.place.call == call]


def link(report: Report, scenes: Mapping[int, Scene]) -> Links:
    """The links between the text of a report and the pictures of its calls, where a call has one."""
    sources: list[SourceLink] = []
    places: list[PlaceLink] = []
    taken: set[str] = set()
    for found in outline(report):
        scene = scenes.get(found.index)
        boxes = _box_of(scene)
        panel = Panel.new(report.drawing, found.index, report.root_causes) if scene else None
        routes = Routes(panel) if panel else None
        first, at = len(sources), len(places)
        behind = [{id(s) for s in p.sources} for p in found.places]
        for s in report.calls[found.index].sources:
            anchor = _unique(f"source={_quoted(s.label)}" + (f"&call={found.index + 1}" if len(report.calls) > 1 else ""), taken)
            ops = [name_in_call(panel.nodes[i].name) for i in routes.of(s.route)] if panel and routes else s.route
            path = tuple(dict.fromkeys(key for name in ops if (key := find_op(name, boxes))))
            crossed = dict.fromkeys(
                at + i for b in s.breaks for i, p in enumerate(found.places) if id(s) in behind[i] and _same(b.root_cause, p, b.cause)
            )
            sources.append(SourceLink(found.index, s, anchor, path, tuple(crossed)))
        for p, blocked in zip(found.places, behind, strict=True):
            anchor = _unique(f"cause={p.number or p.cause.value}", taken)
            blocks = [(first + i, s) for i, s in enumerate(sources[first:]) if id(s.source) in blocked]
            places.append(_place(report, p, anchor, blocks, scene, panel))
    return Links(tuple(sources), tuple(places))


def _place(
    report: Report, place: Place, anchor: str, blocks: Sequence[tuple[int, SourceLink]], scene: Scene | None, panel: Panel | None
) -> PlaceLink:
    again = {name for r in report.root_causes if place.number and (r.number, r.call) == (place.number, place.call) for name in r.reconnects}
    alive = {id(s) for s in sources_called(again, report.calls[place.call].sources)}
    reconnects = [(i, s) for i, s in blocks if id(s.source) in alive]
    boxes = _box_of(scene)
    keys = [n.key for n in scene.nodes if place.number in n.numbers] if scene and place.number else []
    keys = keys or list(dict.fromkeys(key for name, _ in place.ops if (key := find_op(name, boxes))))
    revived, flows = _revived(panel, place.number, boxes) if panel and reconnects else (set(), set())
    for _, s in reconnects:
        revived |= set(s.path)
        flows |= set(pairwise(s.path))
    order = [n.key for n in scene.nodes] if scene else []
    blocked = tuple(i for i, _ in blocks)
    return PlaceLink(
        place, anchor, blocked, tuple(i for i, _ in reconnects), tuple(keys), tuple(k for k in order if k in revived), tuple(sorted(flows))
    )


def _revived(panel: Panel, number: int, boxes: Mapping[str, str]) -> tuple[set[str], set[tuple[str, str]]]:
    """The boxes and ways that gradient comes to through this place and, as things are, does not."""
    box = [boxes.get(name_in_call(n.name)) for n in panel.nodes]
    named = [(box[a], box[b]) for a, b in _reached(panel, number) - _reached(panel, None)]
    return {key for way in named for key in way if key}, {(a, b) for a, b in named if a and b and a != b}


def _reached(panel: Panel, reopened: int | None) -> set[tuple[int, int]]:
    """The edges that gradient passes backwards from the targets, if the root cause of this number were reopened."""
    reached = {i for i, n in enumerate(panel.nodes) if n.role is Role.TARGET}
    ways: set[tuple[int, int]] = set()
    # Edges go from lower to higher positions: in falling order of heads, each head is settled before its edges are looked at.
    for a, b, status in sorted(panel.edges, key=lambda e: -e[1]):
        if b in reached and (status is not Status.BREAK or panel.nodes[b].number == reopened):
            reached.add(a)
            ways.add((a, b))
    return ways


def _box_of(scene: Scene | None) -> dict[str, str]:
    """The box of each op, by the name that the op has within its call."""
    return {name_in_call(name): node.key for node in scene.nodes for name in node.members} if scene else {}


def _same(root_cause: int, place: Place, cause: object) -> bool:
    return root_cause == place.number if place.number else place.cause is cause


def _quoted(name: str) -> str:
    return quote(name[:200], safe="/", errors="replace")


def _unique(anchor: str, taken: set[str]) -> str:
    number, wanted = 1, anchor
    while anchor in taken:
        number += 1
        anchor = f"{wanted}&n={number}"
    taken.add(anchor)
    return anchor


def layers_of_sources(sources: Iterable[SourceLink]) -> list[str]:
    """The layers of the sources and those around them, in the order of the sources, outer ones first."""
    found: dict[str, None] = {}
    for s in sources:
        parts = s.layer.split("/") if s.layer else []
        found |= dict.fromkeys("/".join(parts[:n]) for n in range(1, len(parts) + 1))
    return list(found)

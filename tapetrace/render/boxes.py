"""Units → boxes: what is written on each box of the picture, and the edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from tapetrace.model.graph import GraphNode, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report, SourceResult
from tapetrace.model.words import Cause
from tapetrace.render import captions
from tapetrace.render.panels import Panel
from tapetrace.render.places import Places
from tapetrace.render.repeats import Calls
from tapetrace.render.scene import Kind, SceneEdge, SceneNode
from tapetrace.render.units import Partition, Unit
from tapetrace.render.visible import shown_path

_FLOWING = (Status.LIVE, Status.CONDITIONAL, Status.OPAQUE)

End = tuple[Status, set[int]]
"""A box as an arrow meets it: its status, and the root causes that it stands for."""


class BoxWriter:
    """Turns the units of one panel into boxes with words on them."""

    def __init__(self, report: Report, panel: Panel, index: int, detail: str, source: bool) -> None:
        self.panel, self.index, self.detail, self.source = panel, index, detail, source
        self.calls = Calls.new(panel)
        self.causes = {c.number: c for c in report.root_causes}
        asked = report.calls if panel.call is None else report.calls[panel.call : panel.call + 1]
        sources = [s for c in reversed(asked) for s in reversed(c.sources)]
        self.results: dict[str, SourceResult] = {s.name: s for s in sources} | {s.label: s for s in sources}
        self.kinds = kinds_of_sources(report)
        self.places = Places.of(report)

    def within(self, panel: Panel, detail: str) -> BoxWriter:
        """A writer for the units of a part of the panel."""
        inner = copy(self)
        inner.panel, inner.detail = panel, detail
        return inner

    def node(self, position: int, unit: Unit, group: str | None, inside: str) -> SceneNode:
        """The box of one unit; ``inside`` is the scope of the group around it, which the box need not repeat."""
        members = [self.panel.nodes[m] for m in unit.members]
        sources = [n for n in members if n.role is Role.SOURCE]
        ops = [n for n in members if n.role is not Role.SOURCE]
        key = f"p{self.index}_{position}"
        names = tuple(n.name for n in members)
        if unit.is_break:
            return self._break(key, unit, members, sources, ops, group)
        if unit.is_source:
            kind, heading, code, location = Kind.SOURCES, captions.sources_heading([n.label for n in sources]), "", _same_location(sources)
            footnote = captions.sources_footnote([self.results.get(n.label) for n in sources], len(sources), self._kind(sources), self.places.place)
        else:
            kind, heading, code, location = self._ops(unit, ops, inside)
            footnote = " · ".join(self._counts(unit, ops, sources, kind))
        return SceneNode(
            key, kind, unit.status, heading, code, self.places.place(location) if ops else "", footnote,
            self._tooltip(location, ops, sources), is_target=unit.is_target, ops=len(ops), sources=len(sources), group=group, members=names,
            at=location.key if location else None,
        )  # fmt: skip

    def edges(self, partition: Partition) -> list[SceneEdge]:
        """One edge for each pair of boxes; two into a break that is open to some of what comes from there."""
        unit_of = {m: k for k, u in enumerate(partition.units) for m in u.members}
        bundles: dict[tuple[int, int], list[Status]] = {}
        for a, b, status in self.panel.edges:
            if unit_of[a] != unit_of[b]:
                bundles.setdefault((unit_of[a], unit_of[b]), []).append(status)
        edges: list[SceneEdge] = []
        for (a, b), found in sorted(bundles.items()):
            for status, number in _drawn(found, self._end(partition.units[a]), self._end(partition.units[b])):
                edges.append(SceneEdge(f"p{self.index}_{a}", f"p{self.index}_{b}", status, number))
        return edges

    def _end(self, unit: Unit) -> End:
        return unit.status, {n for m in unit.members if (n := self.panel.nodes[m].number)}

    def _ops(self, unit: Unit, ops: Sequence[GraphNode], inside: str) -> tuple[Kind, str, str, Location | None]:
        location = _same_location(ops)
        if self.detail == "ops" and len(ops) == 1:
            code = location.code if location and self.source else ""
            return Kind.OP, captions.clip(f"{ops[0].label or ops[0].name.rpartition('/')[2]}  {_shape(ops[0])}", captions.NAME_WIDTH), code, location
        scope = captions.clip(self.panel.named(unit.scope, inside), captions.NAME_WIDTH, keep_end=True)
        if self.detail != "layers" and unit.line is not None:
            return Kind.LINE, scope, location.code if location and self.source else "", location
        layers = {self.panel.layers[m] for m in unit.members} - {""}
        lines = {n.location.key for n in ops if n.location}
        named = scope or self.panel.named(unit.scope, unit.scope.rpartition("/")[0])
        if len(layers) <= 1 and (self.detail == "layers" or len(lines) <= 1):
            return Kind.LAYER, named or self._function(ops) or captions.op_types(ops), "", location
        ends = [self.panel.named(layer, inside) for m in unit.members if (layer := self.panel.layers[m])]
        ends = list(dict.fromkeys((ends[0], ends[-1]))) if ends else []
        between = " … ".join(captions.clip(end, 22, keep_end=True) for end in ends)
        return Kind.STRETCH, scope or between or named or self._function(ops), "", None

    def _counts(self, unit: Unit, ops: Sequence[GraphNode], sources: Sequence[GraphNode], kind: Kind) -> list[str]:
        called = self.calls.said(self.panel.layers[m] for m in unit.members)
        words = [called] if called else []
        if kind is Kind.STRETCH:
            lines = len({n.location.key for n in ops if n.location})
            words += [captions.count(lines, "line")] if lines > 1 and self.detail != "layers" else []
        words += [captions.count(len(sources), self._kind(sources))] if sources else []
        if kind is Kind.OP or len(ops) == 1:
            words += [captions.clip(ops[0].type, 30)] if ops else []
        elif ops:
            words += [captions.count(len(ops), "op")]
        return words

    def _break(
        self, key: str, unit: Unit, members: Sequence[GraphNode], sources: Sequence[GraphNode], ops: Sequence[GraphNode], group: str | None
    ) -> SceneNode:
        numbers = tuple(sorted({n.number for n in members if n.number}))
        causes = tuple(dict.fromkeys(c for n in members if (c := n.cause) is not None))
        known = [self.causes[n] for n in numbers if n in self.causes]
        if len(known) == 1:
            causes = (known[0].cause,)
        location = known[0].location if len(known) == 1 and known[0].location else _same_location(members)
        words = [captions.names([n.label for n in sources])] if sources else []
        if ops:
            types = captions.op_types(ops, 2)
            words.append(types if len(ops) == 1 or self.detail == "ops" else f"{captions.count(len(ops), 'op')}: {types}")
        blocked = captions.blocked(known[0], self.kinds) if len(known) == 1 else ""
        remedy = known[0].remedy if len(known) == 1 else ""
        return SceneNode(
            key, Kind.BREAK, Status.BREAK, _cause_heading(causes, len(numbers)), location.code if location and self.source else "",
            self.places.place(location), captions.lines_of([" · ".join(words), blocked]),
            captions.lines_of([self._tooltip(location, ops, sources), remedy]), numbers, causes, unit.is_target, len(ops), len(sources), group,
            tuple(n.name for n in members), location.key if location else None,
        )  # fmt: skip

    def _tooltip(self, location: Location | None, ops: Sequence[GraphNode], sources: Sequence[GraphNode]) -> str:
        shown = [*sources, *ops][:8]
        more = len(sources) + len(ops) - len(shown)
        listed = [captions.clip(f"{n.label or n.name}  {_shape(n)}" if n.role is Role.SOURCE else f"{n.name}  {n.type}", 120) for n in shown]
        head = [f"{shown_path(location.file)}:{location.line}", captions.clip(location.code, 160) if self.source else ""] if location else []
        return captions.lines_of([*head, *listed, f"… {more:,} more" if more else ""])

    def _function(self, nodes: Sequence[GraphNode]) -> str:
        functions = {name: n.location for n in nodes if (name := self.places.function(n.location))}
        return captions.names([self.places.function(at, "()" if len(functions) == 1 else "") for at in functions.values()], 2)

    def _kind(self, sources: Sequence[GraphNode]) -> str:
        return "variable" if all(n.type in ("Variable", "VarHandleOp") for n in sources) else "source"


def _drawn(found: Sequence[Status], tail: End, head: End) -> list[tuple[Status, int]]:
    """How the data edges between two boxes are drawn: (status, count).

    Shut gates are shown as such where gradient comes to them and the sources behind depend on it; elsewhere, and inside one break, the way is
    merely dead.
    """
    shut = sum(s is Status.BREAK for s in found)
    flowing = next((s for s in _FLOWING if s in found), None)
    if head[0] is Status.BREAK and tail != head and shut:
        return [(Status.BREAK, shut)] + ([(flowing, len(found) - shut)] if flowing else [])
    if flowing:
        return [(flowing, len(found))]
    return [(Status.BREAK if shut and tail[0] is Status.DEAD and head[0] is not Status.DEAD else Status.DEAD, len(found))]


def kinds_of_sources(report: Report) -> dict[str, str]:
    """``variable`` or ``tensor`` for each name of a source, as root causes name them."""
    sources = [s for c in report.calls for s in c.sources]
    return {s.name: s.kind for s in sources} | {s.label: s.kind for s in sources}


def causes_without_node(report: Report, nodes: Sequence[SceneNode], source: bool) -> list[SceneNode]:
    """A box for each root cause that no node of the drawing carries, so that every number of the text report is on the picture."""
    drawn = {n for node in nodes for n in node.numbers}
    kinds, places = kinds_of_sources(report), Places.of(report)
    boxes: list[SceneNode] = []
    for c in report.root_causes:
        if c.number not in drawn:
            code = c.location.code if c.location and source else ""
            footnote = captions.lines_of([captions.names(c.blocks), captions.blocked(c, kinds)])
            tooltip = captions.lines_of([f"{shown_path(c.location.file)}:{c.location.line}" if c.location else "", c.remedy])
            place = places.place(c.location)
            at, numbers, causes = c.location.key if c.location else None, (c.number,), (c.cause,)
            key = f"cause_{c.number}"
            boxes.append(SceneNode(key, Kind.BREAK, Status.BREAK, c.cause.value, code, place, footnote, tooltip, numbers, causes, at=at))
    return boxes


def _cause_heading(causes: Sequence[Cause], numbers: int) -> str:
    if not causes:
        return "break"
    more = f" … {len(causes) - 2} more causes" if len(causes) > 2 else ""
    several = f"  ({numbers} root causes)" if numbers > 1 else ""
    return ", ".join(c.value for c in causes[:2]) + more + several


def _same_location(nodes: Sequence[GraphNode]) -> Location | None:
    places = {n.location.key: n.location for n in nodes if n.location is not None}
    return next(iter(places.values())) if len(places) == 1 else None


def _shape(node: GraphNode) -> str:
    if node.dtype in ("", "resource"):
        return ""
    inside = "…" if node.shape is None else ",".join("?" if n is None else str(n) for n in node.shape)
    return f"{node.dtype}[{inside}]"

"""Report → Scene: what the picture shows, folded until a person can take it in."""

from __future__ import annotations

from collections.abc import Sequence

from tapetrace.model.graph import ReportGraph
from tapetrace.model.locations import Location
from tapetrace.model.privacy import short_target
from tapetrace.model.report import Report
from tapetrace.model.words import Verdict
from tapetrace.render import captions
from tapetrace.render.boxes import BoxWriter, causes_without_node
from tapetrace.render.grouping import arrange
from tapetrace.render.outline import EMPTY
from tapetrace.render.panels import Panel
from tapetrace.render.places import Places
from tapetrace.render.repeats import fold_repeats
from tapetrace.render.scene import Scene, SceneEdge, SceneGroup, SceneNode
from tapetrace.render.stretches import SMALLEST_BUDGET, fold_breaks, fold_to_budget
from tapetrace.render.units import Partition, split_into_units

BUDGET = 120
"""Boxes that one picture holds unless told otherwise: what a person can scan and what ``dot`` lays out in well under a second."""


def fold(report: Report, *, detail: str = "line", budget: int = BUDGET, source: bool = True) -> Scene:
    """The Scene of a report at the detail ``line``, ``ops`` or ``layers``, with at most ``budget`` boxes (at least 5, and one for each root cause
    that the drawing has no op for).

    Every root cause keeps its number, every source is counted once for each gradient call, and notes say what was folded. ``source=False`` leaves
    the user's code out. A picture of several gradient calls has a group for each.
    """
    graph = report.drawing
    budget = max(budget, SMALLEST_BUDGET)
    calls = sorted({c for n in graph.nodes for c in n.calls})
    together = len(calls) > 1 and budget < len(calls) * 2 * SMALLEST_BUDGET
    panels = [Panel.new(graph, None if together else c, report.root_causes) for c in ([-1] if together else calls)]
    folded: dict[int, tuple[Partition, Partition]] = {}
    left = budget
    parts = sorted(((i, split_into_units(p, detail)) for i, p in enumerate(panels)), key=lambda part: len(part[1].units))
    for done, (i, first) in enumerate(parts):
        repeats = first if detail == "ops" else fold_repeats(panels[i], first)
        last = fold_to_budget(panels[i], repeats, left // (len(parts) - done), detail)
        last = fold_breaks(panels[i], last)
        folded[i] = (first, last)
        left -= len(last.units)

    nodes: list[SceneNode] = []
    edges: list[SceneEdge] = []
    groups: list[SceneGroup] = []
    places = Places.of(report)
    for i, panel in enumerate(panels):
        writer = BoxWriter(report, panel, i, detail, source)
        partition = folded[i][1]
        frame = _call_group(report, panel, i, places) if len(panels) > 1 else None
        arranged = arrange(panel, partition, frame, i, places, _asked_at(report, panel))
        groups += arranged.groups
        nodes += [writer.node(k, unit, arranged.around[k], arranged.inside[k]) for k, unit in enumerate(partition.units)]
        edges += writer.edges(partition)
    nodes += causes_without_node(report, nodes, source)
    notes = _notes(report, [folded[i] for i in range(len(panels))], graph, together, len(calls), detail)
    return Scene(short_target(report.target), _subtitle(report), tuple(nodes), tuple(edges), tuple(groups), notes)


def _notes(
    report: Report, folded: Sequence[tuple[Partition, Partition]], graph: ReportGraph, together: bool, calls: int, detail: str
) -> tuple[str, ...]:
    notes: list[str] = []
    if not graph.nodes:
        why = f": {report.error.type}: {captions.clip(report.error.message, 100)}" if report.error else ""
        notes.append("no source leads anywhere, so there are no ops to draw" if report.root_causes and not why else f"nothing to draw{why}")
    first, last = sum(len(f.units) for f, _ in folded), sum(len(p.units) for _, p in folded)
    if last < first:
        what = {"line": "boxes of a line or a layer's variables", "ops": "ops and sources", "layers": "boxes of a layer or its variables"}[detail]
        notes.append(f"folded: {first:,} {what} are drawn as {last:,}; counts are in the boxes")
    if together:
        notes.append(f"folded: {calls} gradient calls are drawn as one")
    return tuple(notes)


def _subtitle(report: Report) -> str:
    asked = [s for c in report.calls for s in c.sources]
    kinds = {s.kind for s in asked}
    noun = kinds.pop() if len(kinds) == 1 and len({s.label for s in asked}) == len(asked) else "source"
    broken = len(report.broken)
    answer = f"{broken:,} of {captions.count(len(asked), noun)} {'receives' if broken == 1 else 'receive'} no gradient"
    if report.empty and not broken:
        answer = EMPTY
    elif not broken:
        answer = f"a gradient reaches {'each' if len(asked) > 1 else 'the one'} of {captions.count(len(asked), noun)}"
    for verdict, words in ((Verdict.CONDITIONAL, "only in some branches"), (Verdict.OPAQUE, "as Python code decides")):
        if number := sum(s.verdict is verdict for s in asked):
            answer += f", {number:,} {words}"
    versions = [f"{name} {version}" for name, version in (("TensorFlow", report.tensorflow), ("Keras", report.keras)) if version]
    versions += [f"{captions.clip(report.mode, 20)} run"] if report.mode not in ("", "graph") else []
    return " · ".join([answer, captions.count(len(report.calls), "gradient call"), *_raised(report), *versions])


def _raised(report: Report) -> list[str]:
    """What raised, a gradient call or the step, with the name of the error."""
    several = len(report.calls) > 1
    said = [f"{f'gradient call {i + 1}' if several else 'the gradient call'} raises {c.error.type}" for i, c in enumerate(report.calls) if c.error]
    return [captions.clip(words, 80) for words in (*said, *([f"the step raises {report.error.type}"] if report.error else []))]


def _call_group(report: Report, panel: Panel, index: int, places: Places) -> SceneGroup:
    call = report.calls[panel.call] if panel.call is not None and panel.call < len(report.calls) else None
    title = f"gradient call {index + 1}"
    if call is not None:
        broken = sum(s.is_broken for s in call.sources)
        where = f"  ·  {places.place(call.location)}" if call.location else ""
        title += f"{where}  ·  {broken} of {len(call.sources)} without gradient"
    return SceneGroup(f"call_{index}", title, None, is_call=True)


def _asked_at(report: Report, panel: Panel) -> Location | None:
    """Where the gradient call is made: the lines of that function stand free, those of others are put into a box."""
    return report.calls[panel.call].location if panel.call is not None and panel.call < len(report.calls) else None

"""The graph of a report for Google's Model Explorer: a graph collection that it opens, and node data that it paints over a graph.

The formats are those of its ``input_graph.ts`` (GraphCollection, Graph, GraphNode) and ``node_data_builder.py`` (graph id → results).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tapetrace.model.graph import GraphNode, Role, Status
from tapetrace.model.report import Report
from tapetrace.render.dot import LOOKS
from tapetrace.render.layers import common_scope, layers_of
from tapetrace.render.outline import outline
from tapetrace.render.places import Places
from tapetrace.render.visible import shown_path, shown_target, visible

_LONGEST_NAME = 2_000


def render_model_explorer(report: Report, *, source: bool = True) -> tuple[str, str]:
    """The graph collection and the node data, as JSON text. ``source=False`` leaves lines of code out."""
    graphs: list[dict[str, Any]] = []
    results: dict[str, dict[str, Any]] = {}
    for call in sorted({c for n in report.drawing.nodes for c in n.calls}):
        graph = _graph(report, call, source)
        graphs.append(graph)
        kept = {n["id"]: next(a["value"] for a in n["attrs"] if a["key"] == "gradient") for n in graph["nodes"]}
        results[graph["id"]] = {
            "name": "gradient status",
            "results": {id_: {"value": status, "bgColor": _background(Status(status))} for id_, status in kept.items()},
            "hideInAggregatedStatsTable": True,
            "showExpandedSummaryOnGroupNode": True,
            "showLabelCountColumnsInChildrenStatsTable": True,
        }
    collection = {"label": f"tapetrace: {shown_target(report.target)}", "graphs": graphs}
    return _dump(collection), _dump(results)


def _graph(report: Report, call: int, source: bool) -> dict[str, Any]:
    nodes = [n for n in report.drawing.nodes if call in n.calls]
    ids = _ids(nodes)
    incoming: dict[str, list[str]] = {}
    for e in report.drawing.edges:
        if e.tail in ids and e.head in ids:
            incoming.setdefault(e.head, []).append(e.tail)
    title, own, answer, places = f"gradient call {call + 1}", "", "", Places.of(report)
    if call < len(report.calls):
        found = outline(report)[call]
        location = report.calls[call].location
        title = f"{title}: {visible(found.asked(source))}" + (f" at {shown_path(location.file)}:{location.line}" if location else "")
        own = places.function(location)
        answer = found.count(len(found.broken), "receive") + " no gradient"
    around = _namespaces(report, call, places, own)
    written = [_node(n, ids, incoming.get(n.name, []), around[n.name], source) for n in nodes]
    facts = {"target": shown_target(report.target), "answer": answer, "TensorFlow": visible(report.tensorflow), "Keras": visible(report.keras)}
    return {"id": title, "nodes": written, "groupNodeAttributes": {"": {key: value for key, value in facts.items() if value}}}


def _node(n: GraphNode, ids: dict[str, str], tails: Sequence[str], namespace: str, source: bool) -> dict[str, Any]:
    facts = {
        "gradient": n.status.value, "cause": n.cause.value if n.cause else "", "root cause": str(n.number) if n.number else "", "name": n.name,
        "role": n.role.value, "type": n.type,
    }  # fmt: skip
    if n.location is not None:
        facts |= {"line": f"{shown_path(n.location.file)}:{n.location.line}", "function": n.location.function}
        facts |= {"code": n.location.code} if source else {}
    look = LOOKS[n.status]
    return {
        "id": ids[n.name],
        "label": _label(n),
        "namespace": namespace,
        "attrs": [{"key": key, "value": visible(value)} for key, value in facts.items() if value],
        "incomingEdges": [{"sourceNodeId": ids[t], "sourceNodeOutputId": "0", "targetNodeInputId": str(i)} for i, t in enumerate(tails)],
        "outputsMetadata": [{"id": "0", "attrs": [{"key": "tensor_shape", "value": _shape(n)}]}] if n.dtype else [],
        "style": {"backgroundColor": _background(n.status), "borderColor": look.line},
    }


def _label(n: GraphNode) -> str:
    """The op's type, the source's name; a break by its cause, since Model Explorer hides ops such as ReadVariableOp by their label."""
    if n.status is Status.BREAK:
        return f"✂ {n.cause.value if n.cause else 'break'} ({visible(n.type)})"
    return visible((n.label.rpartition("/")[2] or n.label or n.name) if n.role is Role.SOURCE else n.type) or "op"


def _namespaces(report: Report, call: int, places: Places, own: str) -> dict[str, str]:
    """What Model Explorer folds each node into: the scopes around an op, else the function whose line made it; a source goes to its readers."""
    nodes = {n.name: n for n in report.drawing.nodes if call in n.calls}
    edges = [e for e in report.drawing.edges if e.tail in nodes and e.head in nodes]
    readers: dict[str, list[str]] = {}
    position = {name: i for i, name in enumerate(nodes)}
    layers = layers_of(list(nodes.values()), [(position[e.tail], position[e.head], e.status) for e in edges])
    for e in edges:
        if nodes[e.tail].role is Role.SOURCE:
            readers.setdefault(e.tail, []).append(layers[position[e.head]])
    return {name: _namespace(n, common_scope(readers[name]) if name in readers else "", places, own) for name, n in nodes.items()}


def _namespace(n: GraphNode, of_readers: str, places: Places, own: str) -> str:
    function = places.function(n.location)
    inside = of_readers or n.scope
    if not inside and n.role is not Role.SOURCE and function not in ("", own):
        # The path is in the attributes, and to Model Explorer it would be a level of its own.
        inside = function.replace("/", " ")
    # To Model Explorer a ; would mean several namespaces.
    return "/".join(visible(part).replace(";", ",") for part in inside.split("/") if part)


def _ids(nodes: Sequence[GraphNode]) -> dict[str, str]:
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for n in nodes:
        name = whole = visible(n.name, _LONGEST_NAME) or "(no name)"
        turn = 1
        while name in taken:
            turn += 1
            name = f"{whole} ({turn})"
        taken.add(name)
        ids[n.name] = name
    return ids


def _background(status: Status) -> str:
    """The pale colour of the pictures; a break in its full one, since Model Explorer draws no double frame."""
    return LOOKS[status].line if status is Status.BREAK else LOOKS[status].fill


def _shape(n: GraphNode) -> str:
    inside = "…" if n.shape is None else ",".join("?" if size is None else str(size) for size in n.shape)
    return visible(f"{n.dtype}[{inside}]")


def _dump(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace('},{"id":', '},\n{"id":') + "\n"

"""A plain picture for a machine without a layout engine: boxes in rows by their distance from the start, lines between them."""

from __future__ import annotations

from tapetrace.model.graph import Status
from tapetrace.render.captions import CODE_WIDTH, clip, columns
from tapetrace.render.html_markup import Markup, element
from tapetrace.render.html_svg import edge_group, node_group, svg_element
from tapetrace.render.scene import Kind, Scene, SceneEdge, SceneNode

_COLUMN, _LINE, _PAD, _GAP, _ROW_GAP, _WIDEST = 6.0, 13.0, 8.0, 20.0, 44.0, 1800.0
"""Points. A column is as wide as a character of a fixed-width font of 10 points."""

_Box = tuple[float, float, float, float]


def layered_svg(scene: Scene, call: int, label: str) -> Markup:
    """The scene with each box below all those that it reads; crossings are reduced by one pass, layers and functions have no frame."""
    rows = _rows(scene)
    boxes: dict[str, _Box] = {}
    y = 10.0
    for row in rows:
        x, height = 10.0, 0.0
        for node in row:
            texts = _texts(node)
            width = max([columns(text) * _COLUMN for text, _ in texts] or [40.0]) + 2 * _PAD
            if x > 10.0 and x + width > _WIDEST:
                x, y, height = 10.0, y + height + _GAP, 0.0
            boxes[node.key] = (x, y, width, len(texts) * _LINE + _PAD)
            height = max(height, len(texts) * _LINE + _PAD)
            x += width + _GAP
        y += height + _ROW_GAP
    edges = [_edge(e, boxes) for e in scene.edges if e.tail in boxes and e.head in boxes]
    nodes = [_node(n, boxes[n.key], call) for row in rows for n in row]
    width = max((x + w for x, _, w, _ in boxes.values()), default=90.0) + 10.0
    return svg_element([0.0, 0.0, width, y], [*edges, *nodes], label)


def _rows(scene: Scene) -> list[list[SceneNode]]:
    rank: dict[str, int] = {n.key: 0 for n in scene.nodes}
    before: dict[str, list[str]] = {}
    for e in scene.edges:
        before.setdefault(e.head, []).append(e.tail)
    # Longest paths settle after as many rounds as there are rows; a cycle, which a coarse fold may close, ends with the count of boxes.
    for _ in scene.nodes:
        moved = {e.head: rank[e.tail] + 1 for e in scene.edges if rank[e.head] <= rank[e.tail] < len(rank)}
        if not moved:
            break
        for key, at in moved.items():
            rank[key] = max(rank[key], at)
    after: dict[str, int] = {}
    for e in scene.edges:
        after[e.tail] = min(after.get(e.tail, len(rank)), rank[e.head])
    rank |= {n.key: max(0, after[n.key] - 1) for n in scene.nodes if n.key not in before and n.key in after}
    rows: dict[int, list[SceneNode]] = {}
    for n in scene.nodes:
        rows.setdefault(rank[n.key], []).append(n)
    place: dict[str, float] = {}
    ordered = []
    for at in sorted(rows):
        row = sorted(rows[at], key=lambda n: _middle([place[t] for t in before.get(n.key, []) if t in place]))
        place |= {n.key: i for i, n in enumerate(row)}
        ordered.append(row)
    return ordered


def _middle(found: list[float]) -> float:
    return sum(found) / len(found) if found else 0.0


def _texts(node: SceneNode) -> list[tuple[str, str]]:
    numbers = f"{', '.join(map(str, node.numbers))}  " if node.numbers else ""
    sign = "✂ " if node.kind is Kind.BREAK else ""
    rows = [("TARGET" if node.is_target else "", "strong"), (f"{numbers}{sign}{node.heading}" if node.heading else "", "strong")]
    rows += [
        (clip(node.code, CODE_WIDTH) if node.code else "", "mono"),
        (node.place, "small"),
        *((line, "small") for line in node.footnote.split("\n")),
    ]
    return [(text, look) for text, look in rows if text]


def _node(node: SceneNode, box: _Box, call: int) -> Markup:
    x, y, width, height = box
    status = node.status.value
    size = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    weight = "4" if node.is_target else "2" if node.status in (Status.LIVE, Status.BREAK) else "1.2"
    frame = element("rect", class_=f"f-{status}-fill s-{status}", rx="8" if node.kind is Kind.SOURCES else "1", stroke_width=weight, **size)
    outer = {"x": f"{x - 4:g}", "y": f"{y - 4:g}", "width": f"{width + 8:g}", "height": f"{height + 8:g}"}
    second = [element("rect", class_=f"f-none s-{status}", stroke_width="1.6", **outer)] if node.kind is Kind.BREAK else []
    texts = [
        element("text", text, x=f"{x + _PAD:g}", y=f"{y + (i + 1) * _LINE:g}", class_=f"f-ink {look}") for i, (text, look) in enumerate(_texts(node))
    ]
    return node_group(node, call, frame, *second, *texts)


def _edge(edge: SceneEdge, boxes: dict[str, _Box]) -> Markup:
    (ax, ay, aw, ah), (bx, by, bw, _) = boxes[edge.tail], boxes[edge.head]
    x1, y1, x2, y2 = ax + aw / 2, ay + ah, bx + bw / 2, by
    bend = max(12.0, (y2 - y1) / 2)
    way = element("path", class_=f"f-none s-{edge.status.value} way", d=f"M{x1:g},{y1:g}C{x1:g},{y1 + bend:g} {x2:g},{y2 - bend:g} {x2:g},{y2:g}")
    tip = element("polygon", class_=f"f-{edge.status.value} s-none", points=f"{x2 - 3:g},{y2 - 7:g} {x2 + 3:g},{y2 - 7:g} {x2:g},{y2:g}")
    return edge_group(edge.tail, edge.head, edge.status.value, way, tip)

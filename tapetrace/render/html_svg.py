"""The engine's SVG → SVG inside the page: only shapes and text are taken over, colours become classes, and each box knows its key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from tapetrace.render.dot import FAINT, INK, LOOKS, MONO
from tapetrace.render.html_markup import Markup, element, join, lines
from tapetrace.render.scene import Kind, Scene, SceneNode

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK_TITLE = "{http://www.w3.org/1999/xlink}title"
_GEOMETRY = ("d", "points", "x", "y", "cx", "cy", "rx", "ry", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "text-anchor")
_HARMLESS = re.compile(r"[-+0-9.,eE MLHVCSQTAZmlhvcsqtaz]*|bold|start|middle|end")
_NAMED = {
    **{look.line.lower(): status.value for status, look in LOOKS.items()},
    **{look.fill.lower(): f"{status.value}-fill" for status, look in LOOKS.items()},
    INK.lower(): "ink", FAINT.lower(): "faint", "#ffffff": "paper", "#bbbbbb": "frame", "#333333": "frame", "none": "none",
}  # fmt: skip


def inline_svg(svg: bytes, scene: Scene, call: int, label: str) -> Markup:
    """The picture of one gradient call, for people who see it, and with names for those who do not."""
    root = ElementTree.fromstring(svg)
    box = [float(n) for n in re.findall(r"-?[0-9.]+", root.get("viewBox", ""))] or [0.0, 0.0, 100.0, 100.0]
    drawing = next(root.iter(f"{_SVG}g"))
    shift = re.search(r"translate\(([-0-9.]+)[ ,]+([-0-9.]+)\)", drawing.get("transform", ""))
    if shift:
        box = [box[0] - float(shift[1]), box[1] - float(shift[2]), *box[2:]]
    nodes = {n.key: n for n in scene.nodes}
    # Frames, which the engine fills, lie behind lines, lines behind boxes; boxes in the order of the data, which is that of the Tab key.
    layers = ["cluster", "edge", "node"]
    place = {key: i for i, key in enumerate(nodes)}
    found = [g for g in drawing.iter(f"{_SVG}g") if g.get("class") in layers]
    found.sort(key=lambda g: (layers.index(g.get("class", "")), place.get(_key(g), 0)))
    return svg_element(box, [_group(g, nodes, call) for g in found], label)


def svg_element(box: list[float], groups: list[Markup], label: str) -> Markup:
    """``box`` is x, y, width and height in points."""
    view = " ".join(f"{n:g}" for n in box)
    return element("svg", *groups, class_="drawing", viewBox=view, width=f"{box[2]:g}pt", height=f"{box[3]:g}pt", role="group", aria_label=label)


def node_group(node: SceneNode, call: int, *shapes: Markup) -> Markup:
    """The shapes of a box with all that the script and a screen reader need to know."""
    numbers = " ".join(map(str, node.numbers))
    classes = f"node {node.status.value}"
    return element(
        "g", element("title", lines(node.tooltip or node.heading)), *shapes,
        class_=classes, id=box_id(call, node.key), data_box=node.key, data_numbers=numbers or None, data_opens=_opens(node), role="img",
        aria_label=describe(node),
    )  # fmt: skip


def _opens(node: SceneNode) -> str | None:
    """How the script opens the box: by a click, or, where that chooses what is in it, by its knob alone. A box of one op or source does not open."""
    if len(node.members) < 2:
        return None
    return "knob" if node.kind in (Kind.BREAK, Kind.SOURCES) else "click"


def edge_group(tail: str, head: str, title: str, *shapes: Markup) -> Markup:
    return element("g", element("title", title), *shapes, class_="edge", data_tail=tail, data_head=head)


def box_id(call: int, key: str) -> str:
    return f"box-{call}-{key}"


def describe(node: SceneNode) -> str:
    """The box in one line: ``break 1: outside_tape, vae.py:33 in train_step, blocks 8 variables``."""
    number = f" {', '.join(map(str, node.numbers))}" if node.numbers else ""
    words = f"{'target, ' if node.is_target else ''}{node.status.value}{number}: "
    return words + ", ".join(p for p in (node.heading, node.code, node.place, *node.footnote.split("\n")) if p)


def _group(group: ElementTree.Element, nodes: dict[str, SceneNode], call: int) -> Markup:
    key = _key(group)
    shapes = list(_shapes(group))
    if group.get("class") == "node" and key in nodes:
        return node_group(nodes[key], call, *shapes)
    if group.get("class") == "edge":
        tail, _, head = key.partition("->")
        title = next((a.get(_XLINK_TITLE) or "" for a in group.iter(f"{_SVG}a")), "")
        return edge_group(tail, head, title, *shapes)
    return element("g", *shapes, class_="cluster", data_group=key.removeprefix("cluster_"))


def _key(group: ElementTree.Element) -> str:
    return group.findtext(f"{_SVG}title") or ""


def _shapes(group: ElementTree.Element) -> Iterator[Markup]:
    for found in group.iter():
        tag = found.tag.removeprefix(_SVG) if isinstance(found.tag, str) else ""
        if tag not in ("path", "polygon", "polyline", "ellipse", "text"):
            continue
        kept = {name: value for name in _GEOMETRY if _HARMLESS.fullmatch(value := found.get(name, "")) and value}
        yield element(tag, *([lines(found.text or "")] if tag == "text" else []), class_=_classes(found, tag), **kept)


def _classes(found: ElementTree.Element, tag: str) -> str:
    fill, stroke = found.get("fill", "ink" if tag == "text" else "none"), found.get("stroke", "none")
    names = [f"f-{_NAMED.get(fill.lower(), 'ink')}"]
    if tag != "text":
        names.append(f"s-{_NAMED.get(stroke.lower(), 'ink')}")
    elif found.get("font-family") == MONO:
        names.append("mono")
    return join(*(" ".join(names),))

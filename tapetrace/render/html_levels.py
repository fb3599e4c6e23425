"""The levels of a picture as the page keeps them, with what a choice lights up inside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tapetrace.model.graph import Role, Status
from tapetrace.render.captions import CODE_WIDTH, clip
from tapetrace.render.html_links import Links
from tapetrace.render.levels import Levels
from tapetrace.render.routes import Routes
from tapetrace.render.scene import Kind, SceneNode
from tapetrace.render.visible import visible

KINDS, STATUSES = tuple(Kind), tuple(Status)
"""Written as positions in these."""


def levels_data(levels: Levels, links: Links, call: int) -> dict[str, Any]:
    """All boxes, the op that each ends in, and the ways between ops; texts are written once and named by position.

    A row of ``boxes`` is parent, kind, status, heading, code, place, footnote, tooltip, numbers, ``1 target + 2 frame``, ops, sources, key; the key
    of a box inside another is left out, it is ``parent.position``. ``leaf`` holds for each op the box that it ends in, ``edges`` tails, heads and
    statuses. ``routes`` holds for each source its ops; ``[…, -1, source, from]`` goes on as the route of another source does.
    """
    texts: dict[str, int] = {}

    def text(found: str) -> int:
        return texts.setdefault(found, len(texts))

    nodes, edges = levels.panel.nodes, levels.panel.edges
    inner = {b.parent for b in levels.boxes}
    leaf = [-1] * len(nodes)
    for at, box in enumerate(levels.boxes):
        if at not in inner:
            for m in box.members:
                leaf[m] = at
    routes = Routes(levels.panel)
    return {
        "boxes": [_row(b.node, b.parent, b.is_frame, text) for b in levels.boxes],
        "leaf": leaf,
        "numbers": {str(i): n.number for i, n in enumerate(nodes) if n.number},
        "targets": [i for i, n in enumerate(nodes) if n.role is Role.TARGET],
        "edges": [[a for a, _, _ in edges], [b for _, b, _ in edges], [STATUSES.index(s) for _, _, s in edges]],
        "routes": _routes(links, call, routes),
        "stops": {
            str(i): list(dict.fromkeys(op for name, _ in p.place.ops if (op := routes.find(name)) is not None)) for i, p in links.of_call(call)
        },
        "texts": list(texts),
    }  # fmt: skip


def levels_json(levels: Levels, links: Links, call: int) -> str:
    return json.dumps(levels_data(levels, links, call), ensure_ascii=True, separators=(",", ":"))


def _row(node: SceneNode, parent: int, is_frame: bool, text: Callable[[str], int]) -> list[Any]:
    row = [
        parent, KINDS.index(node.kind), STATUSES.index(node.status), text(visible(node.heading)),
        text(clip(visible(node.code), CODE_WIDTH) if node.code else ""), text(visible(node.place)),
        text("\n".join(visible(line) for line in node.footnote.split("\n"))), text(_plain(node.tooltip)), list(node.numbers),
        node.is_target + 2 * is_frame, node.ops, node.sources,
    ]  # fmt: skip
    return row if "." in node.key else [*row, node.key]


def _plain(tooltip: str) -> str:
    return "\n".join(visible(line) for line in tooltip.split("\n"))


def _routes(links: Links, call: int, found: Routes) -> dict[str, list[int]]:
    """What a route shares with the end of an earlier one is not repeated: a large network has a thousand sources and routes of a thousand ops."""
    tails: dict[tuple[int, int], int] = {}
    written: dict[int, tuple[int, int]] = {}
    routes: dict[str, list[int]] = {}
    for i, s in enumerate(links.sources):
        if s.call != call:
            continue
        route = found.of(s.source.route)
        # A tail is its first op and the tail behind it, so equal tails have equal numbers.
        named, behind = [0] * len(route), -1
        for k in range(len(route) - 1, -1, -1):
            behind = named[k] = tails.setdefault((route[k], behind), len(tails))
        shared = next((k for k, tail in enumerate(named) if tail in written), len(route))
        routes[str(i)] = [*route[:shared], *((-1, *written[named[shared]]) if shared < len(route) else ())]
        written |= {tail: (i, k) for k, tail in enumerate(named[:shared])}
    return routes

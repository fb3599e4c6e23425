"""Scene → DOT. Colour means gradient status and nothing else, and each status has a line style of its own for print and for the colour-blind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pydot

from tapetrace.model.graph import Status
from tapetrace.render.captions import CODE_WIDTH, clip
from tapetrace.render.scene import Kind, Scene, SceneEdge, SceneGroup, SceneNode

SANS = "Helvetica,Arial,sans-serif"
MONO = "DejaVu Sans Mono,Menlo,Courier New,monospace"
"""Fonts whose characters are all equally wide (0.6 em), so that text laid out in one fits its box in another."""
INK, FAINT = "#1A1A1A", "#555555"


@dataclass(frozen=True, slots=True)
class Look:
    """How a status is drawn. Colours are six digits (``dot`` paints three-digit ones black), from the palette of Okabe and Ito."""

    line: str
    fill: str
    style: str
    width: float
    means: str


LOOKS = {
    Status.LIVE: Look("#009E73", "#E6F5F0", "solid", 2.0, "live: gradient flows"),
    Status.DEAD: Look("#808080", "#F2F2F2", "dashed", 1.2, "dead: data flows, gradient does not"),
    Status.BREAK: Look("#D55E00", "#FDEBDD", "solid", 1.6, "break: gradient stops here"),
    Status.CONDITIONAL: Look("#0072B2", "#E3F0F8", "dotted", 1.8, "conditional: in one branch only"),
    Status.OPAQUE: Look("#AA4499", "#F7E9F4", "dashed", 1.2, "opaque: only Python code decides"),
}


def scene_to_dot(
    scene: Scene, *, titled: bool = True, link: Callable[[SceneNode], str] | None = None, sides: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The DOT text of a scene. Data flows from top to bottom; the same scene always gives the same text. ``titled=False`` leaves out title, notes
    and legend; ``link`` gives the address that a box leads to, empty for none; ``sides`` the side of a group's title where it is not the left."""
    graph = pydot.Dot("tapetrace", graph_type="digraph")
    graph.set_graph_defaults(**_attributes(
        label=_title(scene) if titled else "", labelloc="t", labeljust="l", fontname=SANS, rankdir="TB", nodesep="0.3", ranksep="0.4", pad="0.25",
        tooltip=" ", bgcolor="#FFFFFF", outputorder="edgesfirst",
    ))  # fmt: skip
    graph.set_node_defaults(**_attributes(shape="box", fontname=SANS, fontsize="10", fontcolor=INK, margin="0.09,0.05", height="0.3"))
    graph.set_edge_defaults(**_attributes(arrowsize="0.7", fontname=SANS))
    # pydot's annotations do not know that a Cluster is a Subgraph.
    clusters: dict[str, Any] = {group.key: _cluster(group, sides.get(group.key, "l")) for group in scene.groups}
    holders: dict[str | None, Any] = {None: graph} | clusters
    for node in scene.nodes:
        holders[node.group].add_node(pydot.Node(node.key, **_node(node), **_attributes(URL=escape(link(node)) if link else "")))
    for group in reversed(scene.groups):
        holders[group.parent].add_subgraph(clusters[group.key])
    sources = {n.key for n in scene.nodes if n.kind is Kind.SOURCES}
    for edge in scene.edges:
        graph.add_edge(pydot.Edge(edge.tail, edge.head, **_edge(edge, is_trunk=edge.tail not in sources)))
    for tail, head in (*_stacking(scene), *_rows(scene)):
        graph.add_edge(pydot.Edge(tail, head, **_attributes(style="invis", weight="0")))
    return str(graph.to_string())


def escape(text: str) -> str:
    """The text for use in an HTML-like label or inside a quoted attribute: nothing that DOT, Graphviz's escapes or XML give a meaning to is left."""
    return "".join(_ESCAPES.get(c) or (c if _is_printable(c) else "�") for c in text)


# Graphviz replaces \\N, \\G and the like after it has decoded entities, hence two backslashes for one.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\\": "&#92;&#92;", "\n": "&#10;", "\t": " "}


def _tooltip(text: str) -> str:
    """A tooltip goes through Graphviz's replacements twice."""
    escaped = escape(text).replace("&#92;", "&#92;&#92;")
    if len(escaped) > _LONGEST:
        return _tooltip(text[: _LONGEST // 12] + "…")
    return escaped or " "


_LONGEST = 15_000
"""Characters of an attribute. Graphviz refuses a document with more than 16,384 in one; a character escaped takes ten."""


def _is_printable(c: str) -> bool:
    return not (c < " " or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff")


def _attributes(**plain: str) -> dict[str, Any]:
    """Attribute values as DOT wants them: HTML-like ones as they are, all others quoted."""
    return {k: v if v.startswith("<") else f'"{v}"' for k, v in plain.items() if v}


def _node(node: SceneNode) -> dict[str, Any]:
    look = LOOKS[node.status]
    shape = ",rounded" if node.kind is Kind.SOURCES else ""
    return _attributes(
        label=f"<{_break_label(node) if node.status is Status.BREAK else _label(node)}>",
        style=f"filled,{look.style}{shape}",
        color=look.line,
        fillcolor=look.fill,
        penwidth=f"{look.width + 1.5 * (node.is_target and node.status is not Status.BREAK):g}",
        peripheries="2" if node.status is Status.BREAK else "",
        tooltip=_tooltip(node.tooltip),
    )


def _edge(edge: SceneEdge, is_trunk: bool) -> dict[str, Any]:
    look = LOOKS[edge.status]
    # A double line, so that a broken way differs from a live one in print too.
    color = f"{look.line}:#FFFFFF:{look.line}" if edge.status is Status.BREAK else look.line
    return _attributes(
        color=color,
        style=look.style,
        penwidth=f"{look.width:g}",
        weight="6" if is_trunk else "",
        arrowhead="odot" if edge.status is Status.OPAQUE else "",
        tooltip=_tooltip(look.means + (f" ({edge.count:,} tensors)" if edge.count > 1 else "")),
    )


def _cluster(group: SceneGroup, side: str) -> pydot.Cluster:
    name = f"<b>{escape(group.title)}</b>" if group.is_call else escape(group.title)
    return pydot.Cluster(
        group.key,
        **_attributes(
            label=f'<<font point-size="{12 if group.is_call else 10}" color="{INK if group.is_call else FAINT}">{name}</font>>',
            labeljust=side, style="rounded", color="#333333" if group.is_call else "#BBBBBB", penwidth="1", margin="14" if group.is_call else "10",
            tooltip=_tooltip(group.title),
        ),
    )  # fmt: skip


def _label(node: SceneNode) -> str:
    rows = [_small(f"{node.heading}", bold=node.kind is not Kind.LINE)]
    if node.is_target:
        rows.insert(0, '<font point-size="10"><b>TARGET</b></font>')
    return _table([*rows, _code(node.code), _small(" · ".join(p for p in (node.place, node.footnote) if p))])


def _break_label(node: SceneNode) -> str:
    what = f"<b>✂ {escape(node.heading)}</b>"
    rows = [f'<font point-size="12">{what}</font>', _code(node.code)]
    rows += [_small(line) for line in " · ".join(p for p in (node.place, node.footnote) if p).split("\n")]
    if node.is_target:
        rows.insert(0, '<font point-size="10"><b>TARGET</b></font>')
    number = _ranges(node.numbers)
    if not number:
        return _table(rows)
    size = 20 if len(number) < 3 else 14
    badge = f'<td bgcolor="{LOOKS[Status.BREAK].line}" cellpadding="7"><font color="#FFFFFF" point-size="{size}"><b>{number}</b></font></td>'
    return f'<table border="0" cellborder="0" cellspacing="4" cellpadding="0"><tr>{badge}<td>{_table(rows)}</td></tr></table>'


def _table(rows: list[str]) -> str:
    cells = "".join(f'<tr><td align="left">{row}</td></tr>' for row in rows if row)
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{cells or "<tr><td> </td></tr>"}</table>'


def _small(text: str, bold: bool = False) -> str:
    if not text:
        return ""
    return f"<b>{escape(text)}</b>" if bold else f'<font point-size="9" color="{FAINT}">{escape(text)}</font>'


def _code(code: str) -> str:
    return f'<font face="{MONO}" point-size="10">{escape(clip(code, CODE_WIDTH))}</font>' if code else ""


def _ranges(numbers: tuple[int, ...]) -> str:
    """``1–3, 7`` for (1, 2, 3, 7)."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


def _title(scene: Scene) -> str:
    rows = [
        f'<font point-size="15"><b>{escape(clip(scene.title, 80, keep_end=True))}</b></font>',
        f'<font point-size="11" color="{FAINT}">{escape(clip(scene.subtitle, 400))}</font>',
        *(f'<font point-size="10" color="{FAINT}">{escape(clip(note, 400))}</font>' for note in scene.notes),
    ]
    cells = "".join(f'<tr><td align="left">{row}</td></tr>' for row in rows)
    legend = f'<tr><td align="left">{_legend(scene)}</td></tr>' if scene.statuses else ""
    space = '<tr><td height="8"></td></tr>'
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="2">{cells}{legend}{space}</table>>'


def _legend(scene: Scene) -> str:
    """The statuses that occur, each with a sample of its line."""
    cells: list[str] = []
    for status in scene.statuses:
        look = LOOKS[status]
        sample = '<font point-size="9"><b>1 ✂</b></font>' if status is Status.BREAK else '<font point-size="9"> </font>'
        border = 2 if status in (Status.LIVE, Status.BREAK) else 1
        cells.append(
            f'<td border="{border}" color="{look.line}" bgcolor="{look.fill}" style="{look.style}" width="26" height="12">{sample}</td>'
            f'<td border="0" align="left"><font point-size="9"> {escape(look.means)}    </font></td>'
        )
    # A nested table is stretched to the width of the title, each column by the same amount: empty columns take most of it.
    filler = '<td border="0" colspan="60"></td>'
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="2"><tr>{"".join(cells)}{filler}</tr></table>'


ROW = 6
"""Boxes side by side, of many that lead to the same boxes or come from the same ones: a row of more cannot be read on a screen."""
COLUMNS = 4
"""How many of more than that stand in one row."""


def _rows(scene: Scene) -> list[tuple[str, str]]:
    """Invisible edges that break rows of boxes, or of chains of boxes, that lead to the same boxes or come from the same ones.

    They close no cycle: what leads to one of the chains leads to all of them, or what one of them leads to all do.
    """
    chains = _chains(scene)
    first = {key: chain[0] for chain in chains for key in chain}
    last = {chain[0]: chain[-1] for chain in chains}
    after: dict[str, set[str]] = {key: set() for key in last}
    before: dict[str, set[str]] = {key: set() for key in last}
    for e in scene.edges:
        tail, head = first[e.tail], first[e.head]
        if tail != head:
            after[tail].add(head)
            before[head].add(tail)
    groups = {n.key: n.group for n in scene.nodes}
    alike: dict[tuple[bool, str | None, frozenset[str]], list[str]] = {}
    for is_after, neighbours in ((True, after), (False, before)):
        for key in last:
            if neighbours[key]:
                alike.setdefault((is_after, groups[key], frozenset(neighbours[key])), []).append(key)
    found: list[tuple[str, str]] = []
    placed: set[str] = set()
    for keys in sorted(alike.values(), key=len, reverse=True):
        row = [key for key in keys if key not in placed]
        if len(row) > ROW:
            found += [(last[upper], lower) for upper, lower in zip(row, row[COLUMNS:], strict=False)]
            placed |= set(row)
    return found


def _chains(scene: Scene) -> list[list[str]]:
    """The boxes of the scene, those together that follow each other in one group with nothing else between, before or beside."""
    groups = {n.key: n.group for n in scene.nodes}
    after: dict[str, set[str]] = {key: set() for key in groups}
    before: dict[str, set[str]] = {key: set() for key in groups}
    for e in scene.edges:
        after[e.tail].add(e.head)
        before[e.head].add(e.tail)
    next_of = {a: b for a, heads in after.items() if len(heads) == 1 for b in heads if before[b] == {a} and groups[a] == groups[b] and a != b}
    chains = [[key] for key in groups if key not in set(next_of.values())]
    for chain in chains:
        while chain[-1] in next_of:
            chain.append(next_of[chain[-1]])
    return chains


def _stacking(scene: Scene) -> list[tuple[str, str]]:
    """Invisible edges that put each gradient call below the one before it, those with a break on top: they are what is looked for."""
    parents = {g.key: g.parent for g in scene.groups}
    calls = [g.key for g in scene.groups if g.is_call]

    def call_of(group: str | None) -> str | None:
        while group is not None and group not in calls:
            group = parents[group]
        return group

    broken = {call_of(n.group) for n in scene.nodes if n.status is Status.BREAK}
    calls.sort(key=lambda call: call not in broken)
    heads, tails = {e.head for e in scene.edges}, {e.tail for e in scene.edges}
    inside = {c: [n.key for n in scene.nodes if call_of(n.group) == c] for c in calls}
    ends = {c: [k for k in keys if k not in tails] for c, keys in inside.items()}
    starts = {c: [k for k in keys if k not in heads] for c, keys in inside.items()}
    return [(a, b) for upper, lower in pairwise(calls) for a in ends[upper][:1] for b in starts[lower]]

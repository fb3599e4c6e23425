"""The graph of a report as GraphML or GEXF, for Gephi, Cytoscape, yEd and whatever else reads them. networkx writes both."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from tapetrace.model.graph import GraphNode, Status
from tapetrace.model.report import Report
from tapetrace.render.dot import LOOKS
from tapetrace.render.visible import shown_path, shown_target

if TYPE_CHECKING:
    import networkx as nx

_NOT_XML = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document can hold, escaped or not; and the carriage return, which reading turns into a line end."""


def plain_graph(report: Report, *, source: bool = True) -> nx.DiGraph[str]:
    """`Report.graph` with attributes that every format has: text, whole numbers, true and false.

    ``shape`` is ``[8,?]``, empty for an unknown rank; ``calls`` is ``0,1``; ``location`` becomes ``file`` (relative below the working directory),
    ``line`` (0 if not known), ``function`` and ``code``; what is None is empty. Characters that XML cannot hold are written as escapes.
    ``source=False`` leaves ``code`` empty.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(name=_clean(shown_target(report.target)))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for node in report.drawing.nodes:
        name = whole = _clean(node.name) or "(no name)"
        turn = 1
        while name in taken:
            turn += 1
            name = f"{whole} ({turn})"
        taken.add(name)
        names[node.name] = name
        graph.add_node(name, **_attributes(node, source))
    for e in report.drawing.edges:
        cause = e.cause.value if e.cause else ""
        graph.add_edge(names[e.tail], names[e.head], open=e.status is not Status.BREAK, status=e.status.value, cause=cause)
    return graph


def render_graphml(report: Report, *, source: bool = True) -> bytes:
    """The graph as GraphML."""
    import networkx as nx

    out = io.BytesIO()
    # Not write_graphml, which is another writer where lxml is installed.
    nx.write_graphml_xml(plain_graph(report, source=source), out)
    return out.getvalue()


def render_gexf(report: Report, *, source: bool = True) -> bytes:
    """The graph as GEXF 1.2, each node in the colour of its status."""
    import networkx as nx

    graph = plain_graph(report, source=source)
    for name, attributes in graph.nodes.items():
        line = LOOKS[Status(attributes["status"])].line
        red, green, blue = (int(line[i : i + 2], 16) for i in (1, 3, 5))
        graph.nodes[name]["viz"] = {"color": {"r": red, "g": green, "b": blue, "a": 1.0}}
    out = io.BytesIO()
    nx.write_gexf(graph, out)
    # networkx writes today's date, and the same report should give the same file.
    return re.sub(rb' lastmodifieddate="[^"]*"', b"", out.getvalue(), count=1)


def _attributes(node: GraphNode, source: bool) -> dict[str, Any]:
    at = node.location
    shape = "" if node.shape is None else f"[{','.join('?' if n is None else str(n) for n in node.shape)}]"
    texts = {
        "type": node.type, "role": node.role.value, "status": node.status.value, "cause": node.cause.value if node.cause else "",
        "scope": node.scope, "label": node.label, "dtype": node.dtype, "shape": shape, "calls": ",".join(map(str, node.calls)),
        "file": shown_path(at.file) if at else "", "function": at.function if at else "", "code": at.code if at and source else "",
    }  # fmt: skip
    return {key: _clean(text) for key, text in texts.items()} | {"number": node.number, "line": at.line if at else 0}


def _clean(text: str) -> str:
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)

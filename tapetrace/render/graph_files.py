"""The graph of a report for other viewers: which names of files ask for it, and in which format."""

from __future__ import annotations

from pathlib import Path

from tapetrace.model.report import Report
from tapetrace.render.files import write_atomic
from tapetrace.render.graph_xml import render_gexf, render_graphml
from tapetrace.render.model_explorer import render_model_explorer

_XML = {".graphml": render_graphml, ".gexf": render_gexf}

graph_suffixes = (".graph.json", *_XML)
"""How the name of such a file ends; ``graph.json`` is one by itself. Every other ``.json`` is a report."""


def is_graph_file(path: Path) -> bool:
    """Whether a file of this name is to hold the graph alone."""
    name = path.name.lower()
    return name == "graph.json" or name.endswith(graph_suffixes)


def write_graph(report: Report, path: Path, *, source: bool = True) -> Path:
    """Write the graph in the format that the name asks for: GraphML, GEXF, or for Model Explorer a graph collection.

    The last comes with a second file beside it, `status_file`, which holds the gradient status as node data. ``source=False`` leaves lines of code
    out. Raises `tapetrace.TapetraceError` for a path that cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix in _XML:
        write_atomic(path, _XML[suffix](report, source=source))
        return path
    graph, status = render_model_explorer(report, source=source)
    write_atomic(status_file(path), status.encode())
    write_atomic(path, graph.encode())
    return path


def status_file(path: Path) -> Path:
    """The file of node data beside a graph collection: ``step.status.json`` for ``step.graph.json``, ``graph.status.json`` for ``graph.json``."""
    stem = path.name[: -len(".json")]
    return path.with_name(f"{stem if stem.lower() == 'graph' else stem[: -len('.graph')]}.status.json")

"""The graph for other viewers: GraphML and GEXF read back are the graph, and a graph collection is as Model Explorer documents it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pytest

from tapetrace.destinations import SUFFIXES, check_destinations, companions
from tapetrace.errors import OutputError
from tapetrace.model.graph import GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report
from tapetrace.render.graph_files import graph_suffixes, is_graph_file, status_file, write_graph
from tapetrace.render.graph_xml import plain_graph, render_gexf, render_graphml
from tapetrace.render.model_explorer import render_model_explorer
from tests.unit import drawings, reports
from tests.unit.drawings import BREAK, DEAD, LIVE, Drawing, report_of

DRAWN = {f.__name__: f for f in (drawings.vae, drawings.gan, drawings.branches, drawings.hostile)} | {
    "small": lambda: reports.report(graph=reports.small_graph())
}


def test_files_below_the_working_directory_are_relative() -> None:
    d = Drawing()
    d.source("v")
    d.op("loss", "Op", ["v"], location=Location.new(str(Path.cwd() / "pkg" / "step.py"), 3, "step", "loss = f(v)"), role=Role.TARGET)
    graph = plain_graph(report_of(d, f"{Path.cwd() / 'pkg' / 'step.py'}:step"))
    assert graph.nodes["loss"]["file"] == "pkg/step.py"
    assert graph.graph["name"] == "pkg/step.py:step"


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_graphml_read_back_is_the_graph(name: str) -> None:
    report = DRAWN[name]()
    plain = plain_graph(report)
    read = nx.read_graphml(io.BytesIO(render_graphml(report)))
    assert dict(read.nodes(data=True)) == dict(plain.nodes(data=True))
    assert {(a, b): d for a, b, d in read.edges(data=True)} == {(a, b): d for a, b, d in plain.edges(data=True)}
    assert read.is_directed()


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_gexf_read_back_is_the_graph(name: str) -> None:
    report = DRAWN[name]()
    plain = plain_graph(report)
    read = nx.read_gexf(io.BytesIO(render_gexf(report)))
    colours = {n: d.pop("viz")["color"] for n, d in read.nodes(data=True)}
    assert dict(read.nodes(data=True)) == dict(plain.nodes(data=True))
    for _, _, d in read.edges(data=True):
        d.pop("id")
    assert {(a, b): d for a, b, d in read.edges(data=True)} == {(a, b): d for a, b, d in plain.edges(data=True)}
    of_status = {(plain.nodes[n]["status"], c["r"], c["g"], c["b"]) for n, c in colours.items()}
    assert len(of_status) == len({status for status, *_ in of_status}), "one colour a status"
    assert ("break", 0xD5, 0x5E, 0x00) in of_status


def test_attributes_are_plain_and_all_there() -> None:
    report = reports.report(graph=reports.small_graph())
    graph = plain_graph(report)
    assert set(graph) == set(report.graph)
    assert graph.nodes["kernel"] == {
        "type": "Variable", "role": "source", "status": "dead", "cause": "", "number": 0, "scope": "", "label": "q/kernel", "dtype": "float32",
        "shape": "[2,?]", "calls": "0", "file": "samples/step.py", "line": 12, "function": "train_step", "code": "q = tf.round(kernel)",
    }  # fmt: skip
    assert (graph.nodes["q/Round"]["cause"], graph.nodes["q/Round"]["number"], graph.nodes["q/Round"]["calls"]) == ("gradient_is_none", 2, "0,1")
    assert (graph.nodes["loss"]["shape"], graph.nodes["loss"]["file"], graph.nodes["loss"]["line"]) == ("", "", 0)
    assert graph.edges["kernel", "q/Round"] == {"open": False, "status": "break", "cause": "gradient_is_none"}
    assert graph.edges["q/Round", "loss"] == {"open": True, "status": "live", "cause": ""}
    assert set(graph.nodes["kernel"]) - {"file", "line", "function", "code"} == set(report.graph.nodes["kernel"]) - {"location"}
    assert plain_graph(report, source=False).nodes["kernel"]["code"] == ""


def test_what_xml_cannot_hold_is_escaped_and_names_stay_apart() -> None:
    names = ["a\x01b", "a\\x01b", "\ud800", "￿", "", "(no name)"]
    report = reports.report(graph=ReportGraph(tuple(GraphNode(n, "Op\x1b", Status.LIVE) for n in names)))
    for text in (render_graphml(report), render_gexf(report)):
        ElementTree.fromstring(text)
    assert list(plain_graph(report)) == ["a\\x01b", "a\\x01b (2)", "\\ud800", "\\uffff", "(no name)", "(no name) (2)"]
    collection, _ = render_model_explorer(report)
    ids = [n["id"] for n in json.loads(collection)["graphs"][0]["nodes"]]
    assert len(set(ids)) == len(names)


def check_collection(data: Any) -> None:
    """What ``input_graph.ts`` and ``graph_builder.py`` of Model Explorer ask of a graph collection."""
    assert set(data) == {"label", "graphs"}
    assert isinstance(data["label"], str)
    assert len({g["id"] for g in data["graphs"]}) == len(data["graphs"])
    for graph in data["graphs"]:
        assert set(graph) == {"id", "nodes", "groupNodeAttributes"}
        for facts in graph["groupNodeAttributes"].values():
            assert all(isinstance(v, str) for v in facts.values())
        ids = [n["id"] for n in graph["nodes"]]
        assert len(set(ids)) == len(ids)
        for node in graph["nodes"]:
            assert set(node) == {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata", "style"}
            assert all(isinstance(node[key], str) for key in ("id", "label", "namespace"))
            assert node["label"]
            assert ";" not in node["namespace"]
            assert not node["namespace"] or all(node["namespace"].split("/"))
            for pair in [*node["attrs"], *(a for m in node["outputsMetadata"] for a in m["attrs"])]:
                assert set(pair) == {"key", "value"}
                assert all(isinstance(v, str) for v in pair.values())
            for i, edge in enumerate(node["incomingEdges"]):
                assert edge == {"sourceNodeId": edge["sourceNodeId"], "sourceNodeOutputId": "0", "targetNodeInputId": str(i)}
                assert edge["sourceNodeId"] in ids
            assert set(node["style"]) == {"backgroundColor", "borderColor"}


def check_node_data(data: Any, collection: Any) -> None:
    """What ``node_data_builder.py`` asks of node data by graph id: a result for each node, with a value and a colour."""
    assert list(data) == [g["id"] for g in collection["graphs"]]
    for graph in collection["graphs"]:
        results = data[graph["id"]]["results"]
        assert list(results) == [n["id"] for n in graph["nodes"]]
        for result in results.values():
            assert set(result) == {"value", "bgColor"}
            assert result["value"] in {s.value for s in Status}


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_a_collection_is_as_documented(name: str) -> None:
    report = DRAWN[name]()
    collection, data = (json.loads(text) for text in render_model_explorer(report))
    check_collection(collection)
    check_node_data(data, collection)
    drawn = {(n.name, c) for n in report.drawing.nodes for c in n.calls}
    assert sum(len(g["nodes"]) for g in collection["graphs"]) == len(drawn)


def test_a_collection_says_what_the_report_says() -> None:
    collection, data = (json.loads(text) for text in render_model_explorer(drawings.vae()))
    assert collection["label"] == "tapetrace: samples/vae.py:train_step"
    (graph,) = collection["graphs"]
    assert graph["id"].startswith("gradient call 1: ")
    assert graph["groupNodeAttributes"][""]["answer"] == "8 of 8 variables receive no gradient"
    nodes = {n["id"]: n for n in graph["nodes"]}
    cut = nodes["vae/mu/MatMul"]
    assert (cut["label"], cut["namespace"]) == ("✂ outside_tape (MatMul)", "vae/mu")
    assert [e["sourceNodeId"] for e in cut["incomingEdges"]] == ["vae/enc/Relu", "vae/mu/kernel"]
    attrs = {a["key"]: a["value"] for a in cut["attrs"]}
    assert (attrs["gradient"], attrs["cause"], attrs["root cause"]) == ("break", "outside_tape", "1")
    assert attrs["line"].endswith("vae.py:16")
    assert attrs["code"] == "mu, lv = self.mu(h), self.lv(h)"
    assert cut["outputsMetadata"] == [{"id": "0", "attrs": [{"key": "tensor_shape", "value": "float32[?,8]"}]}]
    assert (nodes["vae/enc/kernel"]["label"], nodes["vae/enc/kernel"]["namespace"]) == ("kernel", "vae/enc")
    assert nodes["kl_sub"]["namespace"] == "total_loss()"
    results = data[graph["id"]]["results"]
    assert results["vae/mu/MatMul"] == {"value": "break", "bgColor": "#D55E00"}
    assert results["vae/enc/kernel"]["value"] == "dead"
    assert "mu, lv = self.mu" not in "".join(render_model_explorer(drawings.vae(), source=False))


def test_a_variable_folds_with_the_layer_that_reads_it() -> None:
    d = drawings.Drawing()
    d.source("net/enc/kernel", DEAD, scope="net/enc")
    d.op("net_1/enc_1/MatMul", "MatMul", ["net/enc/kernel"], BREAK)
    d.op("loss", "Mean", ["net_1/enc_1/MatMul"], LIVE)
    (graph,) = json.loads(render_model_explorer(drawings.report_of(d))[0])["graphs"]
    assert [n["namespace"] for n in graph["nodes"]] == ["net_1/enc_1", "net_1/enc_1", ""]


def test_each_gradient_call_is_a_graph() -> None:
    collection, _ = (json.loads(text) for text in render_model_explorer(drawings.gan()))
    assert [g["groupNodeAttributes"][""]["answer"] for g in collection["graphs"]] == [
        "0 of 4 variables receive no gradient",
        "7 of 7 variables receive no gradient",
    ]


@pytest.mark.parametrize(
    ("name", "is_graph"),
    [
        ("graph.json", True), ("GRAPH.JSON", True), ("step.graph.json", True), ("step.graphml", True), ("step.GEXF", True),
        ("report.json", False), ("mygraph.json", False), ("graph.svg", False), ("graph", False), ("graph.json.svg", False),
    ],
)  # fmt: skip
def test_which_names_ask_for_the_graph(name: str, is_graph: bool) -> None:
    assert is_graph_file(Path("folder.graph.json") / name) is is_graph


@pytest.mark.parametrize(
    ("name", "beside"), [("graph.json", "graph.status.json"), ("a/step.graph.json", "a/step.status.json"), ("Step.Graph.JSON", "Step.status.json")]
)
def test_the_file_of_node_data(name: str, beside: str) -> None:
    assert status_file(Path(name)) == Path(beside)
    assert companions(Path(name)) == [Path(beside)]


@pytest.mark.parametrize("name", ["step.gexf", "report.json", "vae.svg"])
def test_other_files_stand_alone(name: str) -> None:
    assert companions(Path(name)) == []


def test_files_are_written_by_name(tmp_path: Path) -> None:
    report = drawings.vae()
    for name in ("graph.json", "step.graph.json", "step.graphml", "step.gexf", "report.json"):
        assert report.write(tmp_path / name) == tmp_path / name
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "graph.json", "graph.status.json", "report.json", "step.gexf", "step.graph.json", "step.graphml", "step.status.json",
    ]  # fmt: skip
    assert set(json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))) == {"label", "graphs"}
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["schema"] == "tapetrace/1"
    assert len(nx.read_gexf(tmp_path / "step.gexf")) == len(nx.read_graphml(tmp_path / "step.graphml")) == len(report.drawing.nodes)
    check_destinations([tmp_path / "x.gexf", tmp_path / "x.graphml", tmp_path / "x.graph.json"])
    assert {s for s in graph_suffixes if s != ".graph.json"} <= set(SUFFIXES)


def test_a_file_is_not_half_written(tmp_path: Path) -> None:
    (tmp_path / "graph.status.json").mkdir()
    with pytest.raises(OutputError, match=r"graph\.status\.json"):
        write_graph(drawings.vae(), tmp_path / "graph.json")
    assert [p.name for p in tmp_path.iterdir()] == ["graph.status.json"]


def test_a_report_without_a_graph() -> None:
    empty = replace(reports.connected(), build_graph=ReportGraph)
    assert json.loads(render_model_explorer(empty)[0])["graphs"] == []
    assert len(nx.read_graphml(io.BytesIO(render_graphml(empty)))) == 0


def test_bytes_depend_on_the_report_alone() -> None:
    first: Report = drawings.gan()
    for render in (render_graphml, render_gexf, render_model_explorer):
        assert render(first) == render(drawings.gan())  # type: ignore[operator]

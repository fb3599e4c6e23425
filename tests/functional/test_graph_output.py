"""`-o graph.json` and the other files that hold the graph: what is written, and what the command says about it."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from typer.testing import CliRunner

from tapetrace.cli import app
from tests.unit import drawings


def test_the_graph_and_what_is_written_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drawings.vae().write("report.json")
    done = CliRunner().invoke(app, ["render", "report.json", "-o", "graph.json", "-o", "step.gexf", "-o", "copy.json", "--no-source"])
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines() == ["wrote graph.json", "wrote graph.status.json", "wrote step.gexf", "wrote copy.json"]
    (graph,) = json.loads(Path("graph.json").read_text(encoding="utf-8"))["graphs"]
    status = json.loads(Path("graph.status.json").read_text(encoding="utf-8"))
    assert set(status[graph["id"]]["results"]) == {n["id"] for n in graph["nodes"]} == set(nx.read_gexf("step.gexf"))
    assert json.loads(Path("copy.json").read_text(encoding="utf-8"))["schema"] == "tapetrace/1"
    for file in ("graph.json", "step.gexf", "copy.json"):
        assert "tf.reduce_mean" not in Path(file).read_text(encoding="utf-8")


def test_help_names_them() -> None:
    from typer.main import get_command

    (output,) = [p for p in get_command(app).commands["check"].params if "--output" in p.opts]  # type: ignore[attr-defined]
    assert ".graphml .gexf, graph.json or .graph.json for Model Explorer" in output.help  # type: ignore[attr-defined]

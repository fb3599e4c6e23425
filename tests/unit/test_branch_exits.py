"""What hands a value out of a branch is not drawn, unless it tells something."""

from __future__ import annotations

import pytest

from tapetrace.render.panels import Panel
from tapetrace.render.routes import Routes
from tests.unit.graphs import Graph, body, report

USE = body("use", "p").op("twice", "p", line=3).op("copy", "twice", type="Identity", line=2).returns("copy")
DROP = body("drop", "p").op("zero", line=4).returns("zero")


def step(decided_by: str = "k") -> Graph:
    graph = Graph().variables("w u").tensors("k", "int32").read("r", "w", line=1).read("s", "u", line=1).op("greater", "s", dtypes="bool", line=2)
    return graph.cond("c", decided_by, "r", USE, DROP, line=2).op("c/Identity", "c", type="Identity", line=2)


def panel(graph: Graph, sources: str = "w") -> Panel:
    return Panel.new(report([graph, USE, DROP], sources=sources).drawing, 0)


def ways(found: Panel) -> set[tuple[str, str, str]]:
    return {(found.nodes[a].name, found.nodes[b].name, status.value) for a, b, status in found.edges}


INSIDE = {("w", "r", "conditional"), ("r", "c/true/input:0", "conditional"), ("c/true/input:0", "c/true/twice", "conditional")}


def test_a_branch_leads_to_what_reads_its_value() -> None:
    found = panel(step().op("loss", "c/Identity", line=5))
    assert ways(found) == INSIDE | {("c/true/twice", "loss", "conditional")}
    assert Routes(found).find("c") == [n.name for n in found.nodes].index("c/true/input:0")


@pytest.mark.parametrize(
    ("graph", "beside"),
    [
        pytest.param(
            step().op("a", "c/Identity", line=5).op("b", "c/Identity", line=6).op("loss", "a b", line=7),
            {("c/true/twice", "c/Identity", "conditional")}, id="where several read it",
        ),
        pytest.param(
            step("greater").op("loss", "c/Identity", line=5),
            {("c/true/twice", "c:0", "conditional"), ("greater", "c:0", "dead")}, id="where the condition comes in",
        ),
    ],
)  # fmt: skip
def test_the_joint_behind_the_branches_stays(graph: Graph, beside: set[tuple[str, str, str]]) -> None:
    found = ways(panel(graph, "w u"))
    assert found >= {("c/true/input:0", "c/true/twice", "conditional")} | beside
    assert "c/true/copy" not in {end for *ends, _ in found for end in ends}


def test_a_copy_that_the_user_made_stays() -> None:
    own = body("use", "p").op("copy", "p", type="Identity", line=3).returns("copy")
    graph = Graph().variables("w").tensors("k", "int32").read("r", "w", line=1).cond("c", "k", "r", own, DROP, line=2).op("loss", "c", line=5)
    assert "c/true/copy" in {n.name for n in Panel.new(report([graph, own, DROP]).drawing, 0).nodes}

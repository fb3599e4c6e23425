"""Boxes lead to their lines where there is a file of the repository to lead to, and only there."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tapetrace.model.graph import Role
from tapetrace.model.locations import Location
from tapetrace.render.dot import scene_to_dot
from tapetrace.render.folding import fold
from tapetrace.render.scene import Kind, SceneNode
from tapetrace.render.source_links import links_from
from tests.unit import drawings
from tests.unit.drawings import LIVE

HREF = "{http://www.w3.org/1999/xlink}href"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a step, and beside it a file of somebody else."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "src" / "a b&c").mkdir(parents=True)
    (root / "pictures").mkdir()
    for file in (root / "src" / "step.py", root / "src" / "a b&c" / "größe\\N.py", tmp_path / "other.py"):
        file.touch()
    monkeypatch.chdir(root)
    return root


def node(file: str | Path, line: int = 3) -> SceneNode:
    return SceneNode("n", Kind.LINE, LIVE, at=(str(file), line))


def test_a_link_is_relative_to_the_picture(project: Path) -> None:
    for written in (project / "src/step.py", "src/step.py"):
        assert links_from(Path("p.svg"))(node(written)) == "src/step.py#L3"
        assert links_from(project / "pictures" / "p.svg")(node(written)) == "../src/step.py#L3"
    assert links_from(Path("p.svg"))(node(project / "src" / "a b&c" / "größe\\N.py")) == "src/a%20b%26c/gr%C3%B6%C3%9Fe%5CN.py#L3"


@pytest.mark.parametrize("file", ["../other.py", "/nowhere/step.py", "src/gone.py", "<stdin>", "", "src", "src/\x00.py", "src/" + "x" * 5000])
def test_nothing_to_lead_to(project: Path, file: str) -> None:
    assert links_from(Path("p.svg"))(node(os.path.abspath(file) if file.startswith("..") else file)) == ""
    assert links_from(Path("p.svg"))(SceneNode("n", Kind.SOURCES, LIVE)) == ""


def test_boxes_of_a_picture_are_links(project: Path) -> None:
    d = drawings.Drawing()
    d.op("a", "Mul", [], LIVE, Location.new(str(project / "src/step.py"), 7, "f", "y = a * b"))
    d.op("b", "Mul", ["a"], LIVE, Location.new("/elsewhere/b.py", 8, "f", "z = y * b"))
    d.op("loss", "Mean", ["b"], LIVE, role=Role.TARGET)
    report = drawings.report_of(d)
    root = ElementTree.parse(report.write("pictures/p.svg")).getroot()
    assert [a.get(HREF) for a in root.iter("{http://www.w3.org/2000/svg}a") if a.get(HREF)] == ["../src/step.py#L7"]
    assert "URL" not in scene_to_dot(fold(report)), "other forms have no place that a link could start from"


def test_where_a_box_stands() -> None:
    at = {n.heading or n.code: n.at for n in fold(drawings.gan()).nodes}
    assert at["numpy_escape"] == ("gan.py", 47)
    assert at["gap = moments - target_moments"] == ("gan.py", 48)
    assert {n.at for n in fold(drawings.gan()).nodes if n.kind is Kind.SOURCES} == {None}

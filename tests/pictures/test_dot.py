"""Scene → DOT, against golden files, and that no name can break out of its label.

After a wanted change of looks: ``UPDATE_GOLDEN=1 pytest tests/pictures/test_dot.py``, then look at the pictures.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tapetrace.model.graph import Status
from tapetrace.render.captions import clip, columns
from tapetrace.render.dot import COLUMNS, LOOKS, ROW, escape, scene_to_dot
from tapetrace.render.engines import lay_out
from tapetrace.render.folding import fold
from tapetrace.render.scene import Kind, Scene, SceneEdge, SceneNode
from tests.unit import drawings

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", ["vae", "gan", "branches", "hostile"])
def test_golden(name: str) -> None:
    text = scene_to_dot(fold(getattr(drawings, name)()))
    path = GOLDEN / f"{name}.dot"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@given(st.text())
@example("".join(drawings.HOSTILE))
def test_escape_leaves_nothing_with_a_meaning_and_loses_nothing_that_can_be_shown(text: str) -> None:
    escaped = escape(text)
    assert not set(escaped) & set("<>\"'\\\n\r\t")
    escaped.encode("utf-8")
    shown = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "�", text).replace("\t", " ")
    assert html.unescape(escaped).replace("\\\\", "\\") == shown.replace("\\\\", "\\")
    ElementTree.fromstring(f"<label>{escaped}</label>")


def test_colours_have_six_digits_and_each_status_its_own_look() -> None:
    text = scene_to_dot(fold(drawings.branches()))
    assert set(map(len, re.findall(r'"#([0-9A-Fa-f:#]+)"', text))) <= {6, 6 * 3 + 4}
    assert len({look.line for look in LOOKS.values()}) == len(LOOKS) == len(Status)
    assert len({(look.style, look.width) for look in LOOKS.values()}) >= 4


def test_legend_explains_what_occurs_and_no_more() -> None:
    text = scene_to_dot(fold(drawings.gan()))
    assert {s for s in Status if LOOKS[s].means in re.sub(r"tooltip=.*", "", text)} == {Status.LIVE, Status.DEAD, Status.BREAK}


@pytest.mark.parametrize(("boxes", "ways"), [(ROW, set()), (ROW + 1, {(f"b{i}", f"b{i + COLUMNS}") for i in range(ROW + 1 - COLUMNS)})])
@pytest.mark.parametrize("turned", [False, True])
def test_many_boxes_side_by_side_are_broken_into_rows(boxes: int, ways: set[tuple[str, str]], turned: bool) -> None:
    nodes = [SceneNode(key, Kind.LINE, Status.LIVE, key) for key in ("a", *(f"b{i}" for i in range(boxes)))]
    edges = [SceneEdge(*(("a", f"b{i}") if turned else (f"b{i}", "a")), Status.LIVE) for i in range(boxes)]
    text = scene_to_dot(Scene("t", "s", tuple(nodes), tuple(edges)))
    assert set(re.findall(r"(\w+) -> (\w+) +\[style=\"?invis", text)) == ways


def test_chains_side_by_side_are_broken_into_rows_from_the_end_of_one_to_the_start_of_the_next() -> None:
    nodes = [SceneNode(key, Kind.LINE, Status.LIVE, key) for i in range(ROW + 1) for key in (f"b{i}", f"c{i}")]
    ends = [SceneNode(key, Kind.LINE, Status.LIVE, key) for key in ("a", "z")]
    ways = [("a", "b{}"), ("b{}", "c{}"), ("c{}", "z")]
    edges = [SceneEdge(tail.format(i), head.format(i), Status.LIVE) for i in range(ROW + 1) for tail, head in ways]
    text = scene_to_dot(Scene("t", "s", (*ends, *nodes), tuple(edges)))
    assert set(re.findall(r"(\w+) -> (\w+) +\[style=\"?invis", text)) == {("c0", "b4"), ("c1", "b5"), ("c2", "b6")}


def test_a_gradient_call_with_a_break_stands_above_one_without() -> None:
    text = scene_to_dot(fold(drawings.gan()))
    below = set(re.findall(r"(p\d)_\d+ -> (p\d)_\d+ +\[style=\"?invis", text))
    assert fold(drawings.gan()).groups[0].title.endswith("0 of 4 without gradient")
    assert below == {("p1", "p0")}


def test_numbers_of_several_root_causes_share_a_badge() -> None:
    node = SceneNode("a", Kind.BREAK, Status.BREAK, "non_float", numbers=(1, 2, 3, 7))
    assert "<b>1–3, 7</b>" in scene_to_dot(Scene("t", "s", (node,)))


def test_names_and_escapes_arrive_in_the_svg_as_they_are() -> None:
    root = ElementTree.fromstring(lay_out(scene_to_dot(fold(drawings.hostile())), "svg"))
    texts = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]
    titles = [a.get("{http://www.w3.org/1999/xlink}title") or "" for a in root.iter("{http://www.w3.org/2000/svg}a")]
    assert drawings.HOSTILE[0] in texts
    assert any(drawings.HOSTILE[0] in t for t in titles)
    assert "層/重み/カーネル" in texts
    assert max(map(len, texts)) < 120


@given(st.text(), st.integers(4, 60), st.booleans())
def test_clip_fits(text: str, width: int, keep_end: bool) -> None:
    clipped = clip(text, width, keep_end)
    assert columns(clipped) <= width
    assert "\n" not in clipped


@pytest.mark.parametrize(
    ("text", "keep_end", "expected"),
    [("abcdefghij", False, "abcdefg…"), ("abcdefghij", True, "abc…ghij"), ("層層層層層", False, "層層層…"), ("a\n  b", False, "a b")],
)
def test_clip(text: str, keep_end: bool, expected: str) -> None:
    assert clip(text, 8, keep_end) == expected

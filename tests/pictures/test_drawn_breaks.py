"""Breaks in a scene: which box is one, which are put together, and how the edges into and out of them are drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.report import RootCause
from tapetrace.model.words import Cause
from tapetrace.render.folding import fold
from tapetrace.render.scene import Kind
from tapetrace.render.stretches import MOST_BREAKS, WIDEST
from tests.pictures.scenes import arrows, boxes, line
from tests.unit import drawings
from tests.unit.drawings import BREAK, DEAD, LIVE, Drawing, report_of


def side_by_side(breaks: int) -> Drawing:
    """A source, ops on as many lines that all break, the lowest in the ranking first, and a target."""
    d = Drawing()
    d.source("v", DEAD)
    d.op("a", "Op", ["v"], DEAD, line(1))
    for i in range(breaks, 0, -1):
        d.op(f"round{i}", "Round", ["a"], BREAK, line(100 + i), cause=Cause.GRADIENT_IS_NONE, number=i)
    d.op("loss", "AddN", [f"round{i}" for i in range(1, breaks + 1)], LIVE, line(2), role=Role.TARGET)
    return d


def test_break_shows_cause_line_number_and_what_it_blocks() -> None:
    found = [n for n in fold(drawings.vae()).nodes if n.kind is Kind.BREAK]
    assert {(n.heading, n.code, n.place, n.numbers) for n in found} == {
        ("outside_tape", "rec, mu, lv = vae(x, training=True)", "vae.py:33 in train_step", (1,))
    }
    assert "blocks 8 variables, reopening it reconnects 8" in found[0].footnote


def test_a_source_that_nobody_watches_is_the_break() -> None:
    d = Drawing()
    d.source("image", DEAD)
    d.op("a", "Op", ["image"], LIVE, line(1))
    d.op("loss", "Op", ["a"], LIVE, line(2), role=Role.TARGET)
    d.edges = [replace(e, status=LIVE) for e in d.edges]
    made = report_of(d, causes=[RootCause(1, Cause.NOT_WATCHED, line(3), (), ("image",), ("image",))])
    (call,) = made.calls
    report = replace(made, calls=(replace(call, sources=tuple(replace(s, kind="tensor") for s in call.sources)),))
    scene = fold(report)
    assert boxes(scene)[0] == ("line 3", "break", 0, 1)
    assert arrows(scene) == {("line 3", "line 1", "live"), ("line 1", "line 2", "live")}
    assert scene.nodes[0].footnote == "image\nblocks 1 tensor, reopening it reconnects 1"
    assert scene.subtitle.startswith("1 of 1 tensor receives no gradient")


def test_a_source_whose_value_leaves_further_on_is_not_the_break() -> None:
    d = Drawing()
    d.source("v", DEAD)
    d.op("a", "Op", ["v"], DEAD, line(1))
    d.op("loss", "Op", [], LIVE, line(3), role=Role.TARGET)
    report = report_of(d, causes=[RootCause(1, Cause.NUMPY_ESCAPE, line(2), (), ("v",), ("v",))])
    assert boxes(fold(report)) == [("v", "dead", 0, 1), ("line 1", "dead", 1, 0), ("line 3", "live", 1, 0), ("line 2", "break", 0, 0)]


def test_all_that_ran_outside_the_tape_is_one_break() -> None:
    (found,) = (n for n in fold(drawings.vae()).nodes if n.kind is Kind.BREAK)
    assert found.ops == 13
    assert arrows(fold(drawings.vae())) == {
        ("vae/enc/kernel … vae/dec/bias", found.code, "break"),
        (found.code, "kl = -0.5 * tf.reduce_mean(1.0 + lv - mu ** 2 - tf.exp(lv))", "live"),
        (found.code, "return tf.reduce_mean(tf.square(x - rec)) + kl", "live"),
        ("kl = -0.5 * tf.reduce_mean(1.0 + lv - mu ** 2 - tf.exp(lv))", "return tf.reduce_mean(tf.square(x - rec)) + kl", "live"),
    }


@pytest.mark.parametrize(
    ("breaks", "expected"),
    [
        (MOST_BREAKS + 1, [(i,) for i in range(1, MOST_BREAKS + 2)]),
        (30, [*((i,) for i in range(1, MOST_BREAKS + 1)), tuple(range(MOST_BREAKS + 1, 31))]),
    ],
)
def test_of_many_breaks_side_by_side_the_first_in_the_ranking_stand_alone(breaks: int, expected: list[tuple[int, ...]]) -> None:
    scene = fold(report_of(side_by_side(breaks)))
    assert sorted(n.numbers for n in scene.nodes if n.kind is Kind.BREAK) == expected
    assert bool(scene.notes) is (len(expected) < breaks)


@pytest.mark.parametrize(("breaks", "expected"), [(WIDEST, WIDEST), (40, MOST_BREAKS + 1)])
@pytest.mark.parametrize("detail", ["line", "ops"])
def test_very_many_breaks_each_behind_a_line_of_its_own_are_put_together(breaks: int, expected: int, detail: str) -> None:
    d = Drawing()
    for i in range(1, breaks + 1):
        d.source(f"layer{i}/v", DEAD)
        d.op(f"mul{i}", "Mul", [f"layer{i}/v"], DEAD, line(i))
        d.op(f"round{i}", "Round", [f"mul{i}"], BREAK, line(i), cause=Cause.GRADIENT_IS_NONE, number=i)
        d.op(f"sum{i}", "AddV2", [f"round{i}", *([f"sum{i - 1}"] if i > 1 else [])], LIVE, line(100 + i))
    d.op("loss", "Op", [f"sum{breaks}"], LIVE, line(300), role=Role.TARGET)
    scene = fold(report_of(d), detail=detail)
    found = sorted(n.numbers for n in scene.nodes if n.kind is Kind.BREAK)
    assert len(found) == expected
    assert [n for numbers in found for n in numbers] == list(range(1, breaks + 1))
    assert sum(n.ops for n in scene.nodes) == 3 * breaks + 1
    assert len(scene.nodes) < 3 * expected + 12


def test_breaks_between_different_boxes_stay_apart() -> None:
    d = Drawing()
    for i in range(14):
        d.source(f"layer{i}/v", DEAD)
        d.op(f"round{i}", "Round", [f"layer{i}/v"], BREAK, line(100 + i), cause=Cause.GRADIENT_IS_NONE, number=i + 1)
    d.op("loss", "AddN", [f"round{i}" for i in range(14)], LIVE, line(2), role=Role.TARGET)
    assert len([n for n in fold(report_of(d)).nodes if n.kind is Kind.BREAK]) == 14


def test_edges_say_what_gradient_does() -> None:
    assert arrows(fold(drawings.branches())) >= {
        ("logits = router(x)", "index = tf.argmax(logits, -1)", "break"),
        ("table/embeddings", "row = tf.gather(table, index)", "live"),
        ("odd = tf.py_function(weird, [x], tf.float32)", "loss = tf.reduce_sum(row + odd)", "opaque"),
    }


def test_gates_shut_behind_the_first_break_are_merely_dead() -> None:
    nodes = [GraphNode("v", "Variable", DEAD, Role.SOURCE, label="v"), GraphNode("a", "Op", DEAD), GraphNode("b", "Op", BREAK, number=1)]
    edges = (GraphEdge("a", "b", BREAK), GraphEdge("v", "a", BREAK))
    scene = fold(drawings.report_on(ReportGraph(tuple(nodes), edges)), detail="ops")
    assert [e.status for e in scene.edges] == [DEAD, BREAK]


@pytest.mark.parametrize(("second", "expected"), [(1, DEAD), (2, BREAK)])
def test_the_way_from_one_break_into_another_is_shut_and_inside_one_it_is_dead(second: int, expected: Status) -> None:
    nodes = [GraphNode("a", "Op", BREAK, number=1), GraphNode("b", "Op", BREAK, number=second)]
    scene = fold(drawings.report_on(ReportGraph(tuple(nodes), (GraphEdge("a", "b", BREAK),))), detail="ops")
    assert [e.status for e in scene.edges] == [expected]


def test_a_root_cause_without_node_still_gets_its_box() -> None:
    report = report_of(Drawing(), causes=[RootCause(3, Cause.TAPE_REUSED, line(9), (), ("v",), ())])
    assert [(n.numbers, n.heading, n.code) for n in fold(report).nodes] == [((3,), "tape_reused", "line 9")]

"""Report → Scene: what is put together, and what never is."""

from __future__ import annotations

from collections import Counter

import pytest

from tapetrace.model.graph import Role
from tapetrace.model.locations import Location
from tapetrace.model.report import Report
from tapetrace.model.words import Cause
from tapetrace.render.folding import fold
from tapetrace.render.scene import Kind
from tapetrace.render.units import Details
from tests.pictures.scenes import arrows, boxes, chain, line
from tests.unit import drawings
from tests.unit.drawings import BREAK, DEAD, LIVE, Drawing, report_of


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param(
            chain(("a", LIVE, 1), ("b", LIVE, 1), ("c", LIVE, 2)),
            [("v", "live", 0, 1), ("line 1", "live", 2, 0), ("line 2", "live", 1, 0)],
            id="the ops of a line are one box",
        ),
        pytest.param(
            chain(("a", DEAD, 1), ("b", BREAK, 1), ("c", LIVE, 1), ("d", LIVE, 2), source=DEAD),
            [("v", "dead", 0, 1), ("line 1", "dead", 1, 0), ("line 1", "break", 1, 0), ("line 1", "live", 1, 0), ("line 2", "live", 1, 0)],
            id="a line is split where its gradient status changes",
        ),
        pytest.param(
            chain(("a", LIVE, 1), ("b", LIVE, 2), ("c", LIVE, 1), ("d", LIVE, 3)),
            [("v", "live", 0, 1), ("line 1", "live", 1, 0), ("line 2", "live", 1, 0), ("line 1", "live", 1, 0), ("line 3", "live", 1, 0)],
            id="a line of a loop is split by its turn",
        ),
    ],
)
def test_lines(report: Report, expected: list[tuple[str, str, int, int]]) -> None:
    assert boxes(fold(report)) == expected


def test_details_of_one_report() -> None:
    report = drawings.vae()
    sizes = {detail: Counter(n.kind for n in fold(report, detail=detail).nodes) for detail in Details}
    assert sizes == {
        "line": {Kind.SOURCES: 1, Kind.BREAK: 1, Kind.LINE: 2},
        "ops": {Kind.SOURCES: 8, Kind.BREAK: 13, Kind.OP: 5},
        "layers": {Kind.SOURCES: 1, Kind.BREAK: 1, Kind.LAYER: 1},
    }


def test_variables_of_a_layer_are_one_box_with_names_and_what_came_back() -> None:
    found = next(n for n in fold(drawings.gan()).nodes if n.kind is Kind.SOURCES and n.status is DEAD)
    assert (found.heading, found.footnote, found.sources) == ("generator/dense: kernel, bias", "2 variables · gradient is None", 2)


def test_a_dead_way_beside_a_live_one_is_left_out() -> None:
    d = Drawing()
    d.source("v", LIVE)
    d.op("a", "Op", ["v"], LIVE, line(1))
    d.op("compare", "GreaterEqual", ["a"], DEAD, line(2), shut=Cause.NON_FLOAT)
    d.op("loss", "Select", ["a", "compare"], LIVE, line(3), role=Role.TARGET)
    assert boxes(fold(report_of(d))) == [("v", "live", 0, 1), ("line 1", "live", 1, 0), ("line 3", "live", 1, 0)]


def test_a_dead_way_stays_where_nothing_else_leads_to_what_is_drawn() -> None:
    d = Drawing()
    d.source("v", LIVE)
    d.op("a", "Op", ["v"], LIVE, line(1))
    d.op("b", "Op", ["a"], DEAD, line(2))
    d.op("stopped", "StopGradient", ["b"], LIVE, line(3), shut=Cause.STOP_GRADIENT)
    d.op("loss", "Sub", ["a", "stopped"], LIVE, line(4), role=Role.TARGET)
    scene = fold(report_of(d))
    assert boxes(scene)[2] == ("line 2", "dead", 1, 0)
    assert ("line 2", "line 3", "break") in arrows(scene)


def test_a_dead_end_stays() -> None:
    d = Drawing()
    d.source("v", DEAD)
    d.op("a", "Op", ["v"], DEAD, line(1))
    d.op("loss", "Op", [], LIVE, line(3), role=Role.TARGET)
    assert boxes(fold(report_of(d)))[:2] == [("v", "dead", 0, 1), ("line 1", "dead", 1, 0)]


def test_a_weight_read_early_stays_with_its_line() -> None:
    """`return f(g(x) + a)` calls into lines of g and back: two turns, and the weight that the second one reads is not a third."""
    d = Drawing()
    d.source("v", LIVE)
    d.source("w", LIVE)
    d.op("read", "ReadVariableOp", ["w"], LIVE, line(1))
    d.op("first", "Op", ["v"], LIVE, line(1))
    d.op("inner", "Op", ["first"], LIVE, line(2, "g"))
    d.op("second", "Op", ["inner", "read"], LIVE, line(1))
    d.op("third", "Op", ["second"], LIVE, line(1))
    d.op("loss", "Op", ["third"], LIVE, line(3), role=Role.TARGET)
    assert sorted(boxes(fold(report_of(d))))[:3] == [("line 1", "live", 1, 0), ("line 1", "live", 3, 0), ("line 2", "live", 1, 0)]


@pytest.mark.parametrize("detail", ["line", "layers"])
def test_functions_of_one_name_in_two_files_are_told_apart(detail: str) -> None:
    d = Drawing()
    tail = d.source("w")
    for file in ("/x/a/model.py", "/x/b/model.py"):
        for at in (2, 3):
            tail = d.op(f"{file[3]}{at}", "Op", [tail], LIVE, Location.new(file, at, "f", "y = g(x)"))
    d.op("loss", "Sum", [tail], LIVE, Location.new("/x/step.py", 8, "step", "loss"), role=Role.TARGET)
    scene = fold(report_of(d, locations=[Location.new("/x/step.py", 9, "step")]), detail=detail)
    told = [g.title for g in scene.groups] if detail == "line" else [n.heading for n in scene.nodes if n.ops == 2]
    assert told == ["f() in a/model.py", "f() in b/model.py"]
    places = ["a/model.py:2 in f", "a/model.py:3 in f", "b/model.py:2 in f", "b/model.py:3 in f", "step.py:8 in step"]
    assert [n.place for n in scene.nodes if n.place] == (places if detail == "line" else places[-1:])


def test_a_call_of_its_own_group_each() -> None:
    scene = fold(drawings.gan())
    assert [g.title for g in scene.groups if g.is_call] == [
        "gradient call 1  ·  gan.py:51 in train_step  ·  0 of 4 without gradient",
        "gradient call 2  ·  gan.py:52 in train_step  ·  7 of 7 without gradient",
    ]
    never_read = next(n for n in scene.nodes if n.numbers == (2,))
    assert (never_read.heading, never_read.kind, never_read.sources) == ("never_read", Kind.BREAK, 1)


def test_a_functional_model_called_in_one_line_is_two_boxes_around_the_break() -> None:
    found = boxes(fold(drawings.resnet(in_one_line=True)))
    assert [(status, count) for _, status, ops, count in found if not ops] == [("dead", 80), ("live", 80)]
    assert [box for box in found if box[2]] == [
        ("logits = model(images)", "dead", 1420, 0),
        ("return tf.stop_gradient(x)", "break", 1, 0),
        ("logits = model(images)", "live", 1420, 0),
        ("loss = cross_entropy(labels, logits)", "live", 1, 0),
    ]


def test_nothing_to_draw_is_said() -> None:
    assert fold(report_of(Drawing())).notes == ("nothing to draw",)

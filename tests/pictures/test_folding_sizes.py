"""Scenes that are too large for a screen fold further, and in seconds."""

from __future__ import annotations

import time

import pytest

from tapetrace.model.graph import Role, Status
from tapetrace.model.words import Cause
from tapetrace.render.folding import BUDGET, fold
from tapetrace.render.panels import Panel
from tapetrace.render.scene import Kind
from tapetrace.render.stretches import COMFORTABLE, COMFORTABLE_OPS
from tapetrace.render.units import split_into_units
from tests.pictures.scenes import chain, line
from tests.unit import drawings
from tests.unit.drawings import BREAK, DEAD, LIVE, Drawing, report_of


@pytest.mark.parametrize(("ops", "folded"), [(COMFORTABLE_OPS - 1, False), (COMFORTABLE_OPS, True)])
def test_ops_are_folded_when_they_are_too_many_for_a_screen(ops: int, folded: bool) -> None:
    scene = fold(chain(*((f"op{i}", LIVE, i // 5) for i in range(ops))), detail="ops")
    assert (len(scene.nodes) < COMFORTABLE_OPS, bool(scene.notes)) == (folded, folded)


def test_calls_share_the_budget() -> None:
    d = Drawing()
    before: list[str] = []
    for i, status in enumerate([DEAD, BREAK, Status.CONDITIONAL] + [LIVE, Status.OPAQUE] * 8):
        before = [d.op(f"n{i}", "Op", before, status, calls=(0, 1), number=int(status is BREAK))]
    scene = fold(report_of(d), detail="ops", budget=20)
    assert len(scene.nodes) <= 20
    assert sum(n.ops for n in scene.nodes) == 2 * 19


def test_half_a_resnet_cut_off_is_told_in_a_few_boxes() -> None:
    scene = fold(drawings.resnet())
    assert len(scene.nodes) <= 40
    stretches = [n for n in scene.nodes if n.kind is Kind.STRETCH]
    assert [(n.status, n.footnote) for n in stretches] == [
        (DEAD, "38 layers · 3 lines · 76 variables · 1,348 ops"),
        (LIVE, "36 layers · 3 lines · 72 variables · 1,277 ops"),
    ]
    assert scene.notes == ("folded: 202 boxes of a line or a layer's variables are drawn as 15; counts are in the boxes",)


def test_ops_that_are_too_many_fold_until_they_can_be_taken_in() -> None:
    assert COMFORTABLE < len(split_into_units(Panel.new(drawings.resnet(20, 3).drawing, 0), "line").units) < BUDGET
    scene = fold(drawings.resnet(20, 3), detail="ops")
    assert len(scene.nodes) <= COMFORTABLE
    near = {n.heading for n in scene.nodes if n.kind is Kind.OP}
    assert {"add float32[?,8]", "Conv2D float32[?,8]"} <= near, "ops beside the break stay as they are"


@pytest.mark.parametrize("detail", ["ops", "line"])
def test_a_stretch_leaves_what_is_read_for_another_box_to_that_box(detail: str) -> None:
    d = Drawing()
    x = d.source("x", DEAD)
    for i in range(30):
        status = DEAD if i < 15 else LIVE
        for part, op in (("kernel", "MatMul"), ("bias", "BiasAdd")):
            d.source(f"fc{i}/{part}", status)
            read = d.op(f"fc{i}/Read_{part}", "ReadVariableOp", [f"fc{i}/{part}"], status, line(5))
            x = d.op(f"fc{i}/{op}", op, [x, read], status, line(5))
        if i == 14:
            x = d.op("round", "Round", [x], BREAK, line(6), cause=Cause.GRADIENT_IS_NONE, number=1)
    d.op("loss", "Sum", [x], LIVE, line(7), role=Role.TARGET)
    report = report_of(d)
    scene = fold(report, detail=detail)
    assert len(scene.nodes) <= COMFORTABLE
    box = {name: n for n in scene.nodes for name in n.members}
    swallowed = [e.tail for e in report.drawing.edges if "Read" in e.tail and box[e.tail] is not box[e.head] and len(box[e.tail].members) > 2]
    assert swallowed == []


@pytest.mark.parametrize(("detail", "in_one_line"), [("line", True), ("layers", False), ("ops", False)])
def test_54_000_ops_fold_in_seconds(detail: str, in_one_line: bool) -> None:
    report = drawings.resnet(blocks=500, filler=42, in_one_line=in_one_line)
    assert len(report.drawing.nodes) > 54_000
    start = time.process_time()
    scene = fold(report, detail=detail)
    assert time.process_time() - start < 6  # about 1.5 s; a fold that is quadratic takes minutes
    assert len(scene.nodes) <= 40
    assert sum(n.sources for n in scene.nodes) == 2000

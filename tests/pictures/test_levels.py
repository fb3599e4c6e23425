"""What opens inside a box: every op is found in exactly one place, no level is too large, and each shows more than the one before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tapetrace.model.graph import Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report
from tapetrace.model.words import Cause
from tapetrace.render.folding import fold
from tapetrace.render.html_picture import draw_calls
from tapetrace.render.levels import LEVEL, LevelBox, Levels, levels_of
from tapetrace.render.scene import Kind
from tests.unit import drawings
from tests.unit.drawings import BREAK, DEAD, LIVE, Drawing, report_of


def levels(report: Report) -> Levels:
    return levels_of(report, fold(report))


def inside(found: Levels, at: int) -> list[int]:
    return [i for i, box in enumerate(found.boxes) if box.parent == at]


def position(found: Levels, key: str) -> int:
    return next(i for i, box in enumerate(found.boxes) if box.node.key == key)


def long_line(ops: int = 3000) -> Report:
    """One line, no layers, each op reading the two before it: nothing but the order of the ops to fold by."""
    d = Drawing()
    where = Location.new("train.py", 7, "train_step", "loss = long(x)")
    names = [d.source("w", LIVE)]
    for i in range(ops):
        names.append(d.op(f"op_{i}", "Mul", names[-2:], LIVE, where))
    d.op("loss", "Sum", names[-1:], LIVE, Location.new("train.py", 8, "train_step", "tf.reduce_sum(loss)"), role=Role.TARGET)
    return report_of(d)


def many_sources(sources: int = 500) -> Report:
    d = Drawing()
    names = [d.source(f"layer{i}/kernel", LIVE) for i in range(sources)]
    d.op("loss", "AddN", names, LIVE, Location.new("train.py", 8, "train_step", "tf.add_n(all)"), role=Role.TARGET)
    return report_of(d)


def many_breaks(breaks: int = 100) -> Report:
    """A line of the user's that breaks, next to live ops, again and again, folded to a picture of a few boxes."""
    d = Drawing()
    live = d.source("a", LIVE)
    for i in range(breaks):
        dead = d.source(f"s{i}", DEAD)
        where = Location.new("train.py", 10 + i, "train_step", f"y{i} = tf.round(s{i})")
        cut = d.op(f"cut{i}", "Round", [dead], BREAK, where, cause=Cause.NON_FLOAT)
        live = d.op(f"add{i}", "Add", [live, cut], LIVE, Location.new("train.py", 300 + i, "train_step", f"x += y{i}"))
    d.op("loss", "Sum", [live], LIVE, Location.new("train.py", 900, "train_step", "tf.reduce_sum(x)"), role=Role.TARGET)
    return report_of(d)


REPORTS: dict[str, Callable[[], Report]] = {
    **{name: getattr(drawings, name) for name in ("vae", "branches", "hostile", "resnet")},
    "one_line": lambda: drawings.resnet(in_one_line=True),
    **{made.__name__: made for made in (long_line, many_sources, many_breaks)},
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_op_ends_in_exactly_one_box_and_no_level_is_too_large(name: str) -> None:
    found = levels(REPORTS[name]())
    children: dict[int, list[LevelBox]] = {}
    for at, box in enumerate(found.boxes):
        assert box.parent < at
        children.setdefault(box.parent, []).append(box)
    ends: list[int] = []
    for at, box in enumerate(found.boxes):
        level = children.get(at, [])
        if box.is_frame:
            continue
        assert (len(level) > 1) == (len(box.members) > 1), box.node.key
        assert len(level) <= LEVEL, box.node.key
        if level:
            assert sorted(m for inner in level for m in inner.members) == list(box.members)
            assert [inner.node.key for inner in level] == [f"{box.node.key}.{k}" for k in range(len(level))]
        else:
            ends += box.members
    assert sorted(ends) == list(range(len(found.panel.nodes)))


@pytest.mark.parametrize("name", REPORTS)
def test_a_box_never_hides_another_status(name: str) -> None:
    found = levels(REPORTS[name]())
    for box in found.boxes:
        statuses = {found.panel.nodes[m].status for m in box.members}
        assert len(statuses) <= 1 or box.node.status is Status.BREAK, box.node.key
        if len(statuses) == 1:
            assert statuses == {box.node.status}


def test_levels_go_from_layers_to_lines_to_ops() -> None:
    found = levels(drawings.resnet())
    layers = inside(found, position(found, "p0_0"))
    assert [found.boxes[i].node.heading for i in layers] == [f"block{b}" for b in range(19)]
    lines = inside(found, layers[1])
    assert [found.boxes[i].node.place for i in lines] == [f"resnet.py:{n} in Block.call" for n in (21, 22, 24)]
    ops = inside(found, lines[0])
    assert [found.boxes[i].node.kind for i in ops] == [Kind.SOURCES] * 2 + [Kind.OP] * 35
    assert [found.boxes[i].node.heading for i in ops[:3]] == ["resnet/block1/conv1/kernel", "resnet/block1/conv1/gamma", "Conv2D float32[?,8]"]


def test_ops_on_one_line_repeat_neither_line_nor_code() -> None:
    found = levels(drawings.vae())
    for i in inside(found, position(found, "p0_3")):
        assert (found.boxes[i].node.code, found.boxes[i].node.place) == ("", "")
        assert found.boxes[i].node.tooltip.startswith("/home/ann/samples/vae.py:28\n")


def test_layers_on_one_line_do_not_repeat_it_either() -> None:
    found = levels(drawings.resnet(in_one_line=True))
    line = next(i for i, b in enumerate(found.boxes) if len(b.members) > 1000 and b.node.code == "logits = model(images)")
    blocks = inside(found, line)
    assert [found.boxes[i].node.heading for i in blocks[:2]] == ["block0", "block1"]
    layers = [found.boxes[i].node for i in inside(found, blocks[0])]
    assert [(n.kind, n.heading, n.code, n.place) for n in layers] == [(Kind.LAYER, name, "", "") for name in ("conv1", "conv2", "block0")]


def test_inside_a_break_stand_its_lines_and_ops_and_not_the_cause_again() -> None:
    found = levels(drawings.vae())
    at = next(i for i, b in enumerate(found.boxes) if b.node.kind is Kind.BREAK)
    assert found.boxes[at].node.numbers == (1,)
    lines = [found.boxes[i].node for i in inside(found, at)]
    assert [n.heading for n in lines] == ["enc", "mu", "logvar", "", "dec"]
    assert [n.code for n in lines][3] == "z = mu + tf.exp(0.5 * lv) * tf.random.normal(tf.shape(mu))"
    assert {(n.status, n.numbers) for n in lines} == {(Status.BREAK, ())}


def test_what_has_no_layers_is_folded_by_its_order() -> None:
    found = levels(long_line())
    whole = next(i for i, b in enumerate(found.boxes) if len(b.members) > 1000)
    stretches = [found.boxes[i] for i in inside(found, whole)]
    assert 4 <= len(stretches) <= LEVEL
    starts = [box.members[0] for box in stretches]
    assert starts == sorted(starts)
    assert all(box.node.footnote.endswith("ops") for box in stretches)


def test_a_closed_frame_says_what_is_in_it() -> None:
    found = levels(drawings.resnet())
    frames = {b.node.heading: b.node for b in found.boxes if b.is_frame}
    assert (frames["resnet"].status, frames["resnet"].numbers) == (Status.BREAK, (1,))
    assert frames["block19"].status is Status.DEAD
    assert frames["block19"].footnote == "3 boxes · 4 sources · 71 ops"
    inner = next(b for b in found.boxes if b.node.heading == "block19")
    assert found.boxes[inner.parent].node.heading == "resnet"


def test_each_call_has_levels_of_its_own() -> None:
    first, second = draw_calls(drawings.gan())
    assert {n.name for n in first.levels.panel.nodes} & {n.name for n in second.levels.panel.nodes} == set()
    assert "generator/style" in {n.name for n in second.levels.panel.nodes}


def test_nothing_to_draw_has_no_levels() -> None:
    assert levels(report_of(Drawing())).boxes == ()

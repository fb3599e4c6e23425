"""Blocks that are called again and again: one box, which says whether they are one layer or many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.graph import Role
from tapetrace.model.report import Report, RootCause
from tapetrace.model.words import Cause
from tapetrace.render.folding import fold
from tapetrace.render.panels import Panel
from tapetrace.render.repeats import Calls
from tapetrace.render.scene import Kind, Scene
from tests.pictures.scenes import line
from tests.unit.drawings import BREAK, DEAD, LIVE, Drawing, report_of


def blocks(scopes: list[str], owners: list[str], *, between: bool = False, weighted: bool = False, parts: int = 2, moved: int = 0) -> Report:
    """Blocks of ``parts`` lines each, one after the other, cut off from the loss; each is called in a scope, and its weights have an owner.

    ``between`` puts an op of the step behind each, which is ``weighted`` if it reads a variable of its own; without it each block adds what it was
    given to its result. Every other block stands ``moved`` lines further down.
    """
    d = Drawing()
    h: list[str] = []
    for owner in dict.fromkeys(owners):
        for part in range(parts):
            d.source(f"{owner}/dense{part}/kernel", DEAD)
    for i, (scope, owner) in enumerate(zip(scopes, owners, strict=True)):
        start = h
        for part in range(parts):
            h = [d.op(f"{scope}/dense{part}/MatMul", "MatMul", [*h, f"{owner}/dense{part}/kernel"], DEAD, line(part + 1 + moved * (i % 2), "call"))]
        if between:
            own = [d.source(f"own{i}", DEAD)] if weighted else []
            h = [d.op(f"add_{i}", "AddV2", [*start, *h, *own], DEAD, line(20))]
        elif parts > 1:
            h = [d.op(f"{scope}/add", "AddV2", [*start, *h], DEAD, line(parts + 1 + moved * (i % 2), "call"))]
    h = [d.op("stop", "StopGradient", h, BREAK, line(30), cause=Cause.STOP_GRADIENT, number=1)]
    d.op("loss", "Mean", h, LIVE, line(31), role=Role.TARGET)
    return report_of(d)


def stretches(scene: Scene) -> list[tuple[str, str]]:
    return [(n.heading, n.footnote) for n in scene.nodes if n.kind is Kind.STRETCH]


SIX = [f"one_{i}" for i in range(6)]
SAME, OWN = ["one"] * 6, [f"one{i}" for i in range(6)]


@pytest.mark.parametrize("detail", ["line", "layers"])
def test_the_same_layer_called_often_is_one_box_that_counts_the_calls(detail: str) -> None:
    scene = fold(blocks(SIX, SAME), detail=detail)
    (found,) = stretches(scene)
    lines = " · 3 lines" if detail == "line" else ""
    assert found == ("one/dense0 … one", f"12 calls of 2 layers{lines} · 18 ops")
    assert len(scene.nodes) == 2 + 1 + 2
    assert scene.notes[0].startswith("folded: ")


def test_layers_of_their_own_are_counted_as_layers() -> None:
    report = blocks([f"one{i}_1" for i in range(6)], OWN, parts=1)
    (found,) = (n for n in fold(report).nodes if n.kind is Kind.LINE and n.status is DEAD)
    assert found.footnote == "6 layers · 6 ops"


def test_calls_and_layers_in_one_box() -> None:
    report = blocks(["one0_1", "one1_1", "two_1", "two_3", "two_5"], ["one0", "one1", "two", "two", "two"], parts=1)
    (found,) = (n for n in fold(report).nodes if n.kind is Kind.LINE and n.status is DEAD)
    assert found.footnote == "5 calls of 3 layers · 5 ops"


def test_a_call_whose_bias_does_not_matter_is_a_call_of_the_same_layer() -> None:
    d = Drawing()
    d.source("one/kernel")
    d.source("one/bias")
    d.op("one_1/MatMul", "MatMul", ["one/kernel"], LIVE, line(1))
    d.op("one_3/MatMul", "MatMul", ["one_1/MatMul", "one/kernel"], LIVE, line(1))
    d.op("one_3/BiasAdd", "BiasAdd", ["one_3/MatMul", "one/bias"], LIVE, line(1))
    d.op("loss", "Mean", ["one_3/BiasAdd"], LIVE, line(31), role=Role.TARGET)
    assert next(n.footnote for n in fold(report_of(d)).nodes if n.kind is Kind.LINE) == "2 calls of 1 layer · 3 ops"


@pytest.mark.parametrize("detail", ["line", "layers"])
def test_two_calls_of_a_network_whose_gradient_nobody_asks_for_have_its_name_and_its_layers(detail: str) -> None:
    d = Drawing()
    tails = [d.source("gen/kernel")]
    for i, scope in enumerate(("net_1", "net_3")):
        for layer in ("a", "b"):
            tails = [d.op(f"{scope}/{layer}_1/MatMul", "MatMul", tails, LIVE, line(i))]
            d.nodes[-1] = replace(d.nodes[-1], reads=(f"net/{layer}/kernel",))
    d.op("loss", "Mean", tails, LIVE, line(31), role=Role.TARGET)
    scene = fold(report_of(d), detail=detail)
    boxes = [(n.heading, n.footnote) for n in scene.nodes if n.kind in (Kind.LINE, Kind.LAYER) and not n.is_target]
    if detail == "line":
        assert boxes == [("net", "2 layers · 2 ops")] * 2
    else:
        assert ([g.title for g in scene.groups], boxes) == (["net", "net"], [("a", "MatMul"), ("b", "MatMul")] * 2)
    calls = Calls.new(Panel.new(report_of(d).drawing, 0))
    assert calls.said(f"{net}/{layer}_1" for net in ("net_1", "net_3") for layer in "ab") == "4 calls of 2 layers"


def test_layers_that_share_one_of_their_weights_are_two() -> None:
    d = Drawing()
    for name in ("shared", "a_0/own", "a_1/own"):
        d.source(name)
    d.op("a_0/Mul", "Mul", ["shared", "a_0/own"], LIVE, line(1))
    d.op("a_1/Mul", "Mul", ["a_0/Mul", "shared", "a_1/own"], LIVE, line(1))
    d.op("loss", "Mean", ["a_1/Mul"], LIVE, line(31), role=Role.TARGET)
    assert next(n.footnote for n in fold(report_of(d)).nodes if n.kind is Kind.LINE) == "2 layers · 2 ops"


def test_three_calls_stay_as_they_are() -> None:
    assert stretches(fold(blocks(SIX[:3], SAME[:3]))) == []


def test_what_lies_between_two_calls_is_folded_with_them_unless_it_has_weights() -> None:
    (found,) = stretches(fold(blocks(SIX, SAME, between=True)))
    # The op behind the last call lies between no two.
    assert found[1] == "12 calls of 2 layers · 3 lines · 17 ops"
    assert stretches(fold(blocks(SIX[:4], SAME[:4], between=True, weighted=True))) == []


def test_many_blocks_that_are_alike_are_one_box() -> None:
    scene = fold(blocks([f"one{i}_1" for i in range(12)], [f"one{i}" for i in range(12)]))
    assert ("one0/dense0 … one9", "20 layers · 3 lines · 20 variables · 30 ops") in stretches(scene)


def test_blocks_that_are_not_alike_stay_apart() -> None:
    scene = fold(blocks([f"one{i}_1" for i in range(12)], [f"one{i}" for i in range(12)], moved=10))
    assert [text for _, text in stretches(scene)].count("2 layers · 3 lines · 2 variables · 3 ops") == 10


def test_a_function_called_on_both_sides_of_a_break_has_no_frame_around_both() -> None:
    """The frame would have to stand both above and below the break."""
    d = Drawing()
    d.source("v", DEAD)
    d.op("a", "Op", ["v"], DEAD, line(1, "inner"))
    d.op("b", "Op", ["a"], DEAD, line(2, "inner"))
    d.op("stop", "StopGradient", ["b"], BREAK, line(30), cause=Cause.STOP_GRADIENT, number=1)
    d.op("c", "Op", ["stop"], LIVE, line(1, "inner"))
    d.op("d", "Op", ["c"], LIVE, line(2, "inner"))
    d.op("loss", "Op", ["d"], LIVE, line(31), role=Role.TARGET)
    assert fold(report_of(d, locations=[line(32)])).groups == ()
    d = Drawing()
    d.source("v", DEAD)
    d.op("a", "Op", ["v"], DEAD, line(1, "inner"))
    d.op("b", "Op", ["a"], DEAD, line(2, "inner"))
    d.op("stop", "StopGradient", ["b"], BREAK, line(30), cause=Cause.STOP_GRADIENT, number=1)
    d.op("loss", "Op", ["stop"], LIVE, line(31), role=Role.TARGET)
    assert [g.title for g in fold(report_of(d, locations=[line(32)])).groups] == ["inner()"]


def test_a_line_that_breaks_at_each_turn_of_a_loop_is_a_break_each_time() -> None:
    """The report names the op of one turn."""
    d = Drawing()
    h = d.source("v", DEAD)
    d.source("w", LIVE)
    for i in range(3):
        d.op(f"up_{i}", "Mul", [h, "v"], DEAD, line(1))
        first = {"cause": Cause.GRADIENT_IS_NONE, "number": 1} if not i else {"shut": Cause.GRADIENT_IS_NONE}
        d.op(f"round_{i}", "Round", [f"up_{i}"], LIVE if i else BREAK, line(2), **first)
        h = d.op(f"down_{i}", "Mul", [f"round_{i}", "w"], LIVE, line(3))
    d.op("other", "Floor", ["v"], LIVE, line(4), shut=Cause.GRADIENT_IS_NONE)
    d.op("loss", "Op", [h, "other"], LIVE, line(5), role=Role.TARGET)
    cause = RootCause(1, Cause.GRADIENT_IS_NONE, line(2), (("round_0", "Round"),), ("v",), ("v",), "smooth it")
    found = [(n.code, n.ops) for n in fold(report_of(d, causes=[cause])).nodes if n.kind is Kind.BREAK]
    assert found == [("line 2", 1)] * 3

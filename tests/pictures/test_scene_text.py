"""The words of a scene: its subtitle, and what is said in a box."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.graph import GraphNode, ReportGraph, Role, Status
from tapetrace.model.report import Break
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Verdict
from tapetrace.render.folding import fold
from tests.pictures.scenes import line
from tests.unit import drawings
from tests.unit.drawings import DEAD, LIVE, Drawing, report_of


def test_a_source_says_which_line_decides() -> None:
    d = Drawing()
    d.source("v", Status.CONDITIONAL)
    d.op("loss", "Op", ["v"], LIVE, line(2), role=Role.TARGET)
    made = report_of(d)
    (call,) = made.calls
    (asked,) = call.sources
    decided = replace(asked, verdict=Verdict.CONDITIONAL, breaks=(Break(Cause.OTHER_BRANCH, location=line(7)),))
    assert fold(replace(made, calls=(replace(call, sources=(decided,)),))).nodes[0].footnote == "decided by train.py:7 in train_step"


def test_subtitle_counts_what_is_conditional() -> None:
    verdict = "1 of 4 variables receives no gradient, 1 only in some branches, 1 as Python code decides"
    assert fold(drawings.branches()).subtitle == f"{verdict} · 1 gradient call · TensorFlow 2.21.0 · Keras 3.15.0"


def test_the_title_says_that_the_step_ran_and_what_raised() -> None:
    d = Drawing()
    d.source("w", DEAD)
    d.op("loss", "Op", ["w"], LIVE, line(1), role=Role.TARGET)
    d.edges = [replace(e, status=LIVE) for e in d.edges]
    made = report_of(d)
    failed = replace(made.calls[0], error=TraceError("LookupError", "no entry"))
    scene = fold(replace(made, mode="eager", calls=(failed,), error=TraceError("ValueError", "no gradients")))
    assert "1 gradient call · the gradient call raises LookupError · the step raises ValueError · TensorFlow 2.21.0" in scene.subtitle
    assert scene.subtitle.endswith("· eager run")
    assert [e.status for e in scene.edges] == [DEAD], "nothing comes to a source whose gradient call raises"
    assert "eager" not in fold(made).subtitle


@pytest.mark.parametrize(("dtype", "heading"), [("float32", "variable:5 float32[2,?]"), ("resource", "variable:5")])
def test_a_box_says_what_an_op_gives_unless_that_is_the_handle_of_a_variable(dtype: str, heading: str) -> None:
    node = GraphNode("while/variable:5", "While", LIVE, scope="while", label="variable:5", dtype=dtype, shape=(2, None))
    assert fold(drawings.report_on(ReportGraph((node,))), detail="ops").nodes[0].heading == heading


def test_without_source_no_code_is_left() -> None:
    shown = fold(drawings.vae(), source=False)
    assert not any("vae(x" in text or "self.enc" in text for n in shown.nodes for text in (n.code, n.heading, n.footnote, n.tooltip))


def test_a_variable_that_two_calls_ask_for_is_counted_as_two_sources() -> None:
    d = drawings.Drawing()
    for call in (0, 1):
        d.source("w", calls=(call,))
    title = fold(drawings.report_of(d, locations=[None, None])).subtitle
    assert title.startswith("a gradient reaches each of 2 sources · 2 gradient calls")

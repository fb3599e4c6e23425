"""Reports put together: numbers, calls and names, sources that are connected in one and not in another, and what should be frozen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.analysis.frozen import apply_frozen, matches
from tapetrace.analysis.intermittent import name_differences
from tapetrace.analysis.merging import merge, without_repeats
from tapetrace.model.encoding import report_from_json, report_to_json
from tapetrace.model.report import Finding, Report
from tapetrace.model.words import Cause, Verdict
from tapetrace.render.github import render_github
from tapetrace.render.markdown import render_markdown
from tapetrace.render.sarif import render_sarif
from tapetrace.render.text import render_text
from tests.unit.reports import at, call, connected, in_series, one_cause, report, small_graph, source


def broken(inputs: str = "") -> Report:
    found = one_cause(Cause.STOP_GRADIENT, at(20, "y = tf.stop_gradient(x)"), "enc/kernel", op="StopGradient", type_="StopGradient")
    return replace(found, calls=(replace(found.calls[0], inputs=inputs),))


def healthy(inputs: str = "") -> Report:
    return report(replace(call(source("enc/kernel"), source("dec/kernel"), source("dec/bias")), inputs=inputs))


def test_calls_and_root_causes_are_numbered_through() -> None:
    merged = merge([in_series(), connected(), broken()], "both")
    assert [(r.number, r.call) for r in merged.root_causes] == [(1, 0), (2, 0), (3, 2)]
    assert [b.root_cause for b in merged.calls[0].sources[0].breaks] == [2, 1]
    assert [b.root_cause for b in merged.calls[2].sources[0].breaks] == [3]
    assert (merged.target, len(merged.calls), merged.agreement.checked) == ("both", 3, 3 + 6 + 3)


def test_modes() -> None:
    assert merge([connected(), replace(connected(), mode="eager")], "").mode == "mixed"
    assert merge([connected(), connected()], "").mode == "graph"


def test_findings_are_told_once_and_not_if_another_call_asks() -> None:
    one, two = Finding("b", "b", at(3)), Finding("bias", "dec/bias", at(4))
    found = merge([replace(connected(), not_asked=(one, two)), replace(healthy(), not_asked=(one,), not_applied=(two,))], "")
    assert found.not_asked == (one,)
    assert found.not_applied == (two,)


def test_findings_of_one_name_are_told_by_their_paths() -> None:
    found = tuple(Finding("kernel", f"{layer}/kernel", at(3)) for layer in "abb")
    assert merge([replace(healthy(), not_asked=found, not_applied=found)] * 2, "").not_asked == found[:2]
    assert merge([replace(healthy(), not_applied=found)], "").not_applied == found[:2]


def test_drawings_stand_beside_each_other() -> None:
    first, second = replace(in_series(), build_graph=small_graph), replace(broken(), build_graph=small_graph)
    drawing = merge([first, second], "").drawing
    assert [n.name for n in drawing.nodes] == ["kernel", "q/Round", "loss", "trace 2: kernel", "trace 2: q/Round", "trace 2: loss"]
    assert [n.number for n in drawing.nodes] == [0, 2, 0, 0, 4, 0]
    assert [n.calls for n in drawing.nodes] == [(0,), (0, 1), (0,), (1,), (1, 2), (1,)]
    assert drawing.edges[-1].tail == "trace 2: q/Round"


def test_what_is_said_twice_is_told_once() -> None:
    assert without_repeats([broken(), broken()]) == [broken()]
    assert len(without_repeats([broken("x=1"), broken("x=2")])) == 2
    assert len(without_repeats([broken(), healthy()])) == 2


def test_intermittent() -> None:
    merged = merge([healthy("training=True"), broken("training=False"), healthy("training=None")], "")
    (found,) = merged.intermittent
    assert (found.name, found.path, found.connected, found.broken) == ("kernel", "enc/kernel", (0, 2), (1,))
    assert found.location == merged.calls[0].location


def test_a_line_that_asks_twice_in_one_step_is_not_intermittent() -> None:
    step = report(*healthy().calls, *broken().calls)
    assert merge([step], "").intermittent == ()
    assert merge([step, step], "").intermittent == ()


def test_other_lines_are_other_calls() -> None:
    assert merge([healthy(), report(call(source("enc/kernel", Verdict.NONE), line=99))], "").intermittent == ()


def test_sources_of_one_name_are_told_apart_by_their_order() -> None:
    one = report(call(source("Variable"), source("Variable", Verdict.NONE)))
    two = report(call(source("Variable"), source("Variable")))
    (found,) = merge([one, two], "").intermittent
    assert (found.connected, found.broken) == ((1,), (0,))


def test_differences_in_inputs() -> None:
    line, other = ("gradient", ("f", 1)), ("gradient", ("f", 2))
    described = [
        (line, {"x": "float32[2]", "training": "True"}),
        (line, {"x": "float32[2]", "training": "False"}),
        (other, {"x": "int32[]"}),
        (line, {"x": "float32[2]"}),
    ]
    texts = name_differences(described)
    assert texts == ["training=True", "training=False", "", ""]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("critic/*", "critic/dense/kernel", True),
        ("critic/*", "actor/critic/kernel", False),
        ("*/bias", "a/b/bias", True),
        ("kernel", "enc/kernel", True),
        ("Kernel", "enc/kernel", False),
        ("*", "x", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, path.rpartition("/")[2], [pattern]) is expected


def test_a_break_that_is_meant() -> None:
    found = apply_frozen(broken(), ["enc/*"])
    assert (found.ok, found.broken, found.root_causes, found.unexpected, found.notes) == (True, (), (), (), ())
    assert found.calls[0].sources[0].frozen
    assert found.calls[0].sources[0].verdict is Verdict.NONE
    assert "✓ 2 of 2 variables receive gradient" in render_text(found)
    assert "1 more frozen, as they should be (enc/kernel)" in render_text(found)


def test_a_gradient_that_should_not_be() -> None:
    found = apply_frozen(broken(), ["dec/*"])
    assert not found.ok
    assert [f.path for f in found.unexpected] == ["dec/kernel", "dec/bias"]
    assert [r.blocks for r in found.root_causes] == [("enc/kernel",)]
    assert "✗ 2 variables: should be frozen, and gets gradient (unexpected)" in render_text(found)


def test_a_root_cause_keeps_those_that_should_get_gradient() -> None:
    found = apply_frozen(in_series(), ["q/bias"])
    assert [(r.number, r.blocks) for r in found.root_causes] == [(1, ("q/kernel",)), (2, ("q/kernel",))]
    assert found.root_causes[0].reconnects == ()


def test_numbers_of_places_that_are_gone_leave_the_picture() -> None:
    found = apply_frozen(replace(in_series(), build_graph=small_graph), ["q/kernel"])
    assert [n.number for n in found.drawing.nodes] == [0, 0, 0]


def test_a_pattern_that_matches_nothing() -> None:
    assert "frozen pattern 'critik/*' matches no source" in apply_frozen(broken(), ["critik/*"]).notes[0]
    unasked = replace(broken(), not_asked=(Finding("kernel", "critik/kernel", None),))
    hushed = apply_frozen(unasked, ["critik/*"])
    assert (hushed.not_asked, hushed.notes) == ((), ())
    assert apply_frozen(broken(), []) == broken()


def test_findings_of_frozen_variables_are_dropped() -> None:
    found = replace(connected(), not_asked=(Finding("b", "critic/b"), Finding("c", "actor/c")))
    assert [f.path for f in apply_frozen(found, ["critic/*"]).not_asked] == ["actor/c"]


def everything() -> Report:
    return apply_frozen(merge([healthy("training=True"), broken("training=False")], "t"), ["dec/bias"])


def test_json_keeps_all_of_it() -> None:
    again = report_from_json(report_to_json(everything()))
    assert again == everything()
    assert again.intermittent
    assert again.unexpected
    assert [c.inputs for c in again.calls] == ["training=True", "training=False"]


def test_every_form_tells_it() -> None:
    text, markdown, github, sarif = (render(everything()) for render in (render_text, render_markdown, render_github, render_sarif))
    assert "traced with training=True" in text
    assert "connected   with training=True" in text
    assert "broken   with training=False" in text
    assert "connected with `training=True`, broken with `training=False`" in markdown
    assert "- `dec/bias` at `samples/step.py:36`" in markdown
    assert "::error file=samples/step.py,line=36,title=tapetrace%3A unexpected::dec/bias should be frozen, and gets gradient" in github
    assert "title=tapetrace%3A intermittent::enc/kernel is connected with training=True, and not with training=False" in github
    assert '"ruleId": "unexpected"' in sarif
    assert '"ruleId": "intermittent"' in sarif

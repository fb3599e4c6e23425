"""The text report, against golden files, and what must hold for any report.

After a wanted change of wording: ``UPDATE_GOLDEN=1 pytest tests/unit/test_text.py``, then read the difference.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tapetrace.model.encoding import report_from_json, report_to_json
from tapetrace.model.report import Break, Finding, Report, RootCause, TargetResult
from tapetrace.model.words import Cause, Verdict
from tapetrace.render.folding import fold
from tapetrace.render.github import render_github
from tapetrace.render.html_links import link
from tapetrace.render.html_text import answers, headline
from tapetrace.render.markdown import render_markdown
from tapetrace.render.outline import outline
from tapetrace.render.sarif import render_sarif
from tapetrace.render.text import render_text

from .reports import EXAMPLES, at, call, connected, hostile_names, in_series, one_cause, outside_tape, raised, report, source

GOLDEN = Path(__file__).parents[1] / "golden"


def agree_with_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_kind_of_report_reads_as_agreed(name: str) -> None:
    agree_with_golden(name, render_text(EXAMPLES[name]()))


def test_text_for_a_narrow_ascii_stream_reads_as_agreed() -> None:
    text = render_text(in_series(), width=72, ascii=True)
    assert text.isascii()
    agree_with_golden("in_series_narrow_ascii", text)


def test_the_published_example() -> None:
    """The report that the documentation shows, line for line."""
    lines = render_text(outside_tape()).splitlines()
    assert lines[0] == "tapetrace  samples/vae.py:train_step      TensorFlow 2.21.0 · 1 gradient call · 8 sources"
    assert lines[2] == "✗ 8 of 8 variables receive no gradient      samples/step.py:36  tape.gradient(loss, …)"
    assert lines[4] == "  1  outside_tape    samples/vae.py:33  in train_step"
    assert lines[5] == "         33 │ rec, mu, lv = vae(x, training=True)"
    assert lines[7] == "     blocks 8   enc/kernel, enc/bias, mu/kernel, … 5 more        reopening it reconnects 8"
    assert lines[8] == "     mend   this line runs before `with tf.GradientTape()` on line 34: move it inside"
    assert lines[10] == "verified: 8 of 8 verdicts agree with what tape.gradient returned"


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("ascii", [False, True])
def test_colour_adds_no_character(name: str, ascii: bool) -> None:
    colored = render_text(EXAMPLES[name](), color=True, ascii=ascii)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_text(EXAMPLES[name](), ascii=ascii)


def test_without_source_no_line_of_code_is_shown() -> None:
    for example in EXAMPLES.values():
        text = render_text(example(), source=False)
        assert "│" not in text
        assert "vae(x" not in text
        assert "opt.apply" not in text


def test_sentences_wrap_and_code_in_backticks_stays_whole() -> None:
    remedy = "pass it on with `x + tf.stop_gradient(tf.round(x) - x)` or with a smooth function " * 3
    root = RootCause(1, Cause.GRADIENT_IS_NONE, at(12), (), ("w",), ("w",), remedy)
    text = render_text(report(call(source("w", Verdict.NONE, Break(Cause.GRADIENT_IS_NONE, root_cause=1))), root_causes=(root,)), width=70)
    body = [line for line in text.splitlines() if line.startswith(" " * 5)]
    assert max(len(line) for line in body) <= 70
    assert text.count("`x + tf.stop_gradient(tf.round(x) - x)`") == 3


def test_names_come_out_literally_and_cannot_drive_the_terminal() -> None:
    text = render_text(hostile_names())
    assert r"[bold]w[/bold]\x1b[31m\u202e" in text
    assert "größe:emoji:" in text
    assert "\x1b" not in text
    assert r"x = '[red]'\t# [/]" in text


def test_a_name_of_a_million_characters_is_cut() -> None:
    text = render_text(one_cause(Cause.STOP_GRADIENT, at(3), "w" * 1_000_000))
    assert len(text) < 3_000


def test_paths_below_the_working_directory_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "here" / "step.py", tmp_path / "there.py"
    inside.parent.mkdir()
    monkeypatch.chdir(inside.parent)
    found = one_cause(Cause.STOP_GRADIENT, at(3, file=str(inside)), "w")
    assert "stop_gradient    step.py:3  in train_step" in render_text(found).replace(" (StopGradient)", "")
    assert "tapetrace  step.py:f " in render_text(replace(found, target=f"{inside}:f"))
    assert f"    {outside}:3" in render_text(one_cause(Cause.STOP_GRADIENT, at(3, file=str(outside)), "w"))


@pytest.mark.parametrize(("count", "shown"), [(3, "a0, a1, a2"), (4, "a0, a1, a2, a3"), (5, "a0, a1, a2, … 2 more")])
def test_long_lists_fold_but_never_hide_a_single_name(count: int, shown: str) -> None:
    text = render_text(one_cause(Cause.STOP_GRADIENT, at(3), *(f"a{i}" for i in range(count))))
    assert f"blocks {count}   {shown}        reopening it reconnects {count}\n" in text


def test_silent_zeros_are_called_out() -> None:
    text = render_text(one_cause(Cause.GRADIENT_IS_ZERO, at(3), "w", "b", op="Sign", type_="Sign", verdict=Verdict.ZERO))
    assert "✗ 2 of 4 variables receive no gradient" in text
    assert "  all of them silently: TensorFlow returns zeros and warns of nothing (w, b)\n" in text
    assert "silently" not in render_text(one_cause(Cause.STOP_GRADIENT, at(3), "w"))


def test_breaks_in_series_are_listed_from_the_source_on() -> None:
    assert "in series, from q/kernel to the loss: 2 gradient_is_none samples/step.py:12, then 1 stop_gradient" in render_text(in_series())


def test_each_call_has_its_own_headline_and_root_causes() -> None:
    b = Break(Cause.STOP_GRADIENT, "s", "StopGradient", at(5), root_cause=1)
    root = RootCause(1, Cause.STOP_GRADIENT, at(5), (("s", "StopGradient"),), ("g/kernel",), ("g/kernel",), call=1)
    found = report(call(source("d/kernel"), line=10), call(source("g/kernel", Verdict.NONE, b), line=20), root_causes=(root,))
    text = render_text(found)
    assert "2 gradient calls · 2 sources" in text
    ok, bad, place = (text.index(t) for t in ("✓ 1 of 1 variable receives gradient", "✗ 1 of 1 variable receives no gradient", "  1  stop_gradient"))
    assert ok < bad < place


@pytest.mark.parametrize(
    ("written", "source_shown", "said"),
    [
        ("d_tape.gradient(-d_loss, …)", True, "d_tape.gradient(-d_loss, …)"),
        ("d_tape.gradient(-d_loss, …)", False, "tape.gradient(Mean_1:0, …)"),
        ("", True, "tape.gradient(Mean_1:0, …)"),
    ],
)
def test_a_call_is_named_as_the_user_wrote_it(written: str, source_shown: bool, said: str) -> None:
    asked = replace(call(source("w")), location=at(3), written=written, targets=(TargetResult("Mean_1:0", "Mean_1"),))
    assert f"samples/step.py:3  {said}\n" in render_text(report(asked), source=source_shown)


def test_what_could_not_be_verified_is_said() -> None:
    assert "not verified" in render_text(replace(connected(), agreement=report().agreement))
    assert "verified" not in render_text(report())
    assert "no gradient call was seen" in render_text(report())


def test_what_the_step_raised_comes_last() -> None:
    text = render_text(raised())
    assert text.index("verified") < text.index("✗ the step itself raised ValueError: No gradients provided for any variable.")
    assert "the call raised LookupError: No gradient defined for operation 'Adjust'" in text


def test_a_broken_source_without_a_break_is_our_own_fault() -> None:
    text = render_text(report(call(source("w", Verdict.NONE))))
    assert "no break was found    which is tapetrace's own fault" in text


def test_an_empty_list_of_sources_is_said_with_its_mend_in_all_formats() -> None:
    found: Report = replace(connected(), calls=(call(),), not_asked=(Finding("v", "net/v"),))
    in_page, _ = headline(outline(found)[0])
    for said in (render_text(found), render_markdown(found), render_github(found), render_sarif(found), fold(found).subtitle, in_page):
        assert "no source was asked for: nothing is trained" in said
    for said in (render_text(found), render_markdown(found), render_github(found), render_sarif(found)):
        assert "take `trainable_variables` after the model was called once" in said
    assert replace(found, not_asked=()).empty == (0,)
    beside = replace(found, calls=(call(source("w")), call()), not_asked=())
    assert beside.empty == ()
    assert "~ no source was asked for" in render_text(beside)


def test_the_mend_of_findings_is_said_once_in_all_formats() -> None:
    found: Report = replace(connected(), not_asked=tuple(Finding(name, f"made/{name}", at(8), "make it <before>") for name in ("kernel", "bias")))
    assert report_from_json(report_to_json(found)).not_asked == found.not_asked
    text = render_text(found)
    assert text.count("     mend   make it <before>") == 1
    assert "--frozen" not in text
    assert render_markdown(found).count("Mend: make it") == 1
    assert render_github(found).count("no call asks for it. make it <before>") == 2
    assert render_sarif(found).count("no gradient call asks for it. make it <before>") == 2
    assert str(answers(found, link(found, {}))).count("mend: make it &lt;before&gt;") == 1


def test_many_findings_fold() -> None:
    found: Report = replace(connected(), not_asked=tuple(Finding(f"v{i}", f"v{i}") for i in range(8)))
    text = render_text(found)
    assert "! 8 variables: trainable and live, but no call asks for it (not_asked)" in text
    assert "     … 3 more" in text

"""A comparison as text, Markdown and JSON: what a person reads, and that hostile names come out literally."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tapetrace
from tapetrace.comparing import render_comparison, write_comparison
from tapetrace.errors import OutputError, ReportError, UsageError

from . import reports
from .reports import call, report, source

HEALTHY = replace(report(call(*(source(path) for path in reports.LAYERS))), target="samples/vae.py:train_step", keras="", tensorflow="2.20.0")

LOST = """\
tapetrace diff  samples/vae.py:train_step      TensorFlow 2.20.0 → 2.21.0

✗ worse: 8 sources

✗ 8 variables: no real gradient any more      samples/step.py:36  tape.gradient(loss, …)
     connected → none    outside_tape    samples/vae.py:33  in train_step
         33 │ rec, mu, lv = vae(x, training=True)
     of     enc/kernel, enc/bias, mu/kernel, … 5 more
     mend   this line runs before `with tf.GradientTape()` on line 34: move it inside

+ 1 root cause that is new
     outside_tape, blocks 8    samples/vae.py:33  in train_step
"""

REGAINED = """\
tapetrace diff  samples/vae.py:train_step      TensorFlow 2.21.0 → 2.20.0

✓ nothing got worse, 8 sources mended

✓ 8 variables: a real gradient again      samples/step.py:36  tape.gradient(loss, …)
     none → connected    was outside_tape    samples/vae.py:33  in train_step
     of     enc/kernel, enc/bias, mu/kernel, … 5 more

- 1 root cause that is gone
     outside_tape, blocked 8    samples/vae.py:33  in train_step
"""


def test_what_a_person_reads() -> None:
    broken = reports.outside_tape()
    assert render_comparison(tapetrace.compare(HEALTHY, broken)) == LOST
    assert render_comparison(tapetrace.compare(broken, HEALTHY), source=False) == REGAINED
    assert str(tapetrace.compare(HEALTHY, broken)) == LOST.rstrip("\n")


def test_the_worst_comes_first() -> None:
    stop = reports.Break(reports.Cause.STOP_GRADIENT, "s", "StopGradient", reports.at(12, "y = tf.stop_gradient(x)"))
    cut = reports.Verdict.NONE
    before = report(call(source("mended", cut, stop), source("lost"), source("gone")))
    after = report(call(source("mended"), source("lost", cut, stop), source("new")))
    found = render_comparison(tapetrace.compare(before, after))
    heads = [line.split(" ")[0] for line in found.splitlines()[4:] if line and line[0] != " "]
    assert heads == ["✗", "✓", "+", "-"]


def test_nothing_changed() -> None:
    same = render_comparison(tapetrace.compare(HEALTHY, HEALTHY))
    assert same.splitlines()[-1] == "✓ nothing changed: 8 sources of 1 gradient call, as before"


def test_markdown() -> None:
    text = render_comparison(tapetrace.compare(HEALTHY, reports.outside_tape()), "markdown")
    assert text.startswith("## tapetrace diff: `samples/vae.py:train_step`\n\n✗ **worse: 8 sources**  ·  TensorFlow 2.20.0 → 2.21.0\n")
    assert "- connected → none, outside\\_tape at `samples/vae.py:33`: `enc/kernel`, `enc/bias`" in text
    assert "  ```python\n  rec, mu, lv = vae(x, training=True)  # line 33\n  ```\n\n  **Mend**: this line runs before" in text
    assert "```" not in render_comparison(tapetrace.compare(HEALTHY, reports.outside_tape()), "markdown", source=False)


def test_json() -> None:
    data = json.loads(render_comparison(tapetrace.compare(HEALTHY, reports.outside_tape()), "json"))
    assert (data["schema"], data["worse"], data["same"]) == ("tapetrace-diff/1", True, False)
    assert [s["path"] for s in data["sources"]] == reports.LAYERS
    first = data["sources"][0]
    assert (first["change"], first["worse"], first["calls"]) == ("broken", True, [0, 0])
    assert (first["before"]["verdict"], first["after"]["verdict"], first["after"]["cause"]) == ("connected", "none", "outside_tape")
    assert first["after"]["location"]["code"] == "rec, mu, lv = vae(x, training=True)"
    assert [(r["change"], r["blocked"], r["blocks"]) for r in data["root_causes"]] == [("new", [], reports.LAYERS)]
    hidden = json.loads(render_comparison(tapetrace.compare(HEALTHY, reports.outside_tape()), "json", source=False))
    assert hidden["sources"][0]["after"]["location"]["code"] == ""


@pytest.mark.parametrize("format", ["text", "markdown", "json"])
@pytest.mark.parametrize("name", sorted(reports.EXAMPLES))
def test_every_example_can_be_told(format: str, name: str) -> None:
    for before, after in ((HEALTHY, reports.EXAMPLES[name]()), (reports.EXAMPLES[name](), HEALTHY)):
        assert render_comparison(tapetrace.compare(before, after), format).endswith("\n")


def test_hostile_names_come_out_literally() -> None:
    found = tapetrace.compare(report(call()), reports.hostile_names())
    text = render_comparison(found)
    assert "[bold]w[/bold]\\x1b[31m\\u202e" in text
    assert "\x1b" not in text
    assert "`[bold]w[/bold]\\x1b[31m\\u202e`" in render_comparison(found, "markdown")
    assert json.loads(render_comparison(found, "json"))["sources"][1]["after"]["norm"] == "nan"


def test_findings_and_numbers_are_told() -> None:
    text = render_comparison(tapetrace.compare(reports.connected(), reports.never_read()))
    assert "+ trainable and live, but no call asks for it\n     chain/offset    samples/step.py:6  in __init__\n" in text
    shrunk = [report(call(*(source(p, numbers=reports.Numbers(n, 0, 0, 0)) for p in ("a", "b")))) for n in (1.0, 3e-5)]
    assert "~ 2 variables: a gradient of another size" in (text := render_comparison(tapetrace.compare(*shrunk)))
    assert "     norm 1e+00 → 3e-05\n     of     a, b\n" in text


@pytest.mark.parametrize(("name", "start"), [("d.txt", "tapetrace diff"), ("d.md", "## tapetrace diff"), ("D.JSON", '{\n  "schema"')])
def test_written_by_suffix(tmp_path: Path, name: str, start: str) -> None:
    write_comparison(tapetrace.compare(HEALTHY, HEALTHY), tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_what_cannot_be_answered(tmp_path: Path) -> None:
    found = tapetrace.compare(HEALTHY, HEALTHY)
    with pytest.raises(OutputError, match=r"names no format of a comparison: end it in one of \.txt \.json \.md"):
        write_comparison(found, tmp_path / "d.svg")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="format='sarif' is not one of text, json, markdown"):
        render_comparison(found, "sarif")
    (tmp_path / "old.json").write_text("[")
    with pytest.raises(ReportError, match=r"old\.json: this is not JSON"):
        tapetrace.compare(HEALTHY, tmp_path / "old.json")

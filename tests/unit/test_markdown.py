"""Markdown: what stands where, and that no name or message can turn into markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause
from tapetrace.render.markdown import render_markdown

from .reports import EXAMPLES, at, branches, connected, in_series, one_cause, outside_tape


def test_a_report_reads_from_the_headline_to_the_mend() -> None:
    parts = render_markdown(outside_tape()).split("\n\n")
    assert parts[0] == "## tapetrace: `samples/vae.py:train_step`"
    assert parts[1] == "Broken. TensorFlow 2.21.0."
    assert parts[2] == "### ✗ 8 of 8 variables receive no gradient"
    assert parts[3] == "`tape.gradient(loss, …)` at `samples/step.py:36`"
    assert parts[4] == "#### 1. outside_tape at `samples/vae.py:33`"
    assert parts[5] == "```python\nrec, mu, lv = vae(x, training=True)  # line 33\n```"
    assert parts[6].splitlines()[1:] == [
        "- Reopening it alone reconnects 8",
        "- **Mend**: this line runs before `with tf.GradientTape()` on line 34: move it inside",
    ]
    assert parts[7] == "Verified: 8 of 8 verdicts agree with what `tape.gradient` returned.\n"


def test_connected_conditional_and_silent_are_said() -> None:
    assert "### ✓ 6 of 6 variables receive gradient" in render_markdown(connected())
    assert "2 of 3 variables receive gradient only in some branches." in render_markdown(branches())
    assert "**1 of them silently**: TensorFlow returns zeros and warns of nothing (`q/bias`)." in render_markdown(in_series())


@pytest.mark.parametrize("name", EXAMPLES)
def test_without_source_there_is_no_code_block(name: str) -> None:
    assert "```" not in render_markdown(EXAMPLES[name](), source=False)


def test_names_and_messages_cannot_become_markup() -> None:
    hostile = one_cause(Cause.STOP_GRADIENT, at(3, "```\n<b>"), "a`b``c", "<script>", "x\n# heading")
    hostile = replace(hostile, error=TraceError("Error<b>", "[click](http://x) <img src=x> @someone #1 **bold**"))
    text = render_markdown(hostile)
    assert "```a`b``c```" in text
    assert "`<script>`" in text
    assert "\n# heading" not in text
    assert "\\[click\\]\\(http://x\\) \\<img src=x\\> \\@someone \\#1 \\*\\*bold\\*\\*" in text
    assert "Error\\<b\\>" in text
    assert "````python\n```\\n<b>  # line 3\n````" in text


def test_long_lists_fold() -> None:
    text = render_markdown(one_cause(Cause.STOP_GRADIENT, at(3), *(f"a{i}" for i in range(20))))
    assert "- Blocks 20: `a0`, `a1`, `a2`, `a3`, `a4`, `a5`, `a6`, `a7`, … 12 more" in text

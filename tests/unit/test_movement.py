"""Whether the loss moves: the sentence in the break and in the notes."""

from __future__ import annotations

import pytest

from tapetrace.analysis.movement import Movement, tell_movement
from tapetrace.model.report import Break
from tapetrace.model.words import Cause, Verdict
from tests.unit.reports import at, call, report, source


@pytest.mark.parametrize(
    ("movement", "cause", "sentence"),
    [
        (Movement.A_LITTLE, Cause.NEVER_READ, "the loss moves when it is changed: there is a dependency that the tape does not see"),
        (Movement.NONE, Cause.NEVER_READ, "the loss does not move when it is changed: unused"),
        (Movement.NONE, Cause.GRADIENT_IS_NONE, "the loss does not move when it is changed, so nothing of its value gets there"),
        (
            Movement.MUCH,
            Cause.GRADIENT_IS_NONE,
            "the loss moves only when it is changed by a lot: there is a dependency, in which the value is rounded or compared",
        ),
    ],
)
def test_the_sentence(movement: Movement, cause: Cause, sentence: str) -> None:
    given = report(call(source("a/w"), source("a/b", Verdict.NONE, Break(cause, location=at(7), detail="what it was"))))
    told = tell_movement(given, {(0, 1): movement})
    assert told.calls[0].sources[0] == given.calls[0].sources[0]
    assert told.calls[0].sources[1].breaks[0].detail == f"what it was; {sentence}"
    assert told.notes == (f"a/b: {sentence}",)


def test_sources_of_one_answer_share_a_note() -> None:
    b = Break(Cause.NEVER_READ, location=at(7))
    given = report(call(*(source(f"w{i}", Verdict.NONE, b) for i in range(8))))
    told = tell_movement(given, {(0, i): Movement.NONE for i in range(8)})
    assert told.notes == ("w0, w1, w2, w3, w4, w5 and 2 more: the loss does not move when it is changed: unused",)


def test_nothing_was_tried() -> None:
    given = report(call(source("w", Verdict.NONE, Break(Cause.NEVER_READ))))
    assert tell_movement(given, {}) == given

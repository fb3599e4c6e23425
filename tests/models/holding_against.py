"""A report held against the truth: what was asked, and each answer that is wrong, by kind of question."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tapetrace.model.report import Break, Report, SourceResult
from tapetrace.model.words import Verdict
from tests.models.truths import CallTruth, Cut, Truth

VERDICTS, LINES, ORDERS, FIRSTS, OTHERS = "verdicts", "first ops and lines", "two breaks in order", "first root causes", "other statements"
QUESTIONS = (VERDICTS, LINES, ORDERS, FIRSTS, OTHERS)


@dataclass
class Answers:
    """How often each question was asked and answered right, and the wrong answers."""

    asked: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, question: str, right: bool, answer: str) -> None:
        self.asked[question] += 1
        self.right[question] += right
        if not right:
            self.wrong.append(f"{question}: {answer}")


def hold_against(truth: Truth, report: Report) -> Answers:
    """Everything that a report says of a step with planted cuts, held against what is true by construction."""
    answers = Answers()
    for disagreement in report.agreement.disagreed:
        answers.note(OTHERS, False, disagreement)
    answers.note(OTHERS, len(report.calls) == len(truth.calls), f"{len(report.calls)} gradient calls")
    for number, (call, result) in enumerate(zip(truth.calls, report.calls, strict=False)):
        paths = tuple(s.path for s in result.sources)
        answers.note(OTHERS, paths == tuple(path for path, _ in call.sources), f"call {number} has the sources {paths}")
        for (_, ways), source in zip(call.sources, result.sources, strict=False):
            verdict = truth.verdict(call, ways)
            answers.note(VERDICTS, source.verdict is verdict, f"call {number}: {source.path} is {source.verdict.value}, not {verdict.value}")
            if () not in ways:
                _breaks(truth, truth.breaks(call, ways), source, answers)
            elif verdict is Verdict.CONNECTED:
                answers.note(OTHERS, not source.breaks, f"{source.path} is connected, yet has a break {_said(source.breaks)}")
        _root_causes(truth, call, [c for c in report.root_causes if c.call == number], answers)
    return answers


def _breaks(truth: Truth, possible: set[tuple[int, ...]], source: SourceResult, answers: Answers) -> None:
    firsts = [truth.cuts[way[0]] for way in possible]
    said = f"{source.path}: {_said(source.breaks)}, not {[_planted(truth, way) for way in possible]}"
    answers.note(LINES, bool(source.breaks) and any(_is(source.breaks[0], cut) for cut in firsts), said)
    fits = any(_names_in_order(source.breaks, [truth.cuts[n] for n in way]) for way in possible)
    answers.note(ORDERS if all(len(way) > 1 for way in possible) else OTHERS, fits, said)


def _names_in_order(breaks: tuple[Break, ...], cuts: list[Cut]) -> bool:
    """Whether the breaks are these cuts, one after the other: one break each, or one for each of several ops that the line of a cut makes."""
    left = list(breaks)
    for cut in cuts:
        ops: set[str] = set()
        while left and _is(left[0], cut) and left[0].type not in ops:
            ops.add(left.pop(0).type)
        if not ops:
            return False
    return not left


def _is(found: Break, cut: Cut) -> bool:
    return found.cause is cut.cause and (not cut.types or found.type in cut.types) and _stands_at(found.location, cut)


def _stands_at(location: Any, cut: Cut) -> bool:
    return location is not None and (location.file, location.line) == (cut.file, cut.line)


def _said(breaks: Any) -> list[str]:
    return [f"{b.cause.value} {getattr(b, 'type', '')} at {b.location.place if b.location else None}" for b in breaks]


def _planted(truth: Truth, way: tuple[int, ...]) -> list[str]:
    return [f"{truth.cuts[n].cause.value} at line {truth.cuts[n].line}" for n in way]


def _root_causes(truth: Truth, call: CallTruth, found: list[Any], answers: Answers) -> None:
    cut_off = truth.cut_off(call)
    if not cut_off and not truth.raises(call):
        answers.note(OTHERS, not found, f"root cause {_said(found)} although nothing is cut off")
        return
    places = [(c.cause, c.location.file if c.location else "", c.location.line if c.location else 0) for c in found]
    planted = {cut.place for cut in truth.cuts}
    # Of a line that is not the one at which the call raises, mending brings nothing back before the other is mended: how it ranks is a choice.
    best = planted if truth.raises(call) and len(planted) > 1 else truth.most_worth(call)
    answers.note(FIRSTS, bool(places) and places[0] in best, f"{_said(found)} ranked so, first should be one of {[p[0].value for p in best]}")
    answers.note(OTHERS, set(places) <= planted, f"{_said(found)}: more than was planted")
    for cause, place in zip(found, places, strict=True):
        must = {p for p, ways in cut_off.items() if all(any(truth.cuts[n].place == place for n in way) for way in ways)}
        may = {p for p, ways in cut_off.items() if any(any(truth.cuts[n].place == place for n in way) for way in ways)}
        if truth.raises(call):
            may |= {path for path, _ in call.sources}
        blocks = set(cause.blocks)
        answers.note(OTHERS, must <= blocks <= may, f"{_said([cause])} blocks {len(blocks)}, should be {len(must)} to {len(may)}")
        if not truth.raises(call) or len(planted) == 1:
            right = truth.reconnects(call, place)
            answers.note(OTHERS, set(cause.reconnects) == right, f"{_said([cause])} reconnects {len(cause.reconnects)}, should be {len(right)}")

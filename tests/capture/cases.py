"""Steps with the verdicts that are expected of them, each held against TensorFlow as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tapetrace
from tapetrace.model.report import Report
from tests.capture.oracle import LIVE, ask_tensorflow, contradictions

Build = Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
"""Makes a step and its arguments; called once for tapetrace and once for TensorFlow, so that neither sees what the other left behind."""


@dataclass(frozen=True)
class Case:
    """``expected``: the verdict of each source, those of different calls parted by ``|``."""

    name: str
    expected: str
    build: Build
    vanishing: bool = False

    def check(self) -> Report:
        """The report on the step; fails when it is not as expected or contradicts TensorFlow."""
        step, args = self.build()
        report = tapetrace.check(step, *args, mode="graph")
        truth_step, truth_args = self.build()
        found = contradictions(report, ask_tensorflow(truth_step, truth_args), may_vanish=LIVE if self.vanishing else frozenset())
        if verdicts(report) != self.expected:
            found.append(f"expected {self.expected!r}, found {verdicts(report)!r}")
        assert not found, "\n".join([self.name, *found])
        return report


def verdicts(report: Report) -> str:
    """The verdict of each source, those of different calls parted by ``|``."""
    return " | ".join(" ".join(s.verdict.value for s in call.sources) for call in report.calls)


class Cases(list[Case]):
    """A list of cases, filled by using it as a decorator: ``@cases("connected none")``."""

    def __call__(self, expected: str, *, vanishing: bool = False) -> Callable[[Build], Build]:
        def add(build: Build) -> Build:
            self.append(Case(build.__name__, expected, build, vanishing))
            return build

        return add

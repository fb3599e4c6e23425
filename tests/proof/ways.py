"""The ways to look at a step, and how many of them a test tries."""

from __future__ import annotations

import os
from typing import Any

LONG = bool(os.environ.get("TAPETRACE_PROOF_LONG"))
"""Set it for every error in every way, steps of 100,000 ops and 5,000 variables, and files of hundreds of megabytes."""

WAYS: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "eager": {"mode": "eager"}}
OTHER_WAYS: dict[str, dict[str, Any]] = {
    "auto": {},
    "numeric": {"numeric": True},
    "perturb": {"mode": "graph", "perturb": True},
    "compare modes": {"compare_modes": True},
    "quick": {"verify": False},
}
if LONG:
    WAYS |= OTHER_WAYS


def verdicts(report: Any) -> str:
    return " ".join(s.verdict.value for call in report.calls for s in call.sources)

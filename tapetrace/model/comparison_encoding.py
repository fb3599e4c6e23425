"""A Comparison as plain data, schema ``tapetrace-diff/1``: what `tapetrace diff --format json` prints."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tapetrace.model.comparison import CallChange, Comparison, RootCauseChange, SourceChange
from tapetrace.model.locations_encoding import location_to_dict
from tapetrace.model.privacy import without_source
from tapetrace.model.report import Report, SourceResult

SCHEMA = "tapetrace-diff/1"


def comparison_to_dict(found: Comparison) -> dict[str, Any]:
    """The comparison as dicts, lists, strings, numbers and None."""
    from tapetrace import __version__

    return {
        "schema": SCHEMA,
        "tapetrace": __version__,
        "worse": found.is_worse,
        "same": found.is_same,
        "before": _report(found.before),
        "after": _report(found.after),
        "sources": [_source(s) for s in found.sources],
        "calls": [_call(c) for c in found.calls],
        "root_causes": [_root_cause(r) for r in found.root_causes],
        "findings": [
            {"change": f.change.value, "kind": f.kind, "name": f.name, "location": location_to_dict(f.location), "worse": f.is_worse}
            for f in found.findings
        ],
    }


def comparison_to_json(found: Comparison, *, source: bool = True) -> str:
    """The comparison as indented JSON text. ``source=False`` leaves lines of code empty and paths short."""
    data = comparison_to_dict(found)
    text = json.dumps(data if source else without_source(data), indent=2, ensure_ascii=False, allow_nan=False)
    return re.sub("[\ud800-\udfff]", "\ufffd", text) + "\n"


def _report(report: Report) -> dict[str, Any]:
    return {"target": report.target, "tensorflow": report.tensorflow, "keras": report.keras, "mode": report.mode, "ok": report.ok}


def _source(s: SourceChange) -> dict[str, Any]:
    return {
        "change": s.change.value,
        "path": s.label,
        "worse": s.is_worse,
        "calls": list(s.calls),
        "before": _side(s.before),
        "after": _side(s.after),
    }


def _side(found: SourceResult | None) -> dict[str, Any] | None:
    if found is None:
        return None
    norm = found.numbers.norm if found.numbers else None
    return {
        "path": found.label,
        "verdict": found.verdict.value,
        "cause": found.cause.value if found.cause else None,
        "location": location_to_dict(found.breaks[0].location) if found.breaks else None,
        "norm": norm if norm is None or math.isfinite(norm) else str(norm),
    }


def _call(c: CallChange) -> dict[str, Any]:
    return {
        "change": c.change.value,
        "index": c.index,
        "kind": c.call.kind,
        "location": location_to_dict(c.call.location),
        "sources": len(c.call.sources),
    }


def _root_cause(r: RootCauseChange) -> dict[str, Any]:
    found = r.after or r.before
    assert found is not None
    return {
        "change": r.change.value,
        "cause": found.cause.value,
        "location": location_to_dict(found.location),
        "blocked": list(r.before.blocks) if r.before else [],
        "blocks": list(r.after.blocks) if r.after else [],
        "remedy": found.remedy,
    }

"""A Report as plain data, schema ``tapetrace/1``, and back, so that it can be saved and drawn where there is no TensorFlow.

Beyond the documented keys it holds what a renderer needs: ``notes``, ``unexpected``, ``intermittent``, ``graph`` (see
`tapetrace.model.graph_encoding`), ``error``, ``inputs`` and ``written`` of a call, ``owner``, ``frozen`` and ``replicas`` of a source, ``detail``,
``reenters`` and ``root_cause`` of a break, ``number``, ``detail``, ``reenters``, ``dominates`` and ``call`` of a root cause.
``library_location`` stands beside a ``location``: always in breaks, elsewhere where there is one. A ``norm`` that JSON has no number for is the
string ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tapetrace.errors import ReportError
from tapetrace.model.decoding import SCHEMA, report_from_dict
from tapetrace.model.graph_encoding import graph_to_dict
from tapetrace.model.locations_encoding import frame_to_dict, location_to_dict, placed
from tapetrace.model.privacy import with_short_paths, without_source
from tapetrace.model.report import BlindSpot, Break, CallResult, Finding, Intermittent, Numbers, Report, RootCause, SourceResult
from tapetrace.model.trace import TraceError

__all__ = [
    "SCHEMA", "report_from_dict", "report_from_json", "report_to_dict", "report_to_json", "report_with_short_paths", "report_without_source",
]  # fmt: skip


def report_to_dict(report: Report) -> dict[str, Any]:
    """The report as dicts, lists, strings, numbers and None; reads the locations of the whole graph if that was not done yet."""
    from tapetrace import __version__

    return {
        "schema": SCHEMA,
        "tapetrace": __version__,
        "tensorflow": report.tensorflow,
        "keras": report.keras,
        "target": report.target,
        "mode": report.mode,
        "ok": report.ok,
        "calls": [_call(c) for c in report.calls],
        "root_causes": [_root_cause(r) for r in report.root_causes],
        "not_asked": [_finding(f) for f in report.not_asked],
        "not_applied": [_finding(f) for f in report.not_applied],
        "agreement": {"checked": report.agreement.checked, "disagreed": list(report.agreement.disagreed)},
        "blind_spots": [_blind_spot(b) for b in report.blind_spots],
        "error": _error(report.error),
        "notes": list(report.notes),
        "unexpected": [_finding(f) for f in report.unexpected],
        "intermittent": [_intermittent(i) for i in report.intermittent],
        "graph": graph_to_dict(report.drawing),
    }


def report_without_source(report: Report) -> Report:
    """The report as it may be handed to others: without lines of code, and with no path that tells where the project lies."""
    return report_from_dict(without_source(report_to_dict(report)))


def report_with_short_paths(report: Report) -> Report:
    """The report with its lines of code, and no path that tells where the project lies."""
    return report_from_dict(with_short_paths(report_to_dict(report)))


def report_to_json(report: Report, *, source: bool = True) -> str:
    """The report as JSON text: indented, the graph with one node or edge a line. ``source=False`` leaves lines of code
    empty and paths short."""
    data = report_to_dict(report)
    if not source:
        data = without_source(data)
    graph = data.pop("graph")
    lists = ",\n".join(f'    "{key}": [{_one_a_line(items)}]' for key, items in graph.items())
    whole = f'{_dump(data, indent=2)[:-2]},\n  "graph": {{\n{lists}\n  }}\n}}\n'
    return re.sub("[\ud800-\udfff]", "\ufffd", whole)  # a file name that is not UTF-8 comes from Python with lone surrogates, which no file can hold


def report_from_json(text: str) -> Report:
    """The report that `report_to_json` wrote. Raises `tapetrace.errors.ReportError` for anything else, nested a million levels deep included."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        reason = "it is nested too deep" if isinstance(e, RecursionError) else str(e)
        raise ReportError(f"this is not JSON ({reason}): give a file that `tapetrace check … -o report.json` wrote") from None
    return report_from_dict(data)


def _dump(data: object, indent: int | None = None) -> str:
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)


def _one_a_line(items: list[Any]) -> str:
    return "\n" + ",\n".join(f"      {_dump(item)}" for item in items) + "\n    " if items else ""


def _call(call: CallResult) -> dict[str, Any]:
    return placed(call.location) | {
        "kind": call.kind,
        "targets": [{"name": t.name, "op": t.op} | placed(t.location) for t in call.targets],
        "sources": [_source(s) for s in call.sources],
        "error": _error(call.error),
        "inputs": call.inputs,
        "written": call.written,
    }


def _source(source: SourceResult) -> dict[str, Any]:
    return {
        "name": source.name,
        "path": source.path,
        "kind": source.kind,
        "dtype": source.dtype,
        "shape": None if source.shape is None else list(source.shape),
        "verdict": source.verdict.value,
        "returned": source.returned.value if source.returned else None,
        "cause": source.cause.value if source.cause else None,
        "numbers": _numbers(source.numbers),
        "breaks": [_break(b) for b in source.breaks],
        "route": list(source.route),
        "owner": source.owner,
        "frozen": source.frozen,
        "replicas": list(source.replicas),
    }


def _numbers(numbers: Numbers | None) -> dict[str, Any] | None:
    if numbers is None:
        return None
    norm = float(numbers.norm)
    named = "NaN" if math.isnan(norm) else ("Infinity" if norm > 0 else "-Infinity")
    return {"norm": norm if math.isfinite(norm) else named, "zeros": numbers.zeros, "nan": numbers.nan, "inf": numbers.inf}


def _break(b: Break) -> dict[str, Any]:
    library = b.location.library if b.location else None
    return {
        "cause": b.cause.value,
        "op": b.op,
        "type": b.type,
        "location": location_to_dict(b.location),
        "library_location": frame_to_dict(library) if library else None,
        "remedy": b.remedy,
        "detail": b.detail,
        "reenters": location_to_dict(b.reenters),
        "root_cause": b.root_cause,
    }


def _root_cause(r: RootCause) -> dict[str, Any]:
    return {
        "number": r.number,
        "cause": r.cause.value,
        **placed(r.location),
        "ops": [{"name": name, "type": type_} for name, type_ in r.ops],
        "blocks": list(r.blocks),
        "reconnects": list(r.reconnects),
        "remedy": r.remedy,
        "detail": r.detail,
        "reenters": location_to_dict(r.reenters),
        "dominates": r.dominates,
        "call": r.call,
    }


def _finding(f: Finding) -> dict[str, Any]:
    return {"name": f.name, "path": f.path} | placed(f.location) | ({"remedy": f.remedy} if f.remedy else {})


def _intermittent(i: Intermittent) -> dict[str, Any]:
    return {"name": i.name, "path": i.path, "connected": list(i.connected), "broken": list(i.broken)} | placed(i.location)


def _blind_spot(b: BlindSpot) -> dict[str, Any]:
    return {"name": b.name, "type": b.type, "dtype": b.dtype, "shape": None if b.shape is None else list(b.shape)} | placed(b.location)


def _error(error: TraceError | None) -> dict[str, Any] | None:
    return None if error is None else {"type": error.type, "message": error.message} | placed(error.location)

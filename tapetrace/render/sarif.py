"""The report as SARIF 2.1.0, for code scanning: one rule a cause, one result a place, one code flow a way from a source to the target."""

from __future__ import annotations

import json
from typing import Any

from tapetrace.model.locations import Location
from tapetrace.model.report import CallResult, Report, SourceResult
from tapetrace.render.outline import EMPTY, EMPTY_REMEDY, Place, Weight, in_words, outline
from tapetrace.render.repository import repository_root
from tapetrace.render.sarif_pieces import Pieces, fingerprint, rule
from tapetrace.render.visible import fold_names, shown_target, visible, visible_sentence

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_FLOWS = 10
"""Code flows of one result; viewers show one at a time."""

Result = dict[str, Any]


def render_sarif(report: Report, *, source: bool = True) -> str:
    """The report as SARIF text, indented. Paths are relative to ``SRCROOT``, the root of the repository; ``source=False`` leaves snippets out."""
    from tapetrace import __version__

    root = repository_root()
    pieces = Pieces(root, source)
    results = _results(report, pieces)
    _make_fingerprints_unique(results)
    names = list(dict.fromkeys(r["ruleId"] for r in results))
    for r in results:
        r["ruleIndex"] = names.index(r["ruleId"])
    driver = {"name": "tapetrace", "version": __version__, "rules": [rule(name) for name in names]}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": report.error is None, "toolExecutionNotifications": _notifications(report, pieces)}],
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "the root of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {
            "target": shown_target(report.target),
            "mode": visible(report.mode),
            "tensorflow": visible(report.tensorflow),
            "ok": report.ok,
        },
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _results(report: Report, pieces: Pieces) -> list[Result]:
    results = []
    for found in outline(report):
        results += [_of_place(place, found.call, pieces) for place in found.places]
        if found.unexplained:
            names = fold_names([s.label for s in found.unexplained])
            results.append(_result("unexplained", "error", f"no gradient reaches {names}, and no break was found", found.call.location, pieces))
        if found.is_empty:
            results.append(_result("not_asked", "error", f"{EMPTY}. {EMPTY_REMEDY}", found.call.location, pieces))
    for f in report.unexpected:
        results.append(_result("unexpected", "error", f"{visible(f.path or f.name)} should be frozen, and gets gradient", f.location, pieces))
    for found_at_times in report.intermittent:
        connected, broken = in_words(report, found_at_times)
        text = f"{visible(found_at_times.path or found_at_times.name)} is connected with {visible(connected)}, and not with {visible(broken)}"
        results.append(_result("intermittent", "warning", text, found_at_times.location, pieces))
    for f in report.not_asked:
        text = f"{visible(f.path or f.name)} is trainable and live, but no gradient call asks for it"
        mend = f". {visible_sentence(f.remedy)}" if f.remedy else ""
        results.append(_result("not_asked", "warning", f"{text}{mend}", f.location, pieces))
    for f in report.not_applied:
        text = f"the gradient of {visible(f.path or f.name)} was computed, but never handed to an optimizer"
        results.append(_result("not_applied", "warning", text, f.location, pieces))
    return results


def _of_place(place: Place, call: CallResult, pieces: Pieces) -> Result:
    does = {
        Weight.BROKEN: "keeps gradient from",
        Weight.CONDITIONAL: "decides by a branch whether gradient reaches",
        Weight.OPAQUE: "hides whether gradient reaches",
    }[place.weight]
    text = f"{place.cause.value} {does} {fold_names(place.blocks)}"
    text += f" ({visible_sentence(place.detail)})" if place.detail else ""
    text += f": {visible_sentence(place.remedy)}" if place.remedy else ""
    level = "error" if place.weight is Weight.BROKEN else "warning"
    result = _result(place.cause.value, level, text, place.location or call.location, pieces)
    related = [(f, "called from here") for f in place.location.called_from] if place.location else []
    related += [(place.reenters.frame, f"the value is {place.returning} here")] if place.reenters else []
    if related:
        result["relatedLocations"] = [pieces.frame(f, text, i) for i, (f, text) in enumerate(related)]
    flows = _flows(place, call, pieces)
    if flows:
        result["codeFlows"] = flows
    result["properties"] = {"number": place.number, "blocks": [visible(n) for n in place.blocks], "reconnects": place.reconnects}
    return result


def _flows(place: Place, call: CallResult, pieces: Pieces) -> list[dict[str, Any]]:
    """One flow for each different chain of breaks behind the place."""
    chains: dict[tuple[object, ...], SourceResult] = {}
    for source in place.sources:
        chains.setdefault(tuple((b.cause, b.location) for b in source.breaks), source)
    return [
        {"message": {"text": f"from {visible(s.label)} to the loss"}, "threadFlows": [{"locations": steps}]}
        for s in list(chains.values())[:_MOST_FLOWS]
        if (steps := _steps(s, call, pieces))
    ]


def _steps(source: SourceResult, call: CallResult, pieces: Pieces) -> list[dict[str, Any]]:
    stops: list[tuple[Location | None, str]] = []
    for b in source.breaks:
        stops += [(b.location, f"{b.cause.value} {b.type}".rstrip()), (b.reenters, "the value comes in again here")]
    stops += [(t.location, f"target {visible(t.name)}") for t in call.targets[:1]]
    stops.append((call.location, f"the gradient for {visible(source.label)} is asked here"))
    return [{"location": pieces.location(where, text), "importance": "essential"} for where, text in stops if where is not None]


def _result(name: str, level: str, text: str, location: Location | None, pieces: Pieces) -> Result:
    result: Result = {"ruleId": name, "level": level, "message": {"text": text}, "locations": [pieces.location(location)] if location else []}
    result["partialFingerprints"] = {"tapetracePlace/v1": fingerprint(name, location, pieces.root)}
    return result


def _make_fingerprints_unique(results: list[Result]) -> None:
    """Number the results that stand at equal lines, so that a code host keeps them apart."""
    seen: dict[str, int] = {}
    for r in results:
        key = r["partialFingerprints"]["tapetracePlace/v1"]
        seen[key] = seen.get(key, 0) + 1
        r["partialFingerprints"]["tapetracePlace/v1"] = f"{key}:{seen[key]}"


def _notifications(report: Report, pieces: Pieces) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"level": "note", "message": {"text": visible_sentence(note)}} for note in report.notes]
    found += [{"level": "warning", "message": {"text": f"tapetrace's own fault: {visible_sentence(d)}"}} for d in report.agreement.disagreed]
    if report.error:
        text = f"the step itself raised {visible(report.error.type)}: {visible_sentence(report.error.message)}"
        where = [pieces.location(report.error.location)] if report.error.location else []
        found.append({"level": "error", "message": {"text": text}, "locations": where})
    return found

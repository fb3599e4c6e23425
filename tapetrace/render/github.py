"""Annotations for GitHub Actions: one workflow command a line, which GitHub shows at the line of code in a pull request."""

from __future__ import annotations

from pathlib import Path

from tapetrace.model.locations import Location
from tapetrace.model.report import Finding, Report
from tapetrace.render.outline import EMPTY, EMPTY_REMEDY, Place, Weight, in_words, outline
from tapetrace.render.repository import path_in_repository, repository_root
from tapetrace.render.visible import fold_names, visible, visible_sentence


def render_github(report: Report, *, source: bool = True) -> str:
    """``::error file=…,line=…,title=…::…`` for each place that keeps gradient away, ``::warning`` for branches, doubts and findings.

    Empty if all is well.
    Paths are relative to the root of the repository; a place outside it is named in the message instead. ``source=False`` leaves code out.
    """
    root = repository_root()
    lines = []
    for call in outline(report):
        lines += [_of_place(place, call.call.location, root, source) for place in call.places]
        if call.unexplained:
            message = f"{fold_names([s.label for s in call.unexplained])}: no gradient, and tapetrace found no break"
            lines.append(_command("error", call.call.location, "tapetrace", message, root, source))
        if call.is_empty:
            lines.append(_command("error", call.call.location, "tapetrace", f"{EMPTY}. {EMPTY_REMEDY}", root, source))
    lines += [_of_finding("unexpected", "should be frozen, and gets gradient", f, root, source, "error") for f in report.unexpected]
    for found in report.intermittent:
        connected, broken = in_words(report, found)
        message = f"{visible(found.path or found.name)} is connected with {visible(connected)}, and not with {visible(broken)}"
        lines.append(_command("warning", found.location, "tapetrace: intermittent", message, root, source))
    lines += [_of_finding("not_asked", "is trainable and live, but no call asks for it", f, root, source) for f in report.not_asked]
    lines += [_of_finding("not_applied", "has a gradient that was never handed to an optimizer", f, root, source) for f in report.not_applied]
    lines += [_command("warning", None, "tapetrace: own fault", visible_sentence(d), root, source) for d in report.agreement.disagreed]
    if report.error:
        message = f"the step itself raised {visible(report.error.type)}: {visible_sentence(report.error.message)}"
        lines.append(_command("error", report.error.location, "tapetrace: step failed", message, root, source))
    return "".join(f"{line}\n" for line in lines)


def _of_place(place: Place, asked_at: Location | None, root: Path, source: bool) -> str:
    level = "error" if place.weight is Weight.BROKEN else "warning"
    does = {
        Weight.BROKEN: "keeps gradient from",
        Weight.CONDITIONAL: "decides by a branch about",
        Weight.OPAQUE: "hides the gradient of",
    }[place.weight]
    message = f"{does} {fold_names(place.blocks)}"
    if place.reenters:
        message += f", {place.returning} at {visible(place.reenters.place)}"
    if place.detail:
        message += f" ({visible_sentence(place.detail)})"
    if place.remedy:
        message += f"\n{visible_sentence(place.remedy)}"
    return _command(level, place.location or asked_at, f"tapetrace: {place.cause.value}", message, root, source)


def _of_finding(kind: str, what: str, finding: Finding, root: Path, source: bool, level: str = "warning") -> str:
    mend = f". {visible_sentence(finding.remedy)}" if finding.remedy else ""
    return _command(level, finding.location, f"tapetrace: {kind}", f"{visible(finding.path or finding.name)} {what}{mend}", root, source)


def _command(level: str, location: Location | None, title: str, message: str, root: Path, source: bool) -> str:
    properties = []
    if location:
        path = path_in_repository(location.file, root)
        if path is None:
            message = f"{visible(location.place)}: {message}"
        else:
            properties += [f"file={_property(path)}", f"line={location.line}"]
        if source and location.code:
            message += f"\n{location.line} │ {visible(location.code)}"
    properties.append(f"title={_property(title)}")
    return f"::{level} {','.join(properties)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

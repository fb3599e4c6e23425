"""The report as GitHub-flavoured Markdown, for a step summary, a pull request or an issue."""

from __future__ import annotations

import re

from tapetrace.model.locations import Location
from tapetrace.model.report import Finding, Report
from tapetrace.render.outline import CallOutline, Place, Weight, in_words, never_read, outline
from tapetrace.render.text_layout import place_text
from tapetrace.render.visible import shown_target, visible, visible_sentence

_MOST = 8
"""Sources that are listed by name before the rest folds."""


def render_markdown(report: Report, *, source: bool = True) -> str:
    """The report as Markdown that ends with a line end: a heading a gradient call, a section a place, nothing folded away by HTML.

    Names and code stand in code spans, so that they come out literally. ``source=False`` leaves the user's code out.
    """
    versions = f"TensorFlow {_escape(report.tensorflow)}" + (f", Keras {_escape(report.keras)}" if report.keras else "")
    mode = f", {_escape(report.mode)} run" if report.mode not in ("", "graph") else ""
    parts = [f"## tapetrace: {_code(shown_target(report.target))}", f"{'Connected' if report.ok else 'Broken'}. {versions}{mode}."]
    for call in outline(report):
        parts += _call(call, source)
    if not report.calls:
        parts.append("No gradient call was seen.")
    parts += _findings("✗ Should be frozen, and gets gradient", report.unexpected)
    parts += _intermittent(report)
    parts += _findings("Trainable and live, but no call asks for it", report.not_asked)
    parts += _findings("The gradient was computed, but never handed to an optimizer", report.not_applied)
    if never_read(report) and report.blind_spots:
        parts.append("Suspects for what is never read, values of the loss whose origin the graph does not know:")
        spots = report.blind_spots[:_MOST]
        parts.append("\n".join(f"- {_code(f'{s.type} {s.name}')}{_at(s.location)}" for s in spots) + _more(len(report.blind_spots)))
    parts += _self_check(report)
    parts += [f"Note: {_escape(note)}" for note in report.notes]
    if report.error:
        message = f"**The step itself raised {_escape(report.error.type)}**: {_escape(report.error.message)}{_at(report.error.location)}"
        parts += [message, *_fence(report.error.location, source)]
    return "\n\n".join(parts) + "\n"


def _call(found: CallOutline, source: bool) -> list[str]:
    total = len(found.call.sources)
    if found.broken:
        head = f"### ✗ {found.count(len(found.broken), 'receive')} no gradient"
    else:
        healthy = total - len(found.conditional) - len(found.opaque)
        head = f"### {'✓' if healthy == total else '~'} {found.count(healthy, 'receive')} gradient"
    parts = [head, f"{_code(found.asked(source))}{_at(found.call.location)}"]
    if found.call.inputs:
        parts.append(f"Traced with {_code(found.call.inputs)}.")
    if found.frozen:
        parts.append(f"{len(found.frozen)} more frozen, as they should be: {_names([s.label for s in found.frozen])}")
    if found.silent:
        names = _names([s.label for s in found.silent])
        parts.append(f"**{len(found.silent)} of them silently**: TensorFlow returns zeros and warns of nothing ({names}).")
    if found.conditional:
        parts.append(f"{found.count(len(found.conditional), 'receive')} gradient only in some branches.")
    if found.opaque:
        parts.append(f"{found.count(len(found.opaque))}: tapetrace cannot tell, only running the step can.")
    if found.call.error:
        parts.append(f"The call raised {_escape(found.call.error.type)}: {_escape(found.call.error.message)}")
    if found.not_finite:
        parts.append(f"Not finite when the step ran: {_names([s.label for s in found.not_finite])}")
    for place in found.places:
        parts += _place(place, source)
    if found.unexplained:
        parts.append(f"No break was found for {_names([s.label for s in found.unexplained])}, which is tapetrace's own fault.")
    for chain, sources in found.series:
        links = ", then ".join(f"{b.cause.value}{_at(b.location)}" for b in chain)
        parts.append(f"In series, from {_names([s.label for s in sources])} to the loss: {links}.")
    return parts


def _place(place: Place, source: bool) -> list[str]:
    number = f"{place.number}. " if place.number else ""
    types = f" ({', '.join(_code(t) for t in place.types[:2])})" if place.types else ""
    parts = [f"#### {number}{place.cause.value}{types}{_at(place.location)}", *_fence(place.location, source)]
    does = {Weight.BROKEN: "Blocks", Weight.CONDITIONAL: "Decides about", Weight.OPAQUE: "Hides"}[place.weight]
    facts = [f"- {does} {len(place.blocks)}: {_names(place.blocks)}"]
    if place.reconnects is not None and place.weight is Weight.BROKEN:
        facts.append(f"- Reopening it alone reconnects {place.reconnects or 'none'}")
    if place.detail:
        facts.append(f"- Here: {_escape(place.detail)}")
    if place.remedy:
        facts.append(f"- **Mend**: {_prose(place.remedy)}")
    return [*parts, "\n".join(facts)]


def _findings(what: str, findings: tuple[Finding, ...]) -> list[str]:
    if not findings:
        return []
    listed = "\n".join(f"- {_code(f.path or f.name)}{_at(f.location)}" for f in findings[:_MOST])
    return [f"{what}:", listed + _more(len(findings))]


def _intermittent(report: Report) -> list[str]:
    if not report.intermittent:
        return []
    rows = []
    for found in report.intermittent[:_MOST]:
        connected, broken = in_words(report, found)
        rows.append(f"- {_code(found.path or found.name)}{_at(found.location)}: connected with {_code(connected)}, broken with {_code(broken)}")
    return ["Connected at one time and not at another:", "\n".join(rows) + _more(len(report.intermittent))]


def _self_check(report: Report) -> list[str]:
    checked, disagreed = report.agreement.checked, report.agreement.disagreed
    if disagreed:
        listed = "\n".join(f"- {_escape(d)}" for d in disagreed)
        return [f"tapetrace's own fault: {len(disagreed)} of {checked} verdicts disagree with what `tape.gradient` returned.", listed]
    return [f"Verified: {checked} of {checked} verdicts agree with what `tape.gradient` returned."] if checked else []


def _more(count: int) -> str:
    return f"\n- … {count - _MOST} more" if count > _MOST else ""


def _at(location: Location | None) -> str:
    return f" at {_code(place_text(location.frame))}" if location else ""


def _names(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(_code(n) for n in names[:_MOST])
    return shown + (f", … {len(names) - _MOST} more" if len(names) > _MOST else "")


def _code(text: str) -> str:
    """A code span, fenced by more backticks than the text has in a row."""
    text = visible(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _fence(location: Location | None, source: bool) -> list[str]:
    if not source or location is None or not location.code:
        return []
    code = visible(location.code)
    ticks = "`" * max(3, max((len(run) for run in re.findall("`+", code)), default=0) + 1)
    return [f"{ticks}python\n{code}  # line {location.line}\n{ticks}"]


def _escape(text: str) -> str:
    """Text in which no character means anything to Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]()#+\-!|<>~&@])", r"\\\1", visible_sentence(text))


def _prose(text: str) -> str:
    """Our own sentence: what stands between backticks is code, the rest is escaped."""
    pieces = re.split(r"`([^`]*)`", visible_sentence(text))
    return "".join(_code(piece) if i % 2 else re.sub(r"([\\*_\[\]<>&|~])", r"\\\1", piece) for i, piece in enumerate(pieces))

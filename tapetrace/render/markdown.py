"""The report as GitHub-flavoured Markdown, for a step summary, a pull request or an issue."""

from __future__ import annotations

from tapetrace.model.report import Finding, Report
from tapetrace.render.markdown_pieces import MOST, at_place, code_fence, code_names, code_span, escape, prose
from tapetrace.render.outline import EMPTY, EMPTY_REMEDY, CallOutline, Place, Weight, in_words, never_read, outline, remedies_of
from tapetrace.render.visible import shown_target


def render_markdown(report: Report, *, source: bool = True) -> str:
    """The report as Markdown that ends with a line end: a heading a gradient call, a section a place, nothing folded away by HTML.

    Names and code stand in code spans, so that they come out literally. ``source=False`` leaves the user's code out.
    """
    versions = f"TensorFlow {escape(report.tensorflow)}" + (f", Keras {escape(report.keras)}" if report.keras else "")
    mode = f", {escape(report.mode)} run" if report.mode not in ("", "graph") else ""
    parts = [f"## tapetrace: {code_span(shown_target(report.target))}", f"{'Connected' if report.ok else 'Broken'}. {versions}{mode}."]
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
        spots = report.blind_spots[:MOST]
        parts.append("\n".join(f"- {code_span(s.label)}{at_place(s.location)}" for s in spots) + _more(len(report.blind_spots)))
    parts += _self_check(report)
    parts += [f"Note: {escape(note)}" for note in report.notes]
    if report.error:
        message = f"**The step itself raised {escape(report.error.type)}**: {escape(report.error.message)}{at_place(report.error.location)}"
        parts += [message, *code_fence(report.error.location, source)]
    return "\n\n".join(parts) + "\n"


def _call(found: CallOutline, source: bool) -> list[str]:
    total = len(found.call.sources)
    if found.broken:
        head = f"### ✗ {found.count(len(found.broken), 'receive')} no gradient"
    elif found.is_empty:
        head = f"### ✗ {EMPTY}"
    else:
        healthy = total - len(found.conditional) - len(found.opaque)
        head = f"### {'✓' if healthy == total else '~'} {found.count(healthy, 'receive')} gradient"
    parts = [head, f"{code_span(found.asked(source))}{at_place(found.call.location)}"]
    if found.call.inputs:
        parts.append(f"Traced with {code_span(found.call.inputs)}.")
    if found.is_empty:
        parts.append(EMPTY_REMEDY)
    if found.frozen:
        parts.append(f"{len(found.frozen)} more frozen, as they should be: {code_names([s.label for s in found.frozen])}")
    if found.silent:
        names = code_names([s.label for s in found.silent])
        parts.append(f"**{len(found.silent)} of them silently**: TensorFlow returns zeros and warns of nothing ({names}).")
    if found.conditional:
        parts.append(f"{found.count(len(found.conditional), 'receive')} gradient only in some branches.")
    if found.opaque:
        parts.append(f"{found.count(len(found.opaque))}: tapetrace cannot tell, only running the step can.")
    if found.call.error:
        parts.append(f"The call raised {escape(found.call.error.type)}: {escape(found.call.error.message)}")
    if found.not_finite:
        parts.append(f"Not finite when the step ran: {code_names([s.label for s in found.not_finite])}")
    for place in found.places:
        parts += _place(place, source)
    if found.unexplained:
        parts.append(f"No break was found for {code_names([s.label for s in found.unexplained])}, which is tapetrace's own fault.")
    for chain, sources in found.series:
        links = ", then ".join(f"{b.cause.value}{at_place(b.location)}" for b in chain)
        parts.append(f"In series, from {code_names([s.label for s in sources])} to the loss: {links}.")
    return parts


def _place(place: Place, source: bool) -> list[str]:
    number = f"{place.number}. " if place.number else ""
    types = f" ({', '.join(code_span(t) for t in place.types[:2])})" if place.types else ""
    parts = [f"#### {number}{place.cause.value}{types}{at_place(place.location)}", *code_fence(place.location, source)]
    does = {Weight.BROKEN: "Blocks", Weight.CONDITIONAL: "Decides about", Weight.OPAQUE: "Hides"}[place.weight]
    facts = [f"- {does} {len(place.blocks)}: {code_names(place.blocks)}"]
    if place.reconnects is not None and place.weight is Weight.BROKEN:
        facts.append(f"- Reopening it alone reconnects {place.reconnects or 'none'}")
    if place.reenters:
        facts.append(f"- {place.returning.capitalize()}{at_place(place.reenters)}")
    if place.detail:
        facts.append(f"- Here: {escape(place.detail)}")
    if place.remedy:
        facts.append(f"- **Mend**: {prose(place.remedy)}")
    return [*parts, "\n".join(facts)]


def _findings(what: str, findings: tuple[Finding, ...]) -> list[str]:
    if not findings:
        return []
    listed = "\n".join(f"- {code_span(f.path or f.name)}{at_place(f.location)}" for f in findings[:MOST])
    return [f"{what}:", listed + _more(len(findings)), *(f"Mend: {escape(remedy)}" for remedy in remedies_of(findings))]


def _intermittent(report: Report) -> list[str]:
    if not report.intermittent:
        return []
    rows = []
    for found in report.intermittent[:MOST]:
        connected, broken = in_words(report, found)
        name = f"{code_span(found.path or found.name)}{at_place(found.location)}"
        rows.append(f"- {name}: connected with {code_span(connected)}, broken with {code_span(broken)}")
    return ["Connected at one time and not at another:", "\n".join(rows) + _more(len(report.intermittent))]


def _self_check(report: Report) -> list[str]:
    checked, disagreed = report.agreement.checked, report.agreement.disagreed
    if disagreed:
        listed = "\n".join(f"- {escape(d)}" for d in disagreed)
        return [f"tapetrace's own fault: {len(disagreed)} of {checked} verdicts disagree with what `tape.gradient` returned.", listed]
    return [f"Verified: {checked} of {checked} verdicts agree with what `tape.gradient` returned."] if checked else []


def _more(count: int) -> str:
    return f"\n- … {count - MOST} more" if count > MOST else ""

"""The words of the page, the same as those of the text report: headlines, places, findings, the self-check."""

from __future__ import annotations

from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import Break, Finding, Report, SourceResult
from tapetrace.render.excerpts import excerpt
from tapetrace.render.html_links import Links, PlaceLink
from tapetrace.render.html_markup import Markup, element, join, prose
from tapetrace.render.outline import EMPTY, EMPTY_REMEDY, CallOutline, Weight, in_words, never_read, outline, remedies_of, told_by_tensorflow
from tapetrace.render.text_layout import place_text
from tapetrace.render.visible import fold_names, shown_target, visible, visible_sentence

_MOST = 5
"""Findings and suspects that are listed before the rest folds, as in the text."""


def header(report: Report) -> Markup:
    """What was looked at, with which TensorFlow, and the answer in a word."""
    calls, sources = len(report.calls), sum(len(c.sources) for c in report.calls)
    facts = [f"TensorFlow {visible(report.tensorflow)}", *([f"Keras {visible(report.keras)}"] if report.keras else [])]
    facts += [f"{visible(report.mode)} run"] if report.mode not in ("", "graph") else []
    facts += [f"{calls} gradient call{'' if calls == 1 else 's'}", f"{sources} source{'' if sources == 1 else 's'}"]
    answer = element("span", "✓ connected" if report.ok else "✗ broken", class_=f"tag {'connected' if report.ok else 'none'}")
    return element(
        "header", element("h1", element("span", "tapetrace ", class_="faint"), shown_target(report.target)), answer, element("p", " · ".join(facts))
    )


def answers(report: Report, links: Links, *, source: bool = True) -> Markup:
    """A section for each gradient call, and what belongs to the step."""
    parts = [_call(found, links, source) for found in outline(report)]
    if not parts:
        parts.append(element("p", "~ no gradient call was seen: the step never asked a tape for a gradient", class_="headline maybe"))
    parts.append(_findings("should be frozen, and gets gradient (unexpected)", report.unexpected, source, "✗", "bad"))
    parts.append(_intermittent(report))
    parts.append(_findings("trainable and live, but no call asks for it (not_asked)", report.not_asked, source))
    parts.append(_findings("the gradient was computed, but never handed to an optimizer (not_applied)", report.not_applied, source))
    if never_read(report) and report.blind_spots:
        spots = [(s.label, s.location) for s in report.blind_spots]
        parts.append(_listed("suspects for what is never read: values of the loss whose origin the graph does not know", spots, False))
    parts.append(_self_check(report))
    parts += [element("p", "note: ", prose(note), class_="note") for note in report.notes]
    if report.error:
        message = visible_sentence(report.error.message)
        parts.append(
            element(
                "section", element("h3", f"✗ the step itself raised {visible(report.error.type)}", class_="headline bad"),
                element("p", message), *_at(report.error.location, source), class_="step",
            )
        )  # fmt: skip
    return join(*parts)


def headline(found: CallOutline) -> tuple[str, str]:
    """What is the matter with a call, in a sentence, and whether that is ``bad``, ``good`` or ``maybe``."""
    if found.broken:
        return f"✗ {found.count(len(found.broken), 'receive')} no gradient", "bad"
    if found.is_empty:
        return f"✗ {EMPTY}", "bad"
    if not found.call.sources:
        return ("✓ nothing but frozen sources was asked for", "good") if found.frozen else ("~ no source was asked for", "maybe")
    healthy = len(found.call.sources) - len(found.conditional) - len(found.opaque)
    always = " whatever branch is taken" if found.conditional else ""
    sign, kind = ("✓", "good") if healthy == len(found.call.sources) else ("~", "maybe")
    return f"{sign} {found.count(healthy, 'receive')} gradient{always}", kind


def _call(found: CallOutline, links: Links, source: bool) -> Markup:
    said, kind = headline(found)
    head = element("h2", said, class_=f"headline {kind}")
    location = found.call.location
    parts = [head, element("p", element("code", found.asked(source)), *([" at ", _place_name(location.frame)] if location else []), class_="asked")]
    parts += [element("p", line, class_="under") for line in _under_headline(found)]
    parts += [_place(i, p, links, source) for i, p in links.of_call(found.index)]
    if found.unexplained:
        names = fold_names([s.label for s in found.unexplained])
        parts.append(element("p", f"no break was found for {names}, which is tapetrace's own fault", class_="under"))
    for chain, behind in found.series:
        way = ", then ".join(_link(b) for b in chain)
        parts.append(element("p", f"in series, from {fold_names([s.label for s in behind])} to the loss: {way}", class_="under"))
    return element("section", *parts, class_="call", data_call=str(found.index))


def _under_headline(found: CallOutline) -> list[str]:
    said = [f"traced with {visible_sentence(found.call.inputs)}"] if found.call.inputs else []
    if found.is_empty:
        said.append(EMPTY_REMEDY)
    if found.frozen:
        said.append(f"{len(found.frozen)} more frozen, as they should be ({_names(found.frozen)})")
    if found.silent:
        silent = "all" if len(found.silent) == len(found.broken) > 1 else str(len(found.silent))
        said.append(f"{silent} of them silently: TensorFlow returns zeros and warns of nothing ({_names(found.silent)})")
    if found.conditional:
        said.append(f"~ {found.count(len(found.conditional), 'receive')} gradient only in some branches")
    if found.opaque:
        said.append(f"? {found.count(len(found.opaque))}: tapetrace cannot tell, only running the step can")
    if found.call.error:
        said.append(f"the call raised {visible(found.call.error.type)}: {visible_sentence(found.call.error.message)}")
    if found.not_finite:
        said.append(f"not finite when the step ran: {_names(found.not_finite)}")
    return said


def _place(position: int, link: PlaceLink, links: Links, source: bool) -> Markup:
    place = link.place
    types = f" ({fold_names(place.types, 2)})" if place.types else ""
    number = element("span", str(place.number), class_="number") if place.number else element("span", "–", class_="number none")
    title = element("a", number, " ", f"{place.cause.value}{types}", href=f"#{link.anchor}", class_="choose")
    does = {Weight.BROKEN: "blocks", Weight.CONDITIONAL: "decides", Weight.OPAQUE: "hides"}[place.weight]
    again = ""
    if place.weight is Weight.BROKEN and place.reconnects is not None:
        again = f"reopening it {f'reconnects {place.reconnects}' if place.reconnects else 'alone reconnects none'}"
    rows: list[tuple[str, str]] = [(place.returning, join(*_at(place.reenters, source)))] if place.reenters else []
    rows += [("op", fold_names(place.op_names))] if place.op_names else []
    rows += [("here", prose(place.detail))] if place.detail else []
    rows.append((f"{does} {len(place.blocks)}", _blocked(link, links)))
    rows += [("", again)] if again else []
    rows += [("mend", prose(place.remedy))] if place.remedy else []
    facts = [
        part for label, text in rows for part in (element("dt", label), element("dd", text, class_="blocked" if label.startswith(does) else None))
    ]
    return element(
        "article", element("h3", title), *_at(place.location, source), element("dl", *facts),
        class_=f"place {place.weight.value}", id=f"place-{position}", data_place=str(position),
    )  # fmt: skip


def _blocked(link: PlaceLink, links: Links) -> Markup:
    if len(link.blocks) != len(link.place.blocks) or len(link.blocks) <= 4:
        return join(fold_names(link.place.blocks))
    listed = [element("li", element("a", links.sources[i].source.label, href=f"#{links.sources[i].anchor}")) for i in link.blocks]
    return element("details", element("summary", fold_names(link.place.blocks)), element("ul", *listed))


def _at(location: Location | None, source: bool) -> list[Markup]:
    """Where, how the program came there, and the lines around it."""
    if location is None:
        return [element("p", "place not known", class_="where")]
    parts = [element("p", _place_name(location.frame), *([f" in {location.function}"] if location.function else []), class_="where")]
    if source:
        rows = [
            element(
                "span",
                element("span", str(n), class_="line-number", data_line=str(n)),
                join(text or " "),
                class_="code here" if n == location.line else "code",
            )
            for n, text in excerpt(location.frame)
        ]
        parts += [element("pre", *rows, tabindex="0", role="group", aria_label=f"Source around line {location.line}")] if rows else []
    for word, frame in (("from", location.called_from[0] if location.called_from else None), ("inside", location.library)):
        if frame is not None:
            parts.append(element("p", f"{word} ", _place_name(frame), f" in {frame.function}" if frame.function else "", class_="where faint"))
    return parts


def _place_name(frame: Frame) -> Markup:
    return element("span", place_text(frame), class_="file")


def _findings(what: str, findings: tuple[Finding, ...], source: bool, sign: str = "!", kind: str = "maybe") -> Markup:
    head = f"{sign} {len(findings)} {'variable' if len(findings) == 1 else 'variables'}: {what}"
    if not findings:
        return Markup("")
    mends = [element("p", f"mend: {visible_sentence(remedy)}", class_="under") for remedy in remedies_of(findings)]
    return join(_listed(head, [(f.path or f.name, f.location) for f in findings], source, kind), *mends)


def _intermittent(report: Report) -> Markup:
    if not report.intermittent:
        return Markup("")
    number = len(report.intermittent)
    rows = []
    for found in report.intermittent[:_MOST]:
        facts = [
            part for word, inputs in zip(("connected", "broken"), in_words(report, found), strict=True)
            for part in (element("dt", word), element("dd", f"with {visible_sentence(inputs)}"))
        ]  # fmt: skip
        rows.append(element("li", element("code", found.path or found.name), *_at(found.location, False), element("dl", *facts)))
    rows += [element("li", f"… {number - _MOST} more")] if number > _MOST else []
    head = f"! {number} {'source' if number == 1 else 'sources'}: connected at one time and not at another (intermittent)"
    return element("section", element("h3", head, class_="headline maybe"), element("ul", *rows), class_="step")


def _listed(head: str, found: list[tuple[str, Location | None]], source: bool, kind: str = "maybe") -> Markup:
    rows = [element("li", element("code", name), *(_at(location, source) if location else [])) for name, location in found[:_MOST]]
    rows += [element("li", f"… {len(found) - _MOST} more")] if len(found) > _MOST else []
    return element("section", element("h3", head, class_=f"headline {kind}"), element("ul", *rows), class_="step")


def _self_check(report: Report) -> Markup:
    checked, disagreed = report.agreement.checked, report.agreement.disagreed
    if disagreed:
        head = f"tapetrace's own fault: {len(disagreed)} of {checked} verdicts disagree with {told_by_tensorflow(report)}; please report this text"
        return element("section", element("h3", head, class_="headline bad"), element("ul", *(element("li", visible_sentence(d)) for d in disagreed)))
    if checked:
        return element("p", f"verified: {checked} of {checked} verdicts agree with {told_by_tensorflow(report)}", class_="note")
    if any(c.sources for c in report.calls):
        return element("p", "not verified: no verdict could be held against what tape.gradient returns", class_="note")
    return Markup("")


def _link(b: Break) -> str:
    where = f" {place_text(b.location.frame)}" if b.location else ""
    return f"{f'{b.root_cause} ' if b.root_cause else ''}{b.cause.value}{where}"


def _names(sources: tuple[SourceResult, ...]) -> str:
    return fold_names([s.label for s in sources])

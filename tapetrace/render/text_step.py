"""The part of the text report that belongs to the step: its name, findings, suspects, the self-check, and what the step itself raised."""

from __future__ import annotations

from rich.text import Text

from tapetrace.model.report import BlindSpot, Finding, Report
from tapetrace.render.outline import in_words, never_read, remedies_of, told_by_tensorflow
from tapetrace.render.text_layout import BAD, FAINT, MAYBE, NAME, Layout, place_text
from tapetrace.render.visible import fold_names, shown_target, visible, visible_sentence

_MOST = 5


def header_lines(report: Report) -> list[Text]:
    """What was looked at, with which TensorFlow, and how much of it."""
    calls, sources = len(report.calls), sum(len(c.sources) for c in report.calls)
    facts = [f"TensorFlow {visible(report.tensorflow)}"]
    if report.keras:
        facts.append(f"Keras {visible(report.keras)}")
    if report.mode not in ("", "graph"):
        facts.append(f"{visible(report.mode)} run")
    facts += [f"{calls} gradient call{'' if calls == 1 else 's'}", f"{sources} source{'' if sources == 1 else 's'}"]
    return [Text().append("tapetrace  ", NAME).append(shown_target(report.target), NAME).append("      ").append(" · ".join(facts), FAINT)]


def step_lines(report: Report, layout: Layout) -> list[list[Text]]:
    """Blocks of lines, in the order in which they are read."""
    blocks = []
    if not report.calls:
        blocks.append([Text("~ no gradient call was seen: the step never asked a tape for a gradient", MAYBE)])
    blocks.append(_findings("should be frozen, and gets gradient (unexpected)", report.unexpected, layout, "✗", BAD))
    blocks.append(_intermittent(report, layout))
    blocks.append(_not_asked(report, layout))
    blocks.append(_findings("the gradient was computed, but never handed to an optimizer (not_applied)", report.not_applied, layout))
    if never_read(report):
        blocks.append(_suspects(report.blind_spots, layout))
    blocks.append(_self_check(report, layout))
    blocks.append([line for note in report.notes for line in layout.sentence(f"note: {visible_sentence(note)}", indent=0)])
    if report.error:
        blocks.append(_error(report, layout))
    return blocks


def _findings(what: str, findings: tuple[Finding, ...], layout: Layout, sign: str = "!", style: str = MAYBE) -> list[Text]:
    if not findings:
        return []
    lines = [Text(f"{sign} {len(findings)} {'variable' if len(findings) == 1 else 'variables'}: {what}", style)]
    for f in findings[:_MOST]:
        lines.append(Text(f"     {visible(f.path or f.name)}").append(f"    {place_text(f.location.frame)}" if f.location else "", FAINT))
        lines += layout.code(f.location)
    lines += _more(len(findings))
    return lines + [line for remedy in remedies_of(findings) for line in layout.labelled("mend", visible_sentence(remedy))]


def _not_asked(report: Report, layout: Layout) -> list[Text]:
    """Variables that no call asks for; of layers and networks that none asks for at all, as the other one of a GAN, their names."""
    whole = untouched_networks(report)
    single = tuple(f for f in report.not_asked if f.remedy or f.path.partition("/")[0] not in whole)
    lines = _findings("trainable and live, but no call asks for it (not_asked)", single, layout)
    if whole:
        shown, count = list(whole), sum(whole.values())
        lines.append(Text(f"! {count} variables of {fold_names(shown)}: live, and no call asks for any of theirs (not_asked)", MAYBE))
        options = " ".join(f"--frozen '{visible(network)}/*'" for network in shown[:2]) + (" …" if len(shown) > 2 else "")
        lines += layout.labelled("mend", f"if another step trains them, say so: {options}")
    return lines


def untouched_networks(report: Report) -> dict[str, int]:
    """Networks (or layers of a functional model) of which no variable is asked for and several are live, with how many.

    They are told apart by the first part of the paths of their variables.
    """
    asked = {s.path.partition("/")[0] for call in report.calls for s in call.sources}
    paths = (f.path.partition("/") for f in report.not_asked if not f.remedy)
    names = [network for network, slash, _ in paths if slash and network not in asked]
    return {network: count for network in dict.fromkeys(names) if (count := names.count(network)) > 1}


def _intermittent(report: Report, layout: Layout) -> list[Text]:
    if not report.intermittent:
        return []
    number = len(report.intermittent)
    lines = [Text(f"! {number} {'source' if number == 1 else 'sources'}: connected at one time and not at another (intermittent)", MAYBE)]
    for found in report.intermittent[:_MOST]:
        connected, broken = in_words(report, found)
        where = f"    {place_text(found.location.frame)}" if found.location else ""
        lines.append(Text(f"     {visible(found.path or found.name)}").append(where, FAINT))
        lines += layout.labelled("connected", f"with {visible_sentence(connected)}")
        lines += layout.labelled("broken", f"with {visible_sentence(broken)}")
    return lines + _more(number)


def _suspects(spots: tuple[BlindSpot, ...], layout: Layout) -> list[Text]:
    if not spots:
        return []
    lines = [Text("suspects for what is never read: values of the loss whose origin the graph does not know")]
    for spot in spots[:_MOST]:
        where = f"    {place_text(spot.location.frame)}" if spot.location else ""
        lines.append(Text(f"     {visible(spot.label)}").append(where, FAINT))
        lines += layout.code(spot.location)
    return lines + _more(len(spots))


def _more(count: int) -> list[Text]:
    return [Text(f"     … {count - _MOST} more", FAINT)] if count > _MOST else []


def _self_check(report: Report, layout: Layout) -> list[Text]:
    checked, disagreed = report.agreement.checked, report.agreement.disagreed
    if disagreed:
        head = f"tapetrace's own fault: {len(disagreed)} of {checked} verdicts disagree with {told_by_tensorflow(report)}; please report this text"
        return [*layout.sentence(head, indent=0, style=BAD), *(line for d in disagreed for line in layout.sentence(visible_sentence(d)))]
    if checked:
        return [Text(f"verified: {checked} of {checked} verdicts agree with {told_by_tensorflow(report)}", FAINT)]
    if any(c.sources for c in report.calls):
        return [Text("not verified: no verdict could be held against what tape.gradient returns", FAINT)]
    return []


def _error(report: Report, layout: Layout) -> list[Text]:
    error = report.error
    assert error is not None
    where = place_text(error.location.frame) if error.location else ""
    first, *rest = [line for line in error.message.splitlines() if line.strip()] or [""]
    lines = layout.sentence(f"✗ the step itself raised {visible(error.type)}: {visible_sentence(first)}", indent=0, style=BAD)
    lines += [line for text in rest[:_MOST] for line in layout.sentence(visible_sentence(text))]
    if where:
        lines.append(Text("     ").append(where).append(f"  in {visible(error.location.function)}" if error.location else "", FAINT))
    return lines + layout.code(error.location)

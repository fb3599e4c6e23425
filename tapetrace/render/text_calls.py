"""The part of the text report that belongs to gradient calls."""

from __future__ import annotations

from rich.text import Text

from tapetrace.model.report import Break, Report, SourceResult
from tapetrace.render.outline import EMPTY, EMPTY_REMEDY, CallOutline, Place, Weight, outline
from tapetrace.render.text_layout import BAD, FAINT, GOOD, MAYBE, NAME, Layout, place_text
from tapetrace.render.visible import fold_names, visible, visible_sentence


def call_lines(report: Report, layout: Layout) -> list[list[Text]]:
    """Blocks of lines, one for each headline and each place."""
    return [block for found in outline(report) for block in _call(found, layout)]


def _call(found: CallOutline, layout: Layout) -> list[list[Text]]:
    location = found.call.location
    where = f"{place_text(location.frame) + '  ' if location else ''}{visible(found.asked(layout.source))}"
    healthy = len(found.call.sources) - len(found.broken) - len(found.conditional) - len(found.opaque)
    blocks = []
    if found.broken:
        head = layout.headline("✗", BAD, f"{found.count(len(found.broken), 'receive')} no gradient", where)
        blocks += [[head, *_under_headline(found, layout)]]
        blocks += [_place(p, layout) for p in found.of_weight(Weight.BROKEN)]
        blocks += [_unexplained(found, layout), _series(found, layout)]
    elif found.call.sources:
        always = " whatever branch is taken" if found.conditional else ""
        style, sign = (GOOD, "✓") if healthy == len(found.call.sources) else (MAYBE, "~")
        blocks += [[layout.headline(sign, style, f"{found.count(healthy, 'receive')} gradient{always}", where), *_under_headline(found, layout)]]
        blocks += [_place(p, layout) for p in found.of_weight(Weight.BROKEN)]
    elif found.frozen:
        blocks += [[layout.headline("✓", GOOD, "nothing but frozen sources was asked for", where), *_under_headline(found, layout)]]
    elif found.is_empty:
        blocks += [[layout.headline("✗", BAD, EMPTY, where), *layout.labelled("mend", EMPTY_REMEDY)]]
    else:
        blocks += [[layout.headline("~", MAYBE, "no source was asked for", where)]]
    if found.conditional:
        blocks += [[layout.headline("~", MAYBE, f"{found.count(len(found.conditional), 'receive')} gradient only in some branches", "")]]
        blocks += _branches(found.of_weight(Weight.CONDITIONAL), layout)
    if found.opaque:
        blocks += [[layout.headline("?", MAYBE, f"{found.count(len(found.opaque))}: tapetrace cannot tell, only running the step can", "")]]
        blocks += [_place(p, layout) for p in found.of_weight(Weight.OPAQUE)]
    return blocks


def _under_headline(found: CallOutline, layout: Layout) -> list[Text]:
    lines = []
    if found.call.inputs:
        lines += layout.sentence(f"traced with {visible_sentence(found.call.inputs)}", style=FAINT)
    if found.frozen:
        lines += layout.sentence(f"{len(found.frozen)} more frozen, as they should be ({_names(found.frozen)})", style=FAINT)
    if found.silent:
        silent = "all" if len(found.silent) == len(found.broken) > 1 else str(len(found.silent))
        names = _names(found.silent)
        lines += layout.sentence(f"{silent} of them silently: TensorFlow returns zeros and warns of nothing ({names})", style=BAD)
    if found.call.error:
        lines += layout.sentence(f"the call raised {visible(found.call.error.type)}: {visible_sentence(found.call.error.message)}")
    for source in found.not_finite[:5]:
        numbers = source.numbers
        assert numbers is not None
        counted = f"{numbers.nan} NaN and {numbers.inf} Inf, norm {numbers.norm:g}"
        lines += layout.sentence(f"not finite: {visible(source.label)} has {counted}", style=MAYBE)
    if len(found.not_finite) > 5:
        lines += layout.sentence(f"not finite: … {len(found.not_finite) - 5} more", style=MAYBE)
    return lines


def _place(place: Place, layout: Layout) -> list[Text]:
    lines = _where(place, layout)
    if place.reenters:
        lines += layout.labelled(place.returning, f"at {place_text(place.reenters.frame)}  in {visible(place.reenters.function)}")
        lines += layout.code(place.reenters)
    if place.detail:
        lines += layout.labelled("here", visible_sentence(place.detail))
    lines += layout.labelled(*_what_it_does(place))
    if place.remedy:
        lines += layout.labelled("mend", visible_sentence(place.remedy))
    return lines


def _branches(places: tuple[Place, ...], layout: Layout) -> list[list[Text]]:
    """The conditions, each once, with the sources that each of its branches connects."""
    groups: dict[object, list[Place]] = {}
    for place in places:
        groups.setdefault(place.location.key if place.location else place, []).append(place)
    blocks = []
    for members in groups.values():
        lines = _where(members[0], layout)
        for place in members:
            label, names = _what_it_does(place)
            lines += layout.labelled(label, f"{names}: {visible_sentence(place.detail)}" if place.detail else names)
        for remedy in dict.fromkeys(p.remedy for p in members if p.remedy):
            lines += layout.labelled("mend", visible_sentence(remedy))
        blocks.append(lines)
    return blocks


def _where(place: Place, layout: Layout) -> list[Text]:
    """The first lines of a place: number, cause, line, code, and how the program came there."""
    location = place.location
    style = BAD if place.weight is Weight.BROKEN else MAYBE
    line = Text("  ").append(str(place.number or "-"), style).append("  ").append(place.cause.value, NAME)
    if place.types:
        line.append(f" ({fold_names(place.types, 2)})")
    line.append("    ").append(place_text(location.frame if location else None))
    if location and location.function:
        line.append(f"  in {visible(location.function)}", FAINT)
    lines = [line, *layout.code(location)]
    if place.op_names:
        lines += layout.labelled("op", fold_names(place.op_names), FAINT)
    if location and location.called_from:
        caller = location.called_from[0]
        lines += layout.labelled("from", f"{place_text(caller)} in {visible(caller.function)}", FAINT)
    if location and location.library:
        lines += layout.labelled("inside", f"{place_text(location.library)} in {visible(location.library.function)}", FAINT)
    return lines


def _what_it_does(place: Place) -> tuple[str, str]:
    names = fold_names(place.blocks)
    if place.weight is not Weight.BROKEN:
        return f"{'decides' if place.weight is Weight.CONDITIONAL else 'hides'} {len(place.blocks)}", names
    label = f"blocks {len(place.blocks)}"
    if place.reconnects is None:
        return label, names
    alone = f"reconnects {place.reconnects}" if place.reconnects else "alone reconnects none"
    return label, f"{names}        reopening it {alone}"


def _unexplained(found: CallOutline, layout: Layout) -> list[Text]:
    if not found.unexplained:
        return []
    return [
        Text("  ").append("-", BAD).append("  no break was found").append("    which is tapetrace's own fault", FAINT),
        *layout.labelled(f"blocks {len(found.unexplained)}", fold_names([s.label for s in found.unexplained])),
    ]


def _series(found: CallOutline, layout: Layout) -> list[Text]:
    lines = []
    for chain, sources in found.series:
        lines += layout.sentence(f"in series, from {fold_names([s.label for s in sources])} to the loss: {', then '.join(_link(b) for b in chain)}")
    return lines


def _link(b: Break) -> str:
    where = f" {place_text(b.location.frame)}" if b.location else ""
    return f"{f'{b.root_cause} ' if b.root_cause else ''}{b.cause.value}{where}"


def _names(sources: tuple[SourceResult, ...]) -> str:
    return fold_names([s.label for s in sources])

"""The list of all sources with its filters, and the data from which the script lights up a choice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tapetrace.model.report import Report, SourceResult
from tapetrace.model.trace import TensorSpec
from tapetrace.model.words import Returned
from tapetrace.render.dot import LOOKS
from tapetrace.render.html_levels import KINDS, STATUSES
from tapetrace.render.html_links import Links, SourceLink, layers_of_sources
from tapetrace.render.html_markup import Markup, element
from tapetrace.render.html_picture import Picture
from tapetrace.render.places import Places
from tapetrace.render.text_layout import place_text
from tapetrace.render.visible import visible, visible_sentence

_SIGNS = {"connected": "✓", "conditional": "~", "opaque": "?", "frozen": "✓"}
_WORDS = {
    "connected": "a real gradient reaches it",
    "conditional": "a gradient reaches it only in some branches",
    "zero": "no gradient reaches it; TensorFlow returns zeros and warns of nothing",
    "none": "no gradient reaches it",
    "error": "no gradient reaches it: the gradient call raises",
    "opaque": "only running the step can tell",
    "frozen": "no gradient reaches it, as it should be",
}
_FILE = 16
"""Columns that the name of a file may take up in a row of the list."""
_RETURNED = {Returned.NONE: "None", Returned.TENSOR: "a tensor", Returned.ERROR: "an error"}


def verdict_word(source: SourceResult) -> str:
    """The verdict as the page shows it: a source that should get no gradient and gets none is ``frozen``."""
    return "frozen" if source.frozen and source.verdict.is_broken else source.verdict.value


def filters(report: Report, links: Links) -> Markup:
    """Search, and filters by verdict, layer and gradient call; only with the script."""
    counted = Counter(verdict_word(s.source) for s in links.sources)
    boxes = [
        element(
            "label", element("input", type="checkbox", name="verdict", value=word, checked=True), _tag(word), f" {counted[word]}",
        )
        for word in _WORDS if counted[word]
    ]  # fmt: skip
    layers = [element("option", "all layers", value="")] + [element("option", name, value=name) for name in layers_of_sources(links.sources)]
    controls = [
        element("input", type="search", id="search", placeholder="Search names, causes, lines", aria_label="Search", autocomplete="off"),
        element("fieldset", element("legend", "Verdicts"), *boxes),
        element("label", "Layer ", element("select", *layers, id="layer"), class_="pick"),
    ]
    if len(report.calls) > 1:
        calls = [element("option", "all calls", value="")]
        calls += [element("option", call.short, value=str(i), title=call.whole) for i, call in enumerate(_calls(report))]
        controls.append(element("label", "Call ", element("select", *calls, id="call"), class_="pick"))
    controls.append(element("p", "", id="shown", role="status", class_="note"))
    return element("form", *controls, id="filters", class_="only-js", role="search", aria_label="Filter sources and causes")


def source_list(report: Report, links: Links) -> Markup:
    """Every source with its verdict, its gradient call where there are several, and the numbers of its root causes, in the order asked."""
    calls = _calls(report) if len(report.calls) > 1 else []
    columns = ["Verdict", "Source", *(["Call"] if calls else []), *(["Stopped at"] if links.places else [])]
    rows = [_row(calls, i, s, links) for i, s in enumerate(links.sources)]
    head = element("tr", *(element("th", word, scope="col") for word in columns))
    return element(
        "section", element("h2", "Sources"),
        element("table", element("thead", head), element("tbody", *rows), class_="sources") if rows else element("p", "no source was asked for"),
        id="sources",
    )  # fmt: skip


def _row(calls: Sequence[_Call], position: int, link: SourceLink, links: Links) -> Markup:
    s = link.source
    places = [links.places[i] for i in link.places]
    marks: list[str] = []
    for p in places:
        marks += [element("a", str(p.place.number or p.place.cause.value), href=f"#{p.anchor}", title=p.place.cause.value, class_="mark"), " "]
    return element(
        "tr",
        element("td", _tag(verdict_word(s))),
        element("th", element("a", s.label, href=f"#{link.anchor}", class_="choose"), " ", element("span", _spec(s), class_="faint"), scope="row"),
        *([element("td", calls[link.call].short, title=calls[link.call].whole, class_="in-call faint")] if calls else []),
        *([element("td", *marks, class_="stops")] if links.places else []),
        data_source=str(position), data_verdict=verdict_word(s), data_layer=link.layer, data_call=str(link.call),
    )  # fmt: skip


def page_data(report: Report, links: Links, pictures: tuple[Picture, ...], *, source: bool = True) -> dict[str, Any]:
    """What the script needs: positions of sources and places, keys of boxes. No text in it has been escaped; the script only sets text."""
    return {
        "kinds": [kind.value for kind in KINDS],
        "statuses": [status.value for status in STATUSES],
        "means": {status.value: look.means for status, look in LOOKS.items()},
        "sources": [
            {
                "call": s.call, "name": visible(s.source.label), "anchor": s.anchor, "verdict": verdict_word(s.source),
                "says": _WORDS[verdict_word(s.source)], "facts": _facts(report, s), "path": list(s.path), "places": list(s.places),
            }
            for s in links.sources
        ],
        "places": [
            {
                "call": p.place.call, "number": p.place.number, "anchor": p.anchor, "cause": p.place.cause.value,
                "where": place_text(p.place.location.frame) if p.place.location else "place not known",
                "code": visible(p.place.location.code) if source and p.place.location else "", "remedy": visible_sentence(p.place.remedy),
                "weight": p.place.weight.value, "blocks": list(p.blocks), "count": len(p.place.blocks), "reconnects": list(p.reconnects),
                "boxes": list(p.boxes), "revived": list(p.revived), "flows": [list(f) for f in p.flows],
            }
            for p in links.places
        ],
        "boxes": [
            {
                "call": p.call, "key": n.key, "kind": n.kind.value, "heading": visible(n.heading or n.code or n.place), "code": visible(n.code),
                "place": visible(n.place), "status": n.status.value, "target": n.is_target, "ops": n.ops,
                "footnote": [visible(line) for line in n.footnote.split("\n") if line],
                "sources": [i for i, s in enumerate(links.sources) if s.call == p.call and s.path and s.path[0] == n.key] if n.sources else [],
            }
            for p in pictures for n in p.scene.nodes
        ],
    }  # fmt: skip


def _facts(report: Report, link: SourceLink) -> list[str]:
    s = link.source
    facts = [f"{s.kind} {_spec(s)}"]
    if s.owner:
        facts.append(f"layer {visible(s.owner)}")
    if s.returned:
        facts.append(f"TensorFlow returned {_RETURNED[s.returned]}")
    if s.numbers:
        norm = f"{s.numbers.norm:g}" if math.isfinite(s.numbers.norm) else str(s.numbers.norm)
        facts.append(f"norm {norm}, {s.numbers.zeros} zeros, {s.numbers.nan} NaN, {s.numbers.inf} Inf")
    if len(report.calls) > 1:
        facts.append(f"gradient call {link.call + 1}")
    return facts


def _spec(source: SourceResult) -> str:
    return visible(str(TensorSpec(source.dtype, source.shape)))


def _tag(word: str) -> Markup:
    return element("span", f"{_SIGNS.get(word, '✗')} {word}", class_=f"tag {word}")


@dataclass(frozen=True, slots=True)
class _Call:
    """What a gradient call is called where there is little room, and in full."""

    short: str
    whole: str


def _calls(report: Report) -> list[_Call]:
    places = Places.of(report)
    found = []
    for i, call in enumerate(report.calls, 1):
        at = call.location
        short, whole = (visible(places.line(at, _FILE)), place_text(at.frame)) if at else (call.kind, call.kind)
        found.append(_Call(f"{i}: {short}", f"{i}: {whole}"))
    return found

"""A comparison for a terminal, a bug report or a pull request: what got worse first, each with the line and what to do."""

from __future__ import annotations

from rich.text import Text

from tapetrace.model.comparison import Comparison
from tapetrace.render.comparison_outline import Entry, Section, Tone, sections, title, verdict
from tapetrace.render.text import print_lines
from tapetrace.render.text_layout import BAD, FAINT, GOOD, LABEL, MAYBE, NAME, Layout, place_text
from tapetrace.render.visible import fold_names, visible, visible_sentence

_STYLES = {Tone.WORSE: BAD, Tone.BETTER: GOOD, Tone.OTHER: MAYBE, Tone.NEW: NAME, Tone.GONE: NAME}
_MOST = 8
"""Entries of a section that are told before the rest folds."""


def render_comparison_text(found: Comparison, *, color: bool = False, width: int | None = None, source: bool = True, ascii: bool = False) -> str:
    """The comparison as text that ends with a line end; the options are those of `tapetrace.render.text.render_text`."""
    layout = Layout(width=max(40, width or 110), source=source)
    target, versions = title(found)
    tone, answer = verdict(found)
    blocks = [[Text("tapetrace diff  ", NAME).append(f"{target}      ").append(versions, FAINT)]]
    blocks.append([Text(f"{tone.value} {answer}", _STYLES[tone])])
    blocks += [_section(s, layout) for s in sections(found, source)]
    lines = [line for block in blocks for line in [*block, Text()]]
    return print_lines(lines[:-1], color, ascii)


def _section(section: Section, layout: Layout) -> list[Text]:
    where = f"{place_text(section.location.frame) if section.location else ''}  {visible(section.asked)}".strip()
    lines = [layout.headline(section.tone.value, _STYLES[section.tone], section.headline, where)]
    for entry in section.entries[:_MOST]:
        lines += _entry(entry, layout)
    more = len(section.entries) - _MOST
    return [*lines, Text(f"{' ' * LABEL}… {more} more", FAINT)] if more > 0 else lines


def _entry(entry: Entry, layout: Layout) -> list[Text]:
    place = f"{place_text(entry.location.frame)}  in {visible(entry.location.function)}" if entry.location else ""
    facts = "    ".join(part for part in (entry.what, entry.why, place) if part)
    names = fold_names(entry.names)
    if not entry.what:
        return [Text(" " * LABEL).append("    ".join(part for part in (names, entry.why, place) if part))]
    lines = [Text(" " * LABEL).append(facts), *layout.code(entry.location)]
    lines += layout.labelled("of", names) if names else []
    return lines + (layout.labelled("mend", visible_sentence(entry.mend)) if entry.mend else [])

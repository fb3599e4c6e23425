"""A comparison as GitHub-flavoured Markdown, for a pull request or an issue."""

from __future__ import annotations

from tapetrace.model.comparison import Comparison
from tapetrace.render.comparison_outline import Entry, Section, sections, title, verdict
from tapetrace.render.markdown_pieces import at_place, code_fence, code_names, code_span, escape, prose

_MOST = 8
"""Entries of a section that are told before the rest folds."""


def render_comparison_markdown(found: Comparison, *, source: bool = True) -> str:
    """The comparison as Markdown that ends with a line end. Names and code stand in code spans, so that they come out literally."""
    target, versions = title(found)
    tone, answer = verdict(found)
    parts = [f"## tapetrace diff: {code_span(target)}", f"{tone.value} **{escape(answer)}**  ·  {escape(versions)}"]
    for section in sections(found, source):
        parts += _section(section, source)
    return "\n\n".join(parts) + "\n"


def _section(section: Section, source: bool) -> list[str]:
    asked = f"{code_span(section.asked)}{at_place(section.location)}" if section.asked else ""
    parts = [f"### {section.tone.value} {escape(section.headline)}", *([asked] if asked else [])]
    for entry in section.entries[:_MOST]:
        parts += _entry(entry, source)
    more = len(section.entries) - _MOST
    return [*parts, f"… {more} more"] if more > 0 else parts


def _entry(entry: Entry, source: bool) -> list[str]:
    names = code_names(entry.names) if entry.names else ""
    facts = ", ".join(escape(part) for part in (entry.what, entry.why) if part)
    head = f"- {': '.join(part for part in (facts + at_place(entry.location), names) if part)}" if facts else f"- {names}{at_place(entry.location)}"
    mend = [f"  **Mend**: {prose(entry.mend)}"] if entry.mend else []
    fence = ["\n".join(f"  {line}" for line in block.split("\n")) for block in code_fence(entry.location, source)] if entry.what else []
    return [head, *fence, *mend]

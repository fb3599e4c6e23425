"""HTML and embedded JSON, written so that no text of the user can become markup or script."""

from __future__ import annotations

import html
import json
import re

from tapetrace.render.visible import visible, visible_sentence


class Markup(str):
    """Text that is HTML already. Everything else is escaped when it is put into an element."""

    __slots__ = ()


_LONGEST = 1_000_000
"""Attributes are not shortened: shapes and addresses would be wrong."""

_EMPTY = frozenset({"br", "input", "path", "polygon", "polyline", "ellipse", "rect"})


def element(tag: str, *children: str, **attributes: str | bool | None) -> Markup:
    """``element("a", "text", href="#x", class_="y")``. Children that are no `Markup` are escaped; an attribute that is None or False is left out.

    >>> element("p", "a < b", class_="note", data_id="3")
    '<p class="note" data-id="3">a &lt; b</p>'
    """
    written = "".join(_attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    if tag in _EMPTY:
        return Markup(f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>{join(*children)}</{tag}>")


def join(*parts: str) -> Markup:
    """The parts one after the other, escaped unless they are HTML already."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def escape(text: str) -> str:
    """The text for use in an element or a quoted attribute. What could not be seen or would hide what can (control characters, bidirectional
    marks, lone surrogates) is written as an escape; more than 300 characters end in …"""
    return html.escape(visible(text))


def lines(text: str) -> Markup:
    """The same for text of our own with several lines."""
    return Markup("\n".join(escape(line) for line in text.split("\n")))


def prose(text: str) -> Markup:
    """A sentence in which code stands between backticks."""
    pieces = re.split(r"`([^`]*)`", visible_sentence(text))
    return Markup("".join(f"<code>{html.escape(piece)}</code>" if i % 2 else html.escape(piece) for i, piece in enumerate(pieces)))


def json_for_script(data: object) -> str:
    """JSON for a script element: nothing in it can end the element, start a comment, or end a line of JavaScript."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f' {name}=""'
    return f' {name}="{html.escape(visible(value, _LONGEST))}"'

"""What is too long to stand in the page as it is, the layout engine first of all: compressed, and unpacked by the browser when it is needed."""

from __future__ import annotations

import base64
import gzip
from functools import lru_cache
from importlib.resources import files

from tapetrace.render.html_markup import Markup, element

ENGINE = "vendor/viz-global.js"
"""The layout engine of the page, see ``vendor/NOTE.md``."""


def packed(text: str, name: str) -> Markup:
    """The text in an element that a script finds as ``name``; what it is made of cannot be markup."""
    return element("script", Markup(_pack(text.encode("utf-8", "replace"))), type="text/plain", id=f"packed-{name}")


@lru_cache(maxsize=1)
def engine() -> Markup:
    """The layout engine: 1.3 MB, of which 0.6 MB stand in the page."""
    return packed((files("tapetrace.render") / "page" / ENGINE).read_text(encoding="utf-8"), "engine")


def _pack(text: bytes) -> str:
    # The time would differ from page to page.
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii")

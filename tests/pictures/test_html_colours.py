"""The colours of the page: enough contrast for text (WCAG AA) and for lines, in light, in dark and on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tapetrace.render import html


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_contrast_is_enough_for_text_and_for_lines(scheme: str) -> None:
    text = (Path(html.__file__).parent / "page" / "style.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", text, re.S)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", roots[0]))
    colours |= dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", {"light": "", "dark": roots[1], "print": roots[2]}[scheme]))
    statuses = ("live", "dead", "break", "conditional", "opaque")
    surfaces = ["paper", "panel", "chosen", *(f"{s}-fill" for s in statuses)]
    for ink, back, least in [
        *((ink, back, 4.5) for ink in ("ink", "faint") for back in surfaces),
        *((f"{s}-text", back, 4.5) for s in statuses for back in ("paper", f"{s}-fill")),
        *(("paper", s, 4.5) for s in ("break", "conditional", "opaque")),
        *((s, back, 3.0) for s in (*statuses, "focus") for back in ("paper", "panel")),
        ("link", "paper", 4.5), ("link", "panel", 4.5), ("break-text", "chosen", 4.5), ("live-text", "chosen", 4.5), ("live-text", "panel", 4.5),
    ]:  # fmt: skip
        assert _contrast(colours[ink], colours[back]) >= least, (ink, back, _contrast(colours[ink], colours[back]))

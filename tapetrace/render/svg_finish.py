"""The last hand on the engine's SVG: what it is called, what it says in words, and its colours on a dark screen."""

from __future__ import annotations

import re
from html import escape

from tapetrace.model.graph import Status
from tapetrace.render.dot import FAINT, LOOKS
from tapetrace.render.scene import Kind, Scene, SceneNode
from tapetrace.render.visible import shown_target, visible

DARK_PAPER, DARK_INK, DARK_FAINT = "#16181C", "#E8E8E8", "#B0B0B0"
DARK_LOOKS = {
    Status.LIVE: ("#2BC79A", "#10302A"),
    Status.DEAD: ("#9A9A9A", "#26282C"),
    Status.BREAK: ("#FF8A3D", "#3B2313"),
    Status.CONDITIONAL: ("#4DA8E0", "#142E40"),
    Status.OPAQUE: ("#D78BC8", "#351E32"),
}
"""Line and fill of each status on a dark screen, in place of those of `tapetrace.render.dot.LOOKS`."""

_ENGINE_TITLE = "<title>tapetrace</title>"
_KEYED = re.compile(r'<title>[^<]*</title>(\s*<g id="a_\w+"><a [^>]*?xlink:title="([^"]*)")')
"""What browsers show at a box or an arrow is the key that the engine writes there, and not the hover title behind it."""


def finish_svg(svg: bytes, scene: Scene) -> bytes:
    """The SVG with the title of the report, a description for those who do not see it, and other colours where the screen is dark.

    An SVG that does not look as expected comes back as it is.
    """
    text = svg.decode("utf-8")
    opening = re.search(r"<svg\b[^>]*>", text)
    if opening is None or _ENGINE_TITLE not in text:
        return svg
    words = "; ".join((scene.subtitle, *(_said(n) for n in scene.nodes if n.kind is Kind.BREAK)))
    head = (
        f'{opening[0][:-1]} role="img" aria-labelledby="tapetrace-title tapetrace-words">\n'
        f'<title id="tapetrace-title">{escape(f"tapetrace: {shown_target(scene.title)}")}</title>\n'
        f'<desc id="tapetrace-words">{escape(visible(words, 2_000))}</desc>\n'
        f"<style>{dark_style()}</style>\n"
    )
    drawn = _KEYED.sub(r"<title>\2</title>\1", text[opening.end() :].replace(_ENGINE_TITLE, "", 1))
    return (text[: opening.start()] + head + drawn).encode("utf-8")


def dark_style() -> str:
    """CSS that takes each colour of the picture for its twin on a dark screen; the engine writes colours as attributes, which CSS overrules."""
    twins = [("fill", "#FFFFFF", DARK_PAPER), ("stroke", "#FFFFFF", DARK_PAPER), ("stroke", "#BBBBBB", "#555A61"), ("stroke", "#333333", "#C0C0C0")]
    for status, (line, fill) in DARK_LOOKS.items():
        look = LOOKS[status]
        twins += [("fill", look.line, line), ("stroke", look.line, line), ("fill", look.fill, fill)]
    rules = [f"text{{fill:{DARK_INK}}}", f'text[fill="{FAINT}" i]{{fill:{DARK_FAINT}}}']
    rules += [f'[{name}="{light}" i]{{{name}:{dark}}}' for name, light, dark in twins]
    # Without a scheme of its own, the paper around a dark picture would stay white.
    return f"svg:root{{color-scheme:light dark}}@media screen and (prefers-color-scheme: dark){{{''.join(rules)}}}"


def _said(node: SceneNode) -> str:
    number = f"{', '.join(map(str, node.numbers))} " if node.numbers else ""
    return f"break {number}{', '.join(part for part in (node.heading, node.place, *node.footnote.split(chr(10))) if part)}"

"""On which side of a frame its title stands: where no arrow runs through it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

Point = tuple[float, float]

_PAD = 8.0
"""Points that the engine leaves between the corner of a frame and its title."""
_INCH = 72.0
_STEPS = 16
"""Straight pieces that each bend of an arrow is looked at in."""


def sides_of_titles(layout: bytes) -> dict[str, str]:
    """For each group whose title an arrow would run through on the left, where fewer do: ``r`` or ``c``, as ``labeljust`` of DOT.

    ``layout`` is the engine's ``json0`` of the picture with all titles on the left; the side of a title moves nothing else.
    """
    found = json.loads(layout)
    arrows = [list(_points(edge["pos"])) for edge in found.get("edges", ()) if edge.get("style") != "invis" and "pos" in edge]
    sides = {}
    for group in found.get("objects", ()):
        if group.get("lp") and group.get("bb"):
            crossed = {side: sum(_runs_through(arrow, x, y) for arrow in arrows) for side, x, y in _places(group)}
            best = min(crossed, key=lambda side: crossed[side])
            if best != "l":
                sides[group["name"].removeprefix("cluster_")] = best
    return sides


def _places(group: Mapping[str, Any]) -> Iterator[tuple[str, Point, Point]]:
    """Each side with the horizontal and vertical range of the title there."""
    left, _, right, _ = _numbers(group["bb"])
    width, height, y = float(group["lwidth"]) * _INCH, float(group["lheight"]) * _INCH, _numbers(group["lp"])[1]
    for side, start in (("l", left + _PAD), ("r", right - _PAD - width), ("c", (left + right - width) / 2)):
        yield side, (start, start + width), (y - height / 2, y + height / 2)


def _runs_through(arrow: Iterable[Point], x: Point, y: Point) -> bool:
    return any(x[0] < a < x[1] and y[0] < b < y[1] for a, b in arrow)


def _points(position: str) -> Iterator[Point]:
    """Points along an arrow, given as the control points of its bends, with those of its tip and tail marked."""
    marked = [part.split(",") for part in position.split()]
    ends = {part[0]: (float(part[1]), float(part[2])) for part in marked if len(part) == 3}
    bends = [(float(part[0]), float(part[1])) for part in marked if len(part) == 2]
    line = [ends.get("s", bends[0])]
    for at in range(0, len(bends) - 3, 3):
        line += [_bezier(bends[at : at + 4], step / _STEPS) for step in range(_STEPS + 1)]
    line.append(ends.get("e", bends[-1]))
    for (ax, ay), (bx, by) in pairwise(line):
        yield from ((ax + (bx - ax) * part / 4, ay + (by - ay) * part / 4) for part in range(5))


def _bezier(points: Sequence[Point], t: float) -> Point:
    a, b, c, d = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    return a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3


def _numbers(text: str) -> list[float]:
    return [float(n) for n in text.split(",")]

"""The way of a source to the target, as positions in a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from tapetrace.model.graph import name_in_call
from tapetrace.render.control_flow import after_joints, entered_at, is_joint
from tapetrace.render.panels import Panel

Found = TypeVar("Found")


def find_op(name: str, known: Mapping[str, Found]) -> Found | None:
    """What is known of an op: the drawing names the outputs of an op with several one by one (``cond:0``), and may have no more of a conditional
    than where its branches are entered."""
    drawn = next((key for key in (name, f"{name}:0") if key in known), None) or entered_at(name, known)
    return known[drawn] if drawn is not None else None


class Routes:
    """Finds what a report names in the panel of its call."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._position = {name_in_call(n.name): i for i, n in enumerate(panel.nodes)}
        self._after = after_joints(panel.nodes, panel.edges)

    def find(self, name: str) -> int | None:
        """The position of what stands for an op in the drawing."""
        return find_op(name, self._position)

    def of(self, names: Sequence[str]) -> list[int]:
        """A route of a report, with the joints through which it enters branches, which reports leave out."""
        route = [at for name in names if (at := self.find(name)) is not None]
        whole = route[:1]
        for a, b in pairwise(route):
            whole += [*self._between(a, b), b]
        return whole

    def _between(self, a: int, b: int) -> list[int]:
        """The joints on the way from one op to another; none where what leads there is no joint."""
        ways = [[n] for n in self._after.get(a, ()) if n != b and is_joint(self._panel.nodes[n])]
        met: set[int] = set()
        while ways:
            way = ways.pop()
            after = self._after.get(way[-1], ())
            if b in after:
                return way
            met.add(way[-1])
            ways += [[*way, n] for n in after if n not in met and is_joint(self._panel.nodes[n])]
        return []

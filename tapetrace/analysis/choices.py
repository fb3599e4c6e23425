"""Under which choices of branches something is true: decision diagrams over the conditionals of a step.

That a value is live whatever branches are taken cannot be seen from one conditional at a time: a variable may reach the target through one tensor
in the true branch and through another in the false branch.
"""

from __future__ import annotations

from collections.abc import Callable

Diagram = int
NEVER: Diagram = 0
ALWAYS: Diagram = 1


class TooManyChoices(Exception):
    """The diagrams grew past the limit; the caller has a coarser answer."""


class Choices:
    """Diagrams, each known by a number, equal numbers for equal conditions. An inner one asks one conditional and has a diagram for each branch."""

    def __init__(self, limit: int = 20_000) -> None:
        self._limit = limit
        self._inner: list[tuple[int, tuple[Diagram, ...]]] = [(-1, ()), (-1, ())]
        self._number: dict[tuple[int, tuple[Diagram, ...]], Diagram] = {}
        self._known: dict[tuple[bool, Diagram, Diagram], Diagram] = {}

    def taken(self, conditional: int, branch: int, count: int) -> Diagram:
        """Branch ``branch`` of the ``count`` branches of a conditional is taken."""
        return self._make(conditional, tuple(ALWAYS if b == branch else NEVER for b in range(count)))

    def either(self, a: Diagram, b: Diagram) -> Diagram:
        if a in (b, ALWAYS) or b == NEVER:
            return a
        if a == NEVER or b == ALWAYS:
            return b
        return self._combine(True, a, b, self.either)

    def both(self, a: Diagram, b: Diagram) -> Diagram:
        if a in (b, NEVER) or b == ALWAYS:
            return a
        if a == ALWAYS or b == NEVER:
            return b
        return self._combine(False, a, b, self.both)

    def _combine(self, is_either: bool, a: Diagram, b: Diagram, again: Callable[[Diagram, Diagram], Diagram]) -> Diagram:
        key = (is_either, min(a, b), max(a, b))
        known = self._known.get(key)
        if known is None:
            first = min(self._inner[a][0], self._inner[b][0])
            count = max(len(self._inner[d][1]) for d in (a, b) if self._inner[d][0] == first)
            known = self._known[key] = self._make(first, tuple(again(self._given(a, first, k), self._given(b, first, k)) for k in range(count)))
        return known

    def _given(self, d: Diagram, conditional: int, branch: int) -> Diagram:
        asked, parts = self._inner[d]
        return parts[branch] if asked == conditional else d

    def _make(self, conditional: int, parts: tuple[Diagram, ...]) -> Diagram:
        if all(p == parts[0] for p in parts):
            return parts[0]
        number = self._number.get((conditional, parts))
        if number is None:
            if len(self._inner) >= self._limit:
                raise TooManyChoices
            number = self._number[conditional, parts] = len(self._inner)
            self._inner.append((conditional, parts))
        return number

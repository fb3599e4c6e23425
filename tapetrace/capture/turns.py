"""Ops that one statement made by calling the same function several times: they come from one line, and their order tells which call made which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapetrace.capture.locations import Calls


class Turns:
    """Answers for ops of graphs, looking at those of one type in a graph when one of them is asked for. ``calls_of`` is `Locator.calls` for an op."""

    def __init__(self, operations: Mapping[str, Sequence[Any]], calls_of: Callable[[Any], Calls | None]) -> None:
        self._operations = operations
        self._calls_of = calls_of
        self._found: dict[tuple[str, str], dict[Calls, list[int]]] = {}

    def line(self, body: str, position: int, calls: Calls) -> int:
        """Of the lines of these calls that of the one that made an op.

        The line of their frame when it is exact, since Python ran the file as it is and not what AutoGraph made of it, and when the ops do not
        come out even, since not every call was made.
        """
        alike = self._alike(body, self._operations[body][position].type)
        turns, here = alike.get(calls, []), calls.at[1]
        if len(turns) % len(calls.lines) or position not in turns:
            return here
        if any(calls.on(line) in alike for line in calls.lines if line != here):
            return here
        return calls.lines[turns.index(position) % len(calls.lines)]

    def _alike(self, body: str, op_type: str) -> dict[Calls, list[int]]:
        """The positions of the ops of a type by the calls that may have made them."""
        if (body, op_type) not in self._found:
            found = self._found[body, op_type] = {}
            for position, op in enumerate(self._operations[body]):
                calls = self._calls_of(op) if op is not None and op.type == op_type else None
                if calls is not None:
                    found.setdefault(calls, []).append(position)
        return self._found[body, op_type]

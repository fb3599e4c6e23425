"""Where the values computed from a source go when none of them reaches the target."""

from __future__ import annotations

from tapetrace.analysis.flat import Flat, Tensor
from tapetrace.analysis.ways import Passage, writes_variable


def reads_of(flat: Flat, t: Tensor) -> list[tuple[int, int]]:
    """The (node, input) pairs that read the value of ``t`` in the forward computation: no shapes, no writes into the variable, no backward ops."""
    found = []
    for n, i in flat.consumers.get(t, ()):
        node = flat.nodes[n]
        if node.from_backward or (i == 0 and writes_variable(node.type)):
            continue
        if any(node.way(i, j).passage is not Passage.NO_DATA for j in range(node.output_count)):
            found.append((n, i))
    return found


class DeadEnds:
    """For each node, the last op in program order that is computed from it: where a person expected the result to be used.

    One pass over the graph answers for all sources.
    """

    def __init__(self, flat: Flat) -> None:
        self._flat = flat
        size = len(flat.nodes)
        self._last = [n if node.kind in ("op", "body") else -1 for n, node in enumerate(flat.nodes)]  # a joint is no place to look at
        self._next = [-1] * size
        for n in range(size - 1, -1, -1):
            for j in range(flat.nodes[n].output_count):
                for m, _ in reads_of(flat, (n, j)):
                    if m > n and self._last[m] > self._last[n]:
                        self._last[n], self._next[n] = self._last[m], m

    def chain(self, t: Tensor) -> list[int]:
        """The nodes from the first reader of ``t`` to the end of the dead end, in the direction of the data; empty when nothing reads it."""
        readers = [n for n, _ in reads_of(self._flat, t)]
        if not readers:
            return []
        n = max(readers, key=lambda m: (self._last[m], -m))
        chain = [n]
        while self._next[n] >= 0:
            n = self._next[n]
            chain.append(n)
        return chain

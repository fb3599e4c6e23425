"""Which writes a read of a variable may see, while a graph is walked in program order."""

from __future__ import annotations

from collections.abc import Iterable

from tapetrace.analysis.flat import Node, Tensor

Writes = frozenset[Tensor]
"""Pseudo outputs of writes; (-1, level) stands for what the variable held when the loop of that level came round."""

_NOTHING: Writes = frozenset()


class VariableState:
    """The last writes of each variable, known by the handle that it came in with (its *root*)."""

    def __init__(self) -> None:
        self._root: dict[Tensor, Tensor] = {}
        self._last: dict[Tensor, Writes] = {}
        self._unwritten: Writes = _NOTHING
        self._pending: list[list[tuple[Node, int, Tensor]]] = []
        self._before_loop: list[tuple[dict[Tensor, Writes], Writes]] = []

    def alias(self, handle: Tensor, of: Tensor) -> None:
        """``handle`` is the same variable as ``of``."""
        self._root[handle] = self._root.get(of, of)

    def begin(self, handle: Tensor, writes: Iterable[Tensor]) -> None:
        """Say what was written before the graph that is walked."""
        self._last[handle] = frozenset(writes)

    def writes_of(self, handle: Tensor) -> Writes:
        return self._last.get(self._root.get(handle, handle), self._unwritten)

    def read(self, node: Node, input_index: int) -> None:
        """Tie a node to the writes that its input, a handle, may show it; a later round of a loop adds its own."""
        root = self._root.get(node.inputs[input_index], node.inputs[input_index])
        for write in sorted(self._last.get(root, self._unwritten)):
            if write[0] < 0:
                self._pending[write[1]].append((node, input_index, root))
            else:
                _add(node, input_index, write)

    def write(self, handle: Tensor, write: Tensor, keeps: bool = False) -> None:
        """A write into the variable; ``keeps`` when the former writes may still be seen."""
        root = self._root.get(handle, handle)
        self._last[root] = frozenset([write]) | (self._last.get(root, self._unwritten) if keeps else _NOTHING)

    # Branches: each starts from the same state, and any of them may have been taken.

    def snapshot(self) -> dict[Tensor, Writes]:
        return dict(self._last)

    def restore(self, state: dict[Tensor, Writes]) -> None:
        self._last = dict(state)

    def join(self, states: list[dict[Tensor, Writes]]) -> None:
        roots = {root for state in states for root in state}
        self._last = {root: _NOTHING.union(*(state.get(root, self._unwritten) for state in states)) for root in roots}

    # Loops: a read may see a write of the round before.

    def enter_loop(self) -> None:
        self._before_loop.append((dict(self._last), self._unwritten))
        mark = frozenset([(-1, len(self._pending))])
        self._pending.append([])
        self._last = {root: writes | mark for root, writes in self._last.items()}
        self._unwritten |= mark

    def leave_loop(self) -> None:
        mark = frozenset([(-1, len(self._pending) - 1)])
        for node, input_index, root in self._pending.pop():
            for write in sorted(self._last.get(root, _NOTHING) - mark):
                if write[0] >= 0:
                    _add(node, input_index, write)
        before, self._unwritten = self._before_loop.pop()
        after = {root: writes - mark for root, writes in self._last.items()}
        self._last = {root: before.get(root, self._unwritten) | after.get(root, _NOTHING) for root in before.keys() | after.keys()}


def _add(node: Node, input_index: int, write: Tensor) -> None:
    start = len(node.inputs) - len(node.state_of)
    known = zip(node.inputs[start:], node.state_of, strict=True)
    if (write, input_index) not in known:
        node.inputs.append(write)
        node.state_of.append(input_index)

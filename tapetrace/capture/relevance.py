"""Which ops of a graph can matter to a gradient call, and in what order to walk them."""

from __future__ import annotations

from collections.abc import Iterable

from tapetrace.capture.snapshot import Draft
from tapetrace.model.trace import Ref


def needed_ops(draft: Draft, ends: Iterable[Ref], starts: Iterable[Ref]) -> set[int]:
    """Ancestors of the ends, descendants of the starts, and the ops that write into a variable which any of them reads; as positions."""
    needed: set[int] = set()
    _add_ancestors(draft, (p for p, _ in ends), needed)
    reached = {p for p, _ in starts}
    for position, drafted in enumerate(draft.ops):
        if position in draft.backward and position not in needed:
            continue
        if any(draft.position.get(name) in reached for name, _ in drafted.inputs):
            reached.add(position)
    _add_ancestors(draft, reached, needed)
    writers = [0]
    while writers:
        writers = [p for p in range(len(draft.ops)) if p not in needed and _may_write(draft, p, needed)]
        _add_ancestors(draft, writers, needed)
    return needed


def inputs_first(draft: Draft, wanted: set[int]) -> list[int]:
    """The positions in program order, but an op after its inputs: a rewritten loop reads accumulators that were made later."""
    done: set[int] = set()
    result: list[int] = []
    for start in sorted(wanted):
        stack = [start]
        while stack:
            p = stack[-1]
            waiting = [] if p in done else [q for name, _ in draft.ops[p].inputs if (q := draft.position[name]) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if p not in done:
                done.add(p)
                result.append(p)
    return result


def _may_write(draft: Draft, position: int, needed: set[int]) -> bool:
    """Whether an op, or a function that it calls, may write into a variable that is already needed."""
    drafted = draft.ops[position]
    if drafted.output_count and drafted.call is None:
        return False
    return any(draft.position[name] in needed and _is_handle(draft, draft.position[name]) for name, _ in drafted.inputs)


def _is_handle(draft: Draft, position: int) -> bool:
    op = draft.ops[position].op
    return op.type in ("Placeholder", "VarHandleOp") and op.outputs[0].dtype.name == "resource"


def _add_ancestors(draft: Draft, start: Iterable[int], found: set[int]) -> None:
    stack = [p for p in start if p not in found]
    found.update(stack)
    while stack:
        for name, _ in draft.ops[stack.pop()].inputs:
            p = draft.position[name]
            if p not in found:
                found.add(p)
                stack.append(p)

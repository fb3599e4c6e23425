"""The gates of a call as a whole: which inputs of a body are live for which of its outputs. Used where a body is not opened."""

from __future__ import annotations

from collections.abc import Mapping

from tapetrace.analysis.flat import flatten_body
from tapetrace.analysis.liveness import live_tensors
from tapetrace.model.trace import Body, CallKind, Gate, GateTable, Op

_BUDGET = 50_000


def body_table(bodies: Mapping[str, Body], key: str) -> list[list[Gate]]:
    """``table[i][j]`` for a body: OPEN when its input ``i`` is live for its output ``j``, otherwise NONE."""
    flat, inputs, outputs = flatten_body(bodies, key, _BUDGET)
    table = [[Gate.NONE] * len(outputs) for _ in inputs]
    for j, out in enumerate(outputs):
        live = live_tensors(flat, [out]).possible
        for i, t in enumerate(inputs):
            if t in live:
                table[i][j] = Gate.OPEN
    return table


def call_table(bodies: Mapping[str, Body], op: Op) -> GateTable:
    """The gates of a call op from the summaries of its bodies; a loop is iterated to a fixed point."""
    assert op.call is not None
    tables = [body_table(bodies, key) for key in op.call.bodies]
    if op.call.kind is CallKind.FUNCTION:
        rows = tables[0]
    elif op.call.kind is CallKind.BRANCH:
        rows = [[Gate.NON_FLOAT_INPUT] * len(op.outputs)]
        for i in range(len(op.inputs) - 1):
            rows.append([Gate.OPEN if any(t[i][j] is Gate.OPEN for t in tables) else Gate.NONE for j in range(len(op.outputs))])
    else:
        rows = _closure(tables[0])
    return GateTable(tuple(tuple(row) for row in rows), "summarised")


def _closure(step: list[list[Gate]]) -> list[list[Gate]]:
    n = len(step)
    reach = [{i} | {j for j in range(n) if step[i][j] is Gate.OPEN} for i in range(n)]
    changed = True
    while changed:
        changed = False
        for i in range(n):
            more = set().union(*(reach[j] for j in reach[i]))
            if not more <= reach[i]:
                reach[i] |= more
                changed = True
    return [[Gate.OPEN if j in reach[i] else Gate.NONE for j in range(n)] for i in range(n)]

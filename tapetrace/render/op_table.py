"""The answer of `tapetrace ops`: which op types let gradient through, input by input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapetrace.model.op_rows import OpRow, Registration, Slot
from tapetrace.model.trace import Gate

UNREGISTERED = "no gradient registered: the call raises LookupError"
NOT_DIFFERENTIABLE = "declared not differentiable: gradient stops here without an error"

FOOTNOTE = "Asked with float32 wherever the op allows it; integers, bools and strings carry no gradient through any op."

_CLOSED = {
    Gate.NONE: "its gradient function returns None",
    Gate.ZERO: "its gradient function returns zeros",
    Gate.NOT_DIFFERENTIABLE: NOT_DIFFERENTIABLE,
    Gate.UNREGISTERED: UNREGISTERED,
}


def render_op_table(rows: Sequence[OpRow]) -> str:
    """A block of lines for each op type, how many there are of each kind when there are several, and what was asked."""
    blocks = ["\n".join(_block(row)) for row in rows]
    if len(rows) > 1:
        blocks.append(_summary(rows))
    blocks.append(FOOTNOTE)
    return "\n\n".join(blocks)


def _block(row: OpRow) -> list[str]:
    whole = _as_a_whole(row)
    if whole:
        return [f"{row.type:<28}  {whole}"]
    width = max(len(slot.name) for slot in row.inputs)
    return [row.type, *(f"  {slot.name:<{width}}  {_answer(row, i)}" for i, slot in enumerate(row.inputs))]


def _as_a_whole(row: OpRow) -> str:
    """What is true of every input, where that can be said in one line; empty where the inputs differ."""
    if row.gates is None:
        if row.registration is Registration.MISSING:
            return UNREGISTERED
        if row.registration is Registration.NOT_DIFFERENTIABLE:
            return NOT_DIFFERENTIABLE
        return f"has a gradient function, cannot be instantiated here: {row.note}"
    if not row.inputs:
        return "has no inputs"
    if not row.outputs:
        return "has no outputs"
    gates = {gate for gates in row.gates.rows for gate in gates}
    if gates == {Gate.NON_FLOAT_INPUT}:
        return f"no input carries gradient: {_dtypes(row.inputs)}"
    if gates <= {Gate.NON_FLOAT_INPUT, Gate.NON_FLOAT_OUTPUT}:
        return f"no output carries gradient: {_dtypes(row.outputs)}"
    if Gate.UNREGISTERED in gates:
        return UNREGISTERED
    return NOT_DIFFERENTIABLE if Gate.NOT_DIFFERENTIABLE in gates else ""


def _dtypes(slots: Iterable[Slot]) -> str:
    return ", ".join(dict.fromkeys(slot.dtype for slot in slots))


def _answer(row: OpRow, i: int) -> str:
    """What one input gets from each output: outputs with the same answer together, the open ones first."""
    assert row.gates is not None
    groups: dict[tuple[str, str], list[str]] = {}
    for j, output in enumerate(row.outputs):
        groups.setdefault(_said(row, i, j), []).append(output.name)
    ordered = sorted(groups.items(), key=lambda group: group[0][0] != "open")
    if len(ordered) == 1:
        return _phrase(*ordered[0][0])
    return " · ".join(_phrase(f"{state} from {', '.join(names)}", reason) for (state, reason), names in ordered)


def _phrase(state: str, reason: str) -> str:
    return f"{state}: {reason}" if reason else state


def _said(row: OpRow, i: int, j: int) -> tuple[str, str]:
    """Open, closed or not known, and why."""
    assert row.gates is not None
    gate = row.gates.gate(i, j)
    if gate is Gate.OPEN:
        return "open", ""
    if gate is Gate.NON_FLOAT_INPUT:
        return "closed", f"{row.inputs[i].dtype} carries no gradient"
    if gate is Gate.NON_FLOAT_OUTPUT:
        return "closed", f"the output is {row.outputs[j].dtype}, which carries no gradient"
    if gate is Gate.PYTHON:
        return "not known", "Python code decides when the step runs"
    if gate in _CLOSED:
        return "closed", _CLOSED[gate]
    return "not known", f"its gradient function cannot be asked here ({row.note})"


def _summary(rows: Sequence[OpRow]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        kind = _kind(row)
        counts[kind] = counts.get(kind, 0) + 1
    return f"{len(rows):,} op types: " + ", ".join(f"{n:,} {kind}" for kind, n in sorted(counts.items(), key=lambda item: -item[1]))


def _kind(row: OpRow) -> str:
    gates = {gate for gates in row.gates.rows for gate in gates} if row.gates is not None else set()
    if Gate.OPEN in gates:
        return "open to some input"
    if Gate.UNREGISTERED in gates or (row.gates is None and row.registration is Registration.MISSING):
        return "without a gradient"
    if Gate.NOT_DIFFERENTIABLE in gates or (row.gates is None and row.registration is Registration.NOT_DIFFERENTIABLE):
        return "declared not differentiable"
    if row.gates is None or gates & {Gate.UNKNOWN, Gate.PYTHON}:
        return "not known"
    return "closed though registered" if gates & {Gate.NONE, Gate.ZERO} else "without anything that carries gradient"

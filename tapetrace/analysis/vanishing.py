"""Where, between a source and the target, the number is lost: the op that turns a gradient into zeros, NaN or infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

from tapetrace.model.measurements import Flow, FlowInput, FlowOp, TensorKey, TensorNumbers

TOLERANCE = 1e-6
"""What rounding leaves of a zero, relative to what came to the op; in half precision its machine epsilon is more, and counts."""


class Lost(Enum):
    """How the number of a gradient is lost where its way is open."""

    VANISHES = "vanishes"
    """It becomes zero in one op."""
    CANCELS = "cancels"
    """What comes back on several ways adds up to zero."""
    EMPTY = "empty"
    """The value has no elements."""
    NOT_FINITE = "not finite"
    """It becomes NaN or infinite."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The op at which gradient is lost, and a clause that says how. ``alone``: there is no other such op for this source."""

    op: FlowOp
    detail: str
    alone: bool = True
    how: Lost = Lost.VANISHES


class Vanishing:
    """Which tensors of a flow still have a gradient.

    An op loses the gradient of an input when what comes back through it is exactly zero, or at most ``TOLERANCE`` times what came to its outputs,
    both as a gradient and multiplied by the value: ``1e-9 * x`` has a small gradient and a large ``x``, and loses nothing, while a saturated sigmoid
    does. A tensor loses it when the contributions of its consumers cancel to at most ``TOLERANCE`` times the largest of them.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.live: set[TensorKey] = set(flow.targets)
        self.consumers: dict[TensorKey, list[tuple[FlowOp, FlowInput]]] = {}
        self.cancelled: dict[TensorKey, list[FlowOp]] = {}
        for op in flow.ops:
            for read in op.inputs:
                self.consumers.setdefault(read.tensor, []).append((op, read))
        for op in reversed(flow.ops):
            for output in op.outputs:
                self._cancel(output)
            if any(t in self.live for t in op.outputs):
                self.live.update(read.tensor for read in op.inputs if not self._loses(op, read))
        for tensor in flow.sources.values():
            self._cancel(tensor)

    def find_loss(self, source: int, exact: bool) -> Loss | None:
        """Where the gradient of a source is lost; None when it is not. ``exact`` says that the source's own gradient is exactly zero."""
        start = self.flow.sources.get(source)
        if start is None or (start in self.live and not exact):
            return None
        found = self._frontier(start)
        if not found:
            return self._steepest(start) if exact else None
        return replace(found[0], alone=len(found) == 1)

    def _cancel(self, tensor: TensorKey) -> None:
        if tensor not in self.live or tensor in self.flow.targets:
            return
        numbers = self.flow.tensors.get(tensor)
        parts = [(op, read.contribution or 0.0) for op, read in self.consumers.get(tensor, ()) if self._passes(op, read)]
        if numbers is None or len(parts) < 2 or not math.isfinite(numbers.gradient):
            return
        if numbers.gradient <= _tolerance(numbers) * max(part for _, part in parts):
            self.live.discard(tensor)
            self.cancelled[tensor] = [op for op, _ in parts]

    def _passes(self, op: FlowOp, read: FlowInput) -> bool:
        return any(t in self.live for t in op.outputs) and not self._loses(op, read)

    def _loses(self, op: FlowOp, read: FlowInput) -> bool:
        came = [self.flow.tensors[t] for t in op.outputs if t in self.flow.tensors]
        if read.contribution is None or not came or not all(math.isfinite(t.gradient) for t in came):
            return False
        strongest = max(t.gradient for t in came)
        if strongest == 0.0 or read.contribution == 0.0:
            return strongest > 0.0
        numbers = self.flow.tensors.get(read.tensor)
        if numbers is None or not math.isfinite(read.contribution):
            return False
        small = _tolerance(numbers)
        weight = max(t.gradient * t.value for t in came)
        return read.contribution <= small * strongest and read.contribution * numbers.value <= small * weight

    def _frontier(self, start: TensorKey) -> list[Loss]:
        """The ops at which gradient is lost on the ways from ``start``, in program order."""
        found: dict[str, Loss] = {}
        for tensor in self._reachable(start):
            if tensor in self.cancelled:
                ops = self.cancelled[tensor]
                found.setdefault(ops[0].name, Loss(ops[0], f"the gradients of {len(ops)} paths that part here cancel", how=Lost.CANCELS))
                continue
            for op, read in self.consumers.get(tensor, ()):
                if any(t in self.live for t in op.outputs) and self._loses(op, read):
                    loss = self._behind_empty(op, read)
                    found.setdefault(loss.op.name, loss)
        order = {op.name: i for i, op in enumerate(self.flow.ops)}
        return sorted(found.values(), key=lambda loss: order[loss.op.name])

    def _reachable(self, start: TensorKey) -> list[TensorKey]:
        """Tensors computed from ``start`` that have lost their gradient, itself included, up to where it is still there."""
        seen = {start: None}
        stack = [start]
        while stack:
            tensor = stack.pop()
            if tensor in self.cancelled:
                continue
            for op, _ in self.consumers.get(tensor, ()):
                for output in op.outputs:
                    if output not in self.live and output not in seen:
                        seen[output] = None
                        stack.append(output)
        return list(seen)

    def _behind_empty(self, op: FlowOp, read: FlowInput) -> Loss:
        """The op itself; of a tensor without elements, the op that left nothing."""
        producers = {t: p for p in self.flow.ops for t in p.outputs}
        tensor, empty = read.tensor, False
        while self._is_empty(tensor) and tensor in producers:
            op, empty = producers[tensor], True
            tensor = next((r.tensor for r in op.inputs if self._is_empty(r.tensor)), ("", 0))
        if empty:
            return Loss(op, "no element is left after this op", how=Lost.EMPTY)
        came = max(self.flow.tensors[t].gradient for t in op.outputs if t in self.flow.tensors)
        return Loss(op, f"a gradient of norm {came:.3g} comes to {op.type} and leaves it {_left(read.contribution or 0.0)}")

    def _is_empty(self, tensor: TensorKey) -> bool:
        numbers = self.flow.tensors.get(tensor)
        return numbers is not None and numbers.size == 0

    def _steepest(self, start: TensorKey) -> Loss | None:
        """For a gradient that faded gradually: the op on the way that weakens it most."""
        best: tuple[float, FlowOp] | None = None
        for op in descendants(self.flow, start):
            came = max((self.flow.tensors[t].gradient for t in op.outputs if t in self.flow.tensors), default=0.0)
            left = [r.contribution for r in op.inputs if r.contribution is not None]
            if came > 0.0 and math.isfinite(came) and left and (best is None or max(left) / came < best[0]):
                best = (max(left) / came, op)
        return None if best is None else Loss(best[1], "the gradient fades on the way and is zero at the source")


def find_not_finite(flow: Flow, source: int) -> Loss | None:
    """Where NaN or infinity begins for a source.

    When the target itself is not finite: the first op whose value is not. Otherwise the op nearest to the target to which a finite gradient comes and
    which another leaves.
    """
    start = flow.sources.get(source)
    if start is None:
        return None
    ops = descendants(flow, start)
    if not all(_finite_value(flow, t) for t in flow.targets):
        for op in ops:
            bad = [t for t in op.outputs if not _finite_value(flow, t)]
            if bad and all(_finite_value(flow, r.tensor) for r in op.inputs):
                return Loss(op, f"the value is {_kind(flow.tensors[bad[0]].value)} from here on", how=Lost.NOT_FINITE)
    for op in reversed(ops):
        came = [flow.tensors[t].gradient for t in op.outputs if t in flow.tensors]
        left = [r.contribution for r in op.inputs if r.contribution is not None and not math.isfinite(r.contribution)]
        if came and left and all(map(math.isfinite, came)):
            return Loss(op, f"the gradient turns {_kind(left[0])} here", how=Lost.NOT_FINITE)
    return None


def descendants(flow: Flow, start: TensorKey) -> list[FlowOp]:
    """The ops that are computed from a tensor, in program order."""
    reached = {start}
    found = []
    for op in flow.ops:
        if any(r.tensor in reached for r in op.inputs):
            found.append(op)
            reached.update(op.outputs)
    return found


def _finite_value(flow: Flow, tensor: TensorKey) -> bool:
    numbers = flow.tensors.get(tensor)
    return numbers is None or math.isfinite(numbers.value)


def _kind(norm: float) -> str:
    return "NaN" if math.isnan(norm) else "Inf"


def _left(norm: float) -> str:
    return "as zero" if norm == 0.0 else f"with norm {norm:.3g}"


def _tolerance(numbers: TensorNumbers) -> float:
    return max(TOLERANCE, numbers.precision)

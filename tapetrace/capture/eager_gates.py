"""Gates of eager ops: each is built once, with placeholders, in a scratch graph, and judged there as any op of a graph."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.eager_log import EagerLog, EagerOp
from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import Gate, GateTable, TensorSpec


class EagerGates:
    """`gates_of` for the ops of a log, remembered by type, attributes and input specs."""

    def __init__(self, prober: GateProber) -> None:
        self._prober = prober
        self._known: dict[Any, GateTable] = {}

    def gates_of(self, log: EagerLog, op: EagerOp) -> GateTable:
        specs = tuple(log.ops[p].outputs[j] for p, j in op.inputs)
        values = tuple(sorted((i, v.tobytes()) for i, v in (op.values or {}).items()))
        key = (op.type, str(op.attrs), specs, values)
        table = self._known.get(key)
        if table is None:
            table = self._known[key] = self._ask(op, specs)
        return table

    def _ask(self, op: EagerOp, specs: tuple[TensorSpec, ...]) -> GateTable:
        scratch = private.FuncGraph("tapetrace_eager")
        try:
            with scratch.as_default():
                inputs = [_stand_in(i, s, op) for i, s in enumerate(specs)]
                built = private.build_operation(op.type, inputs, op.attrs)
            return self._prober.gates_of(built)
        except Exception as error:  # TensorFlow raises a dozen kinds for an op that cannot be built from placeholders
            row = tuple(Gate.UNKNOWN for _ in op.outputs)
            return GateTable(tuple(row for _ in specs), f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}")


def _stand_in(index: int, spec: TensorSpec, op: EagerOp) -> Any:
    if op.values and index in op.values:
        return tf.constant(op.values[index])
    return tf.compat.v1.placeholder(tf.as_dtype(spec.dtype), None if spec.shape is None else list(spec.shape))

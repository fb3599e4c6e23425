"""How gradient comes from the target to some sources in an eager run: that of every tensor between them, and what each op hands back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.eager_log import EagerLog, EagerOp
from tapetrace.capture.norms import norms_of
from tapetrace.capture.patches import Patches
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import handle_of, is_variable
from tapetrace.model.measurements import Flow, FlowInput, FlowOp, TensorKey, TensorNumbers
from tapetrace.model.trace import Ref


class EagerFlowMeter:
    """Makes one gradient call ask for the gradients of all that lies between, in a run that is made for that. ``flow`` holds what it found."""

    def __init__(self, log: EagerLog, call: int, sources: Sequence[int]) -> None:
        self.flow: Flow | None = None
        self.ops: dict[str, int] = {}
        self._log = log
        self._call = call
        self._wanted = sources
        self._asked = False
        log.keep_tensors()

    def install(self, patches: Patches) -> None:
        """Stand in for ``GradientTape.gradient`` until ``patches`` are undone; beneath the wrapper that records gradient calls."""
        patches.wrap(private.GradientTape, "gradient", self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            if self._log.call != self._call or self._asked or not self._log.is_ours():
                return original(tape, target, sources, *args, **kwargs)
            self._asked = True  # what is asked inside, as by `py_function`, is not the user's call
            asked = tf.nest.flatten(sources)
            between = self._between([tensor_of(t) for t in tf.nest.flatten(target) if is_tensor(t)], asked)
            tensors = {ref: self._log.kept[ref] for p in between for ref in self._outputs(p)}
            found = original(tape, target, [*asked, *tensors.values()], *args, **kwargs)
            own, more = found[: len(asked)], found[len(asked) :]
            self.flow = self._measure(target, asked, own, between, dict(zip(tensors, more, strict=True)))
            return tf.nest.pack_sequence_as(sources, own)

        return gradient

    def _outputs(self, position: int) -> list[Ref]:
        return [r for j in range(len(self._log.ops[position].outputs)) if (r := (position, j)) in self._log.kept]

    def _source_ref(self, source: Any) -> Ref | None:
        return self._log.ref(handle_of(source) if is_variable(source) else tensor_of(source))

    def _between(self, targets: Sequence[Any], asked: Sequence[Any]) -> list[int]:
        """The ops of the forward pass that lead from a wanted source to a target, in order."""
        ops = self._log.ops
        leading: set[int] = set()
        stack = [ref[0] for t in targets if (ref := self._log.ref(t)) is not None]
        while stack:
            p = stack.pop()
            if p not in leading:
                leading.add(p)
                stack += [q for q, _ in ops[p].inputs]
        reached = {ref for s in self._wanted if (ref := self._source_ref(asked[s])) is not None}
        found = []
        for p in sorted(leading):
            if any(r in reached for r in ops[p].inputs):
                found.append(p)
                reached.update(self._outputs(p))
        self._reached = reached
        return found

    def _measure(self, target: Any, asked: Sequence[Any], own: Sequence[Any], between: list[int], gradients: dict[Ref, Any]) -> Flow:
        names = self._names(between)
        sources = {s: ref for s in self._wanted if (ref := self._source_ref(asked[s])) is not None}
        gradients |= {ref: own[s] for s, ref in sources.items()}
        came = {ref: rows_of(g) for ref, g in gradients.items() if g is not None}
        readers: dict[Ref, list[int]] = {}
        for p in between:
            if any(r in came for r in self._outputs(p)):
                for ref in dict.fromkeys(self._log.ops[p].inputs):
                    if ref in self._reached:
                        readers.setdefault(ref, []).append(p)
        parts = {(p, ref): g for ref, ps in readers.items() if len(ps) > 1 for p in ps if (g := self._contribution(p, ref, came)) is not None}
        rows = norms_of([*came.values(), *(self._log.kept.get(ref, tf.zeros([])) for ref in came), *parts.values()]).numpy() if came else []
        count = len(came)
        tensors = {
            self._key(ref, names): TensorNumbers(float(g[0]), float(v[0]), int(g[1]), _precision(gradient.dtype))
            for (ref, gradient), g, v in zip(came.items(), rows[:count], rows[count : 2 * count], strict=True)
        }
        norms = {edge: float(row[0]) for edge, row in zip(parts, rows[2 * count :], strict=True)}
        alone = {ref: tensors[self._key(ref, names)].gradient for ref, ps in readers.items() if len(ps) == 1 and ref in came}
        flow_ops = []
        for p in between:
            read = [ref for ref in dict.fromkeys(self._log.ops[p].inputs) if ref in self._reached and ref in came]
            inputs = tuple(FlowInput(self._key(ref, names), norms.get((p, ref), alone.get(ref))) for ref in read)
            flow_ops.append(FlowOp(names[p], self._log.ops[p].type, inputs, tuple(self._key(r, names) for r in self._outputs(p))))
        refs = [self._log.ref(tensor_of(t)) for t in tf.nest.flatten(target) if is_tensor(t)]
        ends = tuple(self._key(ref, names) for ref in refs if ref is not None)
        return Flow(tuple(flow_ops), tensors, {s: self._key(ref, names) for s, ref in sources.items()}, ends)

    def _names(self, between: Sequence[int]) -> dict[int, str]:
        """The names that these ops have in a report."""
        names = names_of(self._log.ops)
        self.ops = {names[p]: p for p in between}
        return names

    def _key(self, ref: Ref, names: dict[int, str]) -> TensorKey:
        return (names.get(ref[0], f"leaf {ref[0]}"), ref[1])

    def _contribution(self, position: int, ref: Ref, came: dict[Ref, Any]) -> Any:
        """The gradient that comes to a tensor through one op alone; None where the op cannot be asked on its own."""
        op = self._log.ops[position]
        if op.type == "ReadVariableOp":
            return came.get((position, 0))
        inputs, outputs = self._log.inputs_of(position), [self._log.kept.get((position, j)) for j in range(len(op.outputs))]
        if inputs is None or any(o is None for o in outputs):
            return None
        back = [came[position, j] if (position, j) in came else tf.zeros_like(o) for j, o in enumerate(outputs)]
        try:
            found = tf.nest.flatten(private.eager_gradient(op.type, op.attrs, inputs, outputs, back), expand_composites=False)
        except Exception:  # of functions and custom gradients, which are in no registry
            return None
        mine = [rows_of(g) for r, g in zip(op.inputs, found, strict=False) if r == ref and g is not None]
        return tf.add_n(mine) if len(mine) > 1 else mine[0] if mine else None


def names_of(ops: Sequence[EagerOp]) -> dict[int, str]:
    """The names of all ops but variables: the type, and how many of that type came before."""
    used: dict[str, int] = {}
    names = {}
    for p, op in enumerate(ops):
        if op.handle is None:
            count = used.get(op.type, 0)
            used[op.type] = count + 1
            names[p] = op.type if count == 0 else f"{op.type}_{count}"
    return names


def rows_of(gradient: Any) -> Any:
    """A gradient as one tensor; of ``IndexedSlices`` the rows that they touch, those of equal index summed."""
    if not isinstance(gradient, tf.IndexedSlices):
        return tensor_of(gradient)
    rows, place = tf.unique(tf.reshape(gradient.indices, [-1]))
    return tf.math.unsorted_segment_sum(gradient.values, place, tf.size(rows))


def _precision(dtype: Any) -> float:
    real = dtype.real_dtype
    return 2.0**-8 if real == tf.bfloat16 else float(np.finfo(real.as_numpy_dtype).eps)

"""How gradient comes from the target to some sources: the gradient of every tensor between them, and what each op hands back to its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture.norms import as_tensor, norms_of
from tapetrace.capture.private import gradient_registry, is_trainable
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.values import is_tensor, tensor_of
from tapetrace.capture.variables import handle_of, is_variable
from tapetrace.model.measurements import Flow, FlowInput, FlowOp, TensorKey, TensorNumbers

_ONCE = frozenset({"EagerPyFunc", "While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
"""Ops whose gradient is not asked for a second time: it can be had once in a run, or asking rewrites the op."""


class FlowMeter:
    """Adds a backward pass of our own to the traced graph, and says what to compute (``tensors``, ``reduce``) and what it means (``flow``).

    Contributions of single ops are measured only where a tensor has several consumers on the way; elsewhere they are its gradient. Raises what
    TensorFlow raises when the targets cannot be differentiated.
    """

    def __init__(self, record: CallRecord, sources: Sequence[int]) -> None:
        self._graph = record.graph
        self._targets = [t for t in (tensor_of(t) for t in record.targets if is_tensor(t)) if t.graph is self._graph and is_trainable(t)]
        self._sources = {i: t for i in sources if (t := self._source_tensor(record.sources[i])) is not None}
        self._ops = self._between(record)
        self._gradients: dict[TensorKey, Any] = {}
        self._handles: dict[TensorKey, Any] = {}
        self._contributions: dict[tuple[str, TensorKey], Any] = {}
        with self._graph.as_default():
            self._differentiate()
        measured = {key: t for op in self._ops for t in (*op.inputs, *op.outputs) if _is_measurable(t) and (key := _key(t)) in self._gradients}
        self._keys = list(measured)
        self._edges = list(self._contributions)
        self._dtypes = {key: t.dtype for key, t in measured.items()}
        self.tensors = [*measured.values(), *(self._gradients[k] for k in self._keys), *self._contributions.values(), *self._handles.values()]

    @staticmethod
    def reduce(values: list[Any]) -> Any:
        """Norms and sizes of the tensors."""
        return norms_of(values)

    def flow(self, found: Any) -> Flow:
        """What the reduced tensors say."""
        rows = found.numpy()
        count = len(self._keys)
        edges = 2 * count + len(self._edges)
        values, gradients, contributions, handles = rows[:count], rows[count : 2 * count], rows[2 * count : edges], rows[edges:]
        tensors = {
            key: TensorNumbers(float(g[0]), float(v[0]), int(v[1]), _precision(self._dtypes[key]))
            for key, v, g in zip(self._keys, values, gradients, strict=True)
        }
        for (key, gradient), row in zip(self._handles.items(), handles, strict=True):
            tensors[key] = TensorNumbers(float(row[0]), 0.0, int(row[1]), _precision(gradient.dtype))
        norms = {edge: float(row[0]) for edge, row in zip(self._edges, contributions, strict=True)}
        return Flow(
            tuple(self._flow_op(op, tensors, norms) for op in self._ops),
            tensors,
            {i: _key(t) for i, t in self._sources.items()},
            tuple(_key(t) for t in self._targets),
        )

    def _source_tensor(self, source: Any) -> Any:
        """A source in the graph of the call: of a variable the placeholder that its handle was captured as."""
        tensor = handle_of(source) if is_variable(source) else tensor_of(source)
        if getattr(tensor, "graph", None) is self._graph:
            return tensor
        seen = {id(tensor)}
        graphs = [self._graph]
        while hasattr(graphs[-1], "outer_graph") and graphs[-1].outer_graph is not None:
            graphs.append(graphs[-1].outer_graph)
        found = None
        for graph in reversed(graphs):
            found = next((inner for outer, inner in getattr(graph, "captures", ()) if id(outer) in seen), None)
            if found is not None:
                seen.add(id(found))
        return found if found is not None and found.graph is self._graph else None

    def _between(self, record: CallRecord) -> list[Any]:
        """The ops that lead from a source to a target, in the order in which they were made."""
        ops = self._graph.get_operations()[: record.order]
        leading = {op.name for op in _ancestors(self._targets)}
        reached = {id(t) for t in self._sources.values()}
        found = []
        for op in ops:
            if op.name in leading and any(id(t) in reached for t in op.inputs):
                found.append(op)
                reached.update(id(t) for t in op.outputs if is_trainable(t))
        self._reached = reached
        return found

    def _differentiate(self) -> None:
        asked = {_key(t): t for op in self._ops for t in op.outputs if _is_measurable(t)}
        asked |= {_key(t): t for t in self._sources.values() if _is_measurable(t)}
        handles = {_key(t): t for t in self._sources.values() if t.dtype == tf.resource}
        gradients = tf.gradients(self._targets, [*asked.values(), *handles.values()])
        found = {key: as_tensor(g) for key, g in zip((*asked, *handles), gradients, strict=True) if g is not None}
        self._gradients = {key: g for key, g in found.items() if key not in handles}
        self._handles = {key: g for key, g in found.items() if key in handles}
        consumers: dict[TensorKey, list[Any]] = {}
        tensors: dict[TensorKey, Any] = {}
        for op in self._ops:
            for t in {id(t): t for t in op.inputs if id(t) in self._reached}.values():
                consumers.setdefault(_key(t), []).append(op)
                tensors[_key(t)] = t
        self._readers = {key: len(readers) for key, readers in consumers.items()}
        for key, readers in consumers.items():
            t = tensors[key]
            if len(readers) > 1 or not _is_measurable(t):
                for op in readers:
                    contribution = self._contribution(op, t)
                    if contribution is not None:
                        self._contributions[op.name, key] = contribution

    def _contribution(self, op: Any, tensor: Any) -> Any:
        """The gradient that comes to ``tensor`` through ``op`` alone."""
        outputs = [o for o in op.outputs if _key(o) in self._gradients]
        if not outputs or op.type in _ONCE or tensor.dtype == tf.variant:
            return None
        if op.type == "ReadVariableOp":
            return self._gradients[_key(outputs[0])]
        try:
            # Straight to the gradient function: tf.gradients would walk the whole graph each time.
            came = (self._gradients[_key(o)] if _key(o) in self._gradients else _zeros(o) for o in op.outputs)
            back = tf.nest.flatten(_gradient_function(op)(op, *came))
            parts = [as_tensor(g) for t, g in zip(op.inputs, back, strict=False) if t is tensor and g is not None]
        except (LookupError, ValueError, TypeError, RuntimeError, AttributeError):
            return None
        return tf.add_n(parts) if len(parts) > 1 else parts[0] if parts else None

    def _flow_op(self, op: Any, tensors: dict[TensorKey, TensorNumbers], norms: dict[tuple[str, TensorKey], float]) -> FlowOp:
        inputs = []
        for t in {id(t): t for t in op.inputs if id(t) in self._reached}.values():
            key = _key(t)
            if _is_measurable(t) and key not in self._gradients:  # no gradient comes to it
                continue
            alone = tensors[key].gradient if self._readers.get(key) == 1 and key in tensors else None
            inputs.append(FlowInput(key, norms.get((op.name, key), alone)))
        return FlowOp(op.name, op.type, tuple(inputs), tuple(_key(t) for t in op.outputs))


def _gradient_function(op: Any) -> Any:
    try:
        name = op.get_attr("_gradient_op_type").decode()
    except ValueError:
        name = op.type
    return gradient_registry.lookup(name)


def _zeros(tensor: Any) -> Any:
    return tf.zeros_like(tensor) if _is_measurable(tensor) else None


def _key(tensor: Any) -> TensorKey:
    return (tensor.op.name, tensor.value_index)


def _is_measurable(tensor: Any) -> bool:
    """Whether the tensor has numbers and a gradient: no integers, no handles, no lists."""
    return tensor.dtype not in (tf.resource, tf.variant) and bool(is_trainable(tensor))


def _precision(dtype: Any) -> float:
    real = dtype.real_dtype
    return 2.0**-8 if real == tf.bfloat16 else float(np.finfo(real.as_numpy_dtype).eps)


def _ancestors(tensors: Sequence[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    stack = [t.op for t in tensors]
    while stack:
        op = stack.pop()
        if op.name not in found:
            found[op.name] = op
            stack.extend(t.op for t in op.inputs)
    return list(found.values())

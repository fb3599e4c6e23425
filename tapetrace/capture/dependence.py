"""On which of some tensors does another one depend *by value*?

A gradient function may look at the shape of the incoming gradient, or multiply it by a constant zero, and then its result says nothing about the
loss. One pass over a graph in program order follows what counts: a bit per tensor asked about, and whether a tensor is zero whatever is fed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import tensorflow as tf

from tapetrace.capture import private

SHAPE_ONLY = frozenset(
    "Shape ShapeN Size Rank ZerosLike OnesLike VariableShape BroadcastGradientArgs TensorListElementShape TensorListLength EmptyTensorList".split()
)
"""Ops whose outputs know the shape of their inputs and nothing of the values."""

PRODUCTS = frozenset(
    "Mul MulNoNan MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2D Conv3D DepthwiseConv2dNative Conv2DBackpropInput "
    "Conv2DBackpropFilter Conv3DBackpropInputV2 Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropInput "
    "DepthwiseConv2dNativeBackpropFilter".split()
)
"""Ops that are zero as soon as one float operand is."""

QUOTIENTS = frozenset("RealDiv Div DivNoNan Xdivy Xlogy Xlog1py".split())
"""Ops that are zero when their first operand is."""

LINEAR = frozenset(
    "Identity Neg Reshape Cast Fill BroadcastTo Tile ExpandDims Squeeze Sum Mean Transpose ConjugateTranspose Conj Real Imag Complex StopGradient "
    "Add AddV2 AddN Sub Pack ConcatV2 Select SelectV2 Slice StridedSlice StridedSliceGrad Pad Gather GatherV2 GatherNd ReverseV2 Roll Cumsum "
    "UnsortedSegmentSum ScatterNd MatrixDiagV3 MatrixDiagPartV3 MatrixBandPart ZerosLike".split()
)
"""Ops that are zero when all their float operands are."""

CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
CONDITIONALS = frozenset(["If", "StatelessIf", "Case", "StatelessCase"])
LOOPS = frozenset(["While", "StatelessWhile"])


@dataclass(frozen=True, slots=True)
class Value:
    """Bit ``k`` of ``depends`` is set when the tensor depends on the ``k``-th tensor asked about; ``zero`` when nothing makes it other than zero."""

    depends: int = 0
    zero: bool = False


NOTHING = Value()


def trace_dependence(graph: Any, known: Mapping[str, Value], linear: bool) -> dict[str, Value]:
    """The value of every tensor in ``graph``, by tensor name, given those of some placeholders.

    ``linear`` says that all that counts is linear in the tensors asked about, as a vector-Jacobian product is in the incoming gradient: nothing
    then passes through an integer. A gradient that a user wrote need not be linear: ``tf.where(dy > 0, 1.0, 0.0)`` depends on ``dy``.
    """
    values: dict[str, Value] = {}
    for op in graph.get_operations():
        inputs = [values.get(t.name, NOTHING) for t in op.inputs]
        for tensor, value in zip(op.outputs, _results(op, inputs, linear), strict=True):
            value = known.get(tensor.name, value)
            if value.zero or (linear and not carries_gradient(tensor.dtype)):
                value = Value(0, value.zero)
            values[tensor.name] = value
    return values


@cache
def carries_gradient(dtype: Any) -> bool:
    """Whether a tensor of this dtype can change by an infinitesimal amount, in TensorFlow's own opinion."""
    return bool(private.is_trainable(dtype))


def _results(op: Any, inputs: list[Value], linear: bool) -> list[Value]:
    """The value of each output of ``op``."""
    if op.type == "IdentityN":
        return inputs
    bodies = _bodies_of(op)
    if bodies:
        return _through_bodies(op, bodies, inputs, linear)
    return [Value(_depends(op, inputs), _is_zero(op, inputs))] * len(op.outputs)


def _depends(op: Any, inputs: list[Value]) -> int:
    if op.type in SHAPE_ONLY:
        return 0
    if op.type in ("Equal", "NotEqual") and op.inputs[0] is op.inputs[1]:
        return 0  # tf.recompute_grad compares a tensor with itself to order the recomputation after the incoming gradient
    return _union(inputs)


def _is_zero(op: Any, inputs: list[Value]) -> bool:
    if op.type == "Const":
        return _is_zero_constant(op.outputs[0])
    if op.type == "ZerosLike":
        return True
    if op.type not in PRODUCTS and op.type not in QUOTIENTS and op.type not in LINEAR:
        return False
    operands = [v.zero for t, v in zip(op.inputs, inputs, strict=True) if carries_gradient(t.dtype)]
    if op.type in PRODUCTS:
        return any(operands)
    if op.type in QUOTIENTS:
        return operands[:1] == [True]
    return bool(operands) and all(operands)


def _is_zero_constant(tensor: Any) -> bool:
    if not carries_gradient(tensor.dtype):
        return False
    value = tf.get_static_value(tensor)
    return value is not None and not value.any()


def _union(values: Iterable[Value]) -> int:
    together = 0
    for v in values:
        together |= v.depends
    return together


def _bodies_of(op: Any) -> list[Any]:
    """FuncGraphs that ``op`` runs; empty when there are none or one of them cannot be looked into."""
    if op.type in CALLS:
        names = [op.get_attr("f").name]
    elif op.type in CONDITIONALS:
        names = [f.name for f in op.get_attr("branches")] if "Case" in op.type else [op.get_attr("then_branch").name, op.get_attr("else_branch").name]
    elif op.type in LOOPS:
        names = [op.get_attr("body").name]
    else:
        return []
    graphs = [private.function_graph(op.graph, name) for name in names]
    return [] if None in graphs else graphs


def _through_bodies(op: Any, bodies: list[Any], inputs: list[Value], linear: bool) -> list[Value]:
    if op.type in CALLS:
        return _through_body(bodies[0], inputs, linear)
    if op.type in CONDITIONALS:
        branches = [_through_body(b, inputs[1:], linear) for b in bodies]
        return [Value(_union(results) | inputs[0].depends, all(v.zero for v in results)) for results in zip(*branches, strict=True)]
    state = inputs
    while True:
        after = _through_body(bodies[0], state, linear)
        merged = [Value(a.depends | b.depends, a.zero and b.zero) for a, b in zip(state, after, strict=True)]
        if merged == state:
            return state
        state = merged


def _through_body(body: Any, inputs: list[Value], linear: bool) -> list[Value]:
    known = {t.name: v for t, v in zip(body.inputs, inputs, strict=True)}
    values = trace_dependence(body, known, linear)
    return [values[t.name] for t in body.outputs]

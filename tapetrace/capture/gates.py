"""The gates of an op: which ways through it, from output ``j`` back to input ``i``, does gradient take?

There is no table of ops here. TensorFlow's gradient registry and gradient functions are asked, once for all ops that look alike to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.dependence import CALLS, CONDITIONALS, LOOPS
from tapetrace.capture.integer_inputs import integer_inputs
from tapetrace.capture.probe import GradientDisabled, ProbeFailed, ask, is_small_constant
from tapetrace.model.trace import Gate, GateTable

NOT_LOOKED_AT = frozenset(["_class", "_output_shapes", "shared_name", "container", "_user_specified_name", "_has_manual_control_dependencies"])
"""Attributes that name things or repeat shapes, and that no gradient function depends on."""

CUSTOM = {Gate.NONE: Gate.CUSTOM_NONE, Gate.ZERO: Gate.CUSTOM_ZERO}


class GateProber:
    """Answers `gates_of` for any op that runs no function body, and remembers each answer by the op's signature.

    An answer never touches the user's graph, tapes or random numbers. It does call the Python gradient function of a ``tf.custom_gradient`` once
    more, as every further gradient call would.
    """

    def __init__(self) -> None:
        self._known: dict[Any, GateTable] = {}

    @property
    def probes(self) -> int:
        """How many different signatures were met."""
        return len(self._known)

    def gates_of(self, op: Any) -> GateTable:
        """The gates of a ``tf.Operation``. Raises ValueError for an op that runs function bodies: look into these instead."""
        if op.type in CALLS or op.type in CONDITIONALS or op.type in LOOPS:
            raise ValueError(f"{op.name} ({op.type}) runs function bodies, which have gates of their own.")
        if not op.inputs:
            return GateTable(())  # before its attributes are read: a constant holds all its numbers in one
        attributes = op.node_def.attr
        override = attributes["_gradient_op_type"].s.decode() if "_gradient_op_type" in attributes else ""
        is_registered, function = _lookup(override or op.type)
        signature = _signature(op, attributes, _looks_at_sizes(function, override))
        table = self._known.get(signature)
        if table is None:
            table = self._known[signature] = _gates(op, override, is_registered, function)
        return table


def _lookup(name: str) -> tuple[bool, Callable[..., Any] | None]:
    """Whether the gradient registry knows ``name``, and the function it holds; registered without a function means not differentiable."""
    try:
        return True, private.gradient_registry.lookup(name)
    except LookupError:
        return False, None


def _looks_at_sizes(function: Callable[..., Any] | None, override: str) -> bool:
    """Whether the answer may depend on the very sizes of the inputs, not only on which are unknown or 1.

    TensorFlow's linear algebra refuses some (QR of a wide matrix), and what a user registered may do anything.
    """
    if function is None:
        return False
    module: str = getattr(function, "__module__", None) or ""
    return bool(override) or module.endswith("linalg_grad") or not module.startswith("tensorflow.")


def _signature(op: Any, attributes: Any, exact_sizes: bool) -> Any:
    """Equal for two ops only if their gradient functions cannot tell them apart."""
    attrs = tuple(sorted((k, v.SerializeToString(deterministic=True)) for k, v in attributes.items() if k not in NOT_LOOKED_AT))
    inputs = []
    for t in op.inputs:
        dtype, shape = t.dtype, t.shape
        sizes: Any = shape.rank
        if sizes:
            sizes = tuple(shape.as_list()) if exact_sizes else tuple(n if n is None or n <= 1 else 2 for n in shape.as_list())
        constant = t.op.node_def.attr["value"].SerializeToString() if t.op.type == "Const" and is_small_constant(t) else _held(t)
        inputs.append((dtype, sizes, constant))
    return op.type, attrs, tuple(inputs), tuple((t.dtype, _held(t)) for t in op.outputs)


def _held(tensor: Any) -> Any:
    """What is known of the inside of a resource or variant: dtype and rank of each part."""
    if tensor.dtype.name not in ("resource", "variant"):
        return None
    data = private.handle_data_of(tensor)
    if data is None or not data.is_set:
        return ()
    return tuple((part.dtype, -1 if part.shape.unknown_rank else len(part.shape.dim)) for part in data.shape_and_type)


def _gates(op: Any, override: str, is_registered: bool, function: Callable[..., Any] | None) -> GateTable:
    inputs = [bool(private.is_trainable(t)) for t in op.inputs]
    outputs = [bool(private.is_trainable(t)) for t in op.outputs]

    def table(gate_of: Callable[[int, int], Gate], note: str = "") -> GateTable:
        def gate(i: int, j: int) -> Gate:
            if not inputs[i]:
                return Gate.NON_FLOAT_INPUT
            return gate_of(i, j) if outputs[j] else Gate.NON_FLOAT_OUTPUT

        rows = tuple(tuple(gate(i, j) for j in range(len(outputs))) for i in range(len(inputs)))
        return GateTable(rows, note, integer_inputs(op) if not all(inputs) else ())

    def always(gate: Gate, note: str = "") -> GateTable:
        return table(lambda i, j: gate, note)

    if not any(inputs) or not any(outputs):
        return always(Gate.NONE)
    if op.type == "EagerPyFunc":
        return always(Gate.PYTHON)
    if not is_registered:
        return always(Gate.UNREGISTERED)
    if function is None:
        return always(Gate.NOT_DIFFERENTIABLE)
    try:
        answers = ask(op, function, linear=not override)
    except GradientDisabled:
        return always(Gate.NONE)
    except ProbeFailed as failure:
        return always(Gate.UNKNOWN, str(failure))
    custom = override.startswith("CustomGradient")

    def answered(i: int, j: int) -> Gate:
        bits = answers[i]
        gate = Gate.NONE if bits is None else Gate.OPEN if bits >> j & 1 else Gate.ZERO
        return CUSTOM.get(gate, gate) if custom else gate

    return table(answered)

"""From the log of an eager run to a body of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.backward_probe import ask_backward
from tapetrace.capture.eager_gates import EagerGates
from tapetrace.capture.eager_log import CUSTOM_GRADIENT, EagerLog, EagerOp
from tapetrace.capture.extraction import Extraction
from tapetrace.capture.living import living
from tapetrace.capture.python_code import referred_handles
from tapetrace.capture.variables import VariableNames, describe_variable
from tapetrace.model.trace import Body, CallKind, FunctionCall, Gate, GateTable, Hidden, Op
from tapetrace.model.words import Cause

EAGER = "eager"
"""Key of the body of an eager run."""

_FUNCTION_NAMES = ("__inference_", "__forward_", "__backward_")
_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})

HiddenOf = Callable[[int], Hidden | None]
"""For the position of an op: what it was computed from where no op shows it."""


class EagerExtraction:
    """Makes the body of an eager run; the functions that it calls become bodies of ``extraction``."""

    def __init__(self, log: EagerLog, extraction: Extraction, names: VariableNames) -> None:
        self._log = log
        self._extraction = extraction
        self._names = names
        self._gates = EagerGates(extraction.prober)
        self._functions: dict[str, Any] | None = None

    def body(self, hidden_of: HiddenOf) -> Body:
        """All ops of the run, in order. ``hidden_of`` adds what they hide."""
        used: dict[str, int] = {}
        ops = [self._op(position, op, used, hidden_of) for position, op in enumerate(self._log.ops)]
        return Body(EAGER, tuple(ops))

    def _op(self, position: int, op: EagerOp, used: dict[str, int], hidden_of: HiddenOf) -> Op:
        name, kind = self._name(position, op, used)
        call = self._call(op)
        gates = None
        if op.type == CUSTOM_GRADIENT:
            _ask_at_last(op)
            gates = _observed(op)
        elif call is None and op.inputs:
            gates = self._gates.gates_of(self._log, op)
        hidden = self._python_reads(op) or hidden_of(position)
        return Op(name, kind, op.inputs, op.outputs, gates, call, position, op.made_by_call, None, hidden)

    def _name(self, position: int, op: EagerOp, used: dict[str, int]) -> tuple[str, str]:
        name, kind = op.type, op.type
        if op.type == "Captured" and op.leaf is not None and op.leaf() is None:
            name = kind = "Const"  # it lived no longer than the op that read it, which made it of a Python number
        if op.handle is not None:
            variable = self._names.of_handle(op.handle)
            name, kind = ("resource", "Resource") if variable is None else (describe_variable(variable).path, "Variable")
        used[name] = used.get(name, 0) + 1
        return (name if used[name] == 1 else f"{name}_{used[name] - 1}"), kind

    def _call(self, op: EagerOp) -> FunctionCall | None:
        if not op.type.startswith(_FUNCTION_NAMES):
            return None
        graph = self._function_graphs().get(op.type)
        if graph is None:
            return None
        return FunctionCall(CallKind.FUNCTION, (self._extraction.add_function_graph(op.type, graph),))

    def _function_graphs(self) -> dict[str, Any]:
        """The graphs of all functions that are alive, by name; TensorFlow keeps no list of them."""
        if self._functions is None:
            self._functions = _function_graphs()
        return self._functions

    def _python_reads(self, op: EagerOp) -> Hidden | None:
        if op.type not in _PYTHON_OPS:
            return None
        token = dict(zip(op.attrs[::2], op.attrs[1::2], strict=True)).get("token", "")
        function = private.python_function(token.encode() if isinstance(token, str) else token)
        places = self._places(referred_handles(function)) if function is not None else []
        return Hidden(tuple((p, 0) for p in places), Cause.PYTHON_FUNCTION) if places else None

    def _places(self, handles: Iterable[int]) -> list[int]:
        wanted = set(handles)
        return [p for p, op in enumerate(self._log.ops) if op.handle is not None and id(op.handle) in wanted]


def _function_graphs() -> dict[str, Any]:
    return {_text(f.name): f.graph for f in living(private.AtomicFunction) if getattr(f, "graph", None) is not None}


def executed_graphs(log: EagerLog) -> set[int]:
    """Identities of the graphs of the functions that a run executed."""
    graphs = _function_graphs()
    return {id(graphs[op.type]) for op in log.ops if op.type in graphs}


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _ask_at_last(op: EagerOp) -> None:
    """Ask a custom gradient to which no gradient came, since another break lies behind it, what it would have answered."""
    if op.answer is None and op.backward is not None:
        answer = ask_backward(op.backward, [tf.TensorSpec(o.shape, o.dtype) for o in op.outputs])
        op.answer, op.backward = None if answer is None else tuple(answer), None


def _observed(op: EagerOp) -> GateTable:
    """What a custom gradient answered; if it could not be asked, nothing is known against it. Its own results come first, and are closed."""
    own = len(op.outputs)
    carries = [private.is_trainable(tf.as_dtype(o.dtype)) for o in op.outputs]

    def row(i: int) -> tuple[Gate, ...]:
        if i < own:
            return (Gate.CUSTOM_NONE,) * own
        answer = op.answer[i - own] if op.answer is not None and i - own < len(op.answer) else -1
        if answer is None:
            return (Gate.CUSTOM_NONE,) * own
        return tuple(Gate.NON_FLOAT_OUTPUT if not carries[j] else Gate.OPEN if answer >> j & 1 else Gate.CUSTOM_ZERO for j in range(own))

    return GateTable(tuple(row(i) for i in range(len(op.inputs))))

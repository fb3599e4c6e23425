"""Graphs as they stood when a gradient call was made.

Building a backward pass rewrites the ops of loops and conditionals in place: they get outputs and inputs more, and other bodies. So what a call
differentiates must be noted before it is made. A draft notes only which tensors each op reads; all else is read later, for the ops that matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.garbage import without_collections
from tapetrace.model.trace import CallKind, FunctionCall, Ref

_CALLS = {
    "PartitionedCall": (CallKind.FUNCTION, ("f",), ()),
    "StatefulPartitionedCall": (CallKind.FUNCTION, ("f",), ()),
    "If": (CallKind.BRANCH, ("then_branch", "else_branch"), ("true", "false")),
    "StatelessIf": (CallKind.BRANCH, ("then_branch", "else_branch"), ("true", "false")),
    "While": (CallKind.LOOP, ("body", "cond"), ()),
    "StatelessWhile": (CallKind.LOOP, ("body", "cond"), ()),
}
_CASES = frozenset({"Case", "StatelessCase"})
BODY_OPS = frozenset(_CALLS) | _CASES
"""Op types that run function bodies."""


def called_functions(op: Any) -> list[str]:
    """Names of the functions that an op runs."""
    if op.type in _CASES:
        return [f.name for f in op.get_attr("branches")]
    return [op.get_attr(a).name for a in _CALLS[op.type][1]] if op.type in _CALLS else []


@dataclass(frozen=True, slots=True)
class DraftOp:
    """One op: the TensorFlow operation, the tensors it read, how many outputs it had, and the bodies it called."""

    op: Any
    inputs: tuple[tuple[str, int], ...]
    """(op name, output index)"""
    output_count: int
    call: FunctionCall | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """One graph at one moment. ``position`` maps op names to places in ``ops``; ``backward`` says which gradient call made an op."""

    key: str
    graph_key: str
    graph: Any
    ops: tuple[DraftOp, ...]
    position: dict[str, int]
    backward: dict[int, int]
    parameters: tuple[Ref, ...] = ()
    results: tuple[Ref, ...] = ()
    captures: tuple[tuple[Any, Any], ...] = ()
    """(tensor outside, tensor of this graph that stands for it)"""
    outer: str = ""
    """Key of the draft of the enclosing graph, if that is being traced too."""


@dataclass(slots=True)
class _Watched:
    key: str
    ops: list[DraftOp] = field(default_factory=list)
    position: dict[str, int] = field(default_factory=dict)
    backward: dict[int, int] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)
    rewritten: bool = False


class Snapshots:
    """The drafts of all graphs seen in one capture, by key. Graphs are kept alive, so that their identity stays theirs."""

    def __init__(self) -> None:
        self.drafts: dict[str, Draft] = {}
        self._graphs: dict[int, tuple[Any, _Watched]] = {}
        self._bodies: dict[str, str] = {}

    def graph_key(self, graph: Any) -> str:
        """A unique name of a graph, the same at any moment."""
        return self._watched(graph).key

    def _watched(self, graph: Any) -> _Watched:
        known = self._graphs.get(id(graph))
        if known is None:
            known = (graph, _Watched(f"{graph.name}#{len(self._graphs)}"))
            self._graphs[id(graph)] = known
        return known[1]

    def take(self, graph: Any) -> Draft:
        """The graph as it stands now, with the graphs around it and the bodies that it calls."""
        outer = ""
        if isinstance(graph.outer_graph, private.FuncGraph):
            outer = self.take(graph.outer_graph).key
        with without_collections():
            return self._draft(graph, outer)

    def mark_backward(self, graph: Any, call: int) -> None:
        """Say that every op added since the last snapshot is part of the backward pass of a gradient call, which may have rewritten others."""
        watched = self._watched(graph)
        for position in range(len(watched.ops), private.operation_count(graph)):
            watched.backward[position] = call
        watched.rewritten = True

    def _draft(self, graph: Any, outer: str) -> Draft:
        watched = self._watched(graph)
        if watched.rewritten:
            for position in watched.calls:
                watched.ops[position] = self._draft_op(graph, watched.ops[position].op)
            watched.rewritten = False
        for op in graph.get_operations()[len(watched.ops) :]:
            drafted = self._draft_op(graph, op)
            if drafted.call is not None:
                watched.calls.append(len(watched.ops))
            watched.position[op.name] = len(watched.ops)
            watched.ops.append(drafted)
        positions = dict(watched.position)
        key = f"{watched.key}@{len(self.drafts)}"
        draft = Draft(
            key, watched.key, graph, tuple(watched.ops), positions, dict(watched.backward),
            _refs(positions, graph.inputs), _refs(positions, graph.outputs), tuple(graph.captures), outer,
        )  # fmt: skip
        self.drafts[key] = draft
        return draft

    def _draft_op(self, graph: Any, op: Any) -> DraftOp:
        inputs = tuple((t.op.name, t.value_index) for t in op.inputs)
        return DraftOp(op, inputs, len(op.outputs), self._call(graph, op))

    def _call(self, graph: Any, op: Any) -> FunctionCall | None:
        if op.type in _CALLS:
            kind, attributes, branches = _CALLS[op.type]
            names = [op.get_attr(a).name for a in attributes]
        elif op.type in _CASES:
            kind, names = CallKind.BRANCH, [f.name for f in op.get_attr("branches")]
            branches = tuple(str(i) for i in range(len(names)))
        else:
            return None
        bodies = [self._body(graph, name) for name in names]
        return None if "" in bodies else FunctionCall(kind, tuple(bodies), tuple(branches))

    def _body(self, graph: Any, name: str) -> str:
        """Key of the draft of a function's body; empty when only its definition is known."""
        if name not in self._bodies:
            body = private.function_graph(graph, name)
            # A body that was rewritten has another name, and its own draft.
            self._bodies[name] = "" if body is None else self._fresh(body)
        return self._bodies[name]

    def add_body(self, name: str, graph: Any) -> str:
        """Key of the draft of the function called ``name``, whose graph is known."""
        if not self._bodies.get(name):
            self._bodies[name] = self._fresh(graph)
        return self._bodies[name]

    def _fresh(self, graph: Any) -> str:
        watched = self._watched(graph)
        watched.rewritten = True
        return self._draft(graph, "").key


def _refs(position: dict[str, int], tensors: Any) -> tuple[Ref, ...]:
    return tuple((position[t.op.name], t.value_index) for t in tensors if t.op.name in position)

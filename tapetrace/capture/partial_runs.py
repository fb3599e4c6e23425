"""Running part of a traced graph: only the ops that some of its tensors depend on, in a function of our own. The traced graph stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.fresh_functions import counted_apart
from tapetrace.capture.restoring import variable_dtype

Feeds = Sequence[tuple[Any, Any]]
"""(placeholder of the graph, its value)"""

_LOOKS = ("LookupTableFind", "LookupTableSize")
_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


class CannotRun(Exception):
    """A part of the step cannot be run; the message is a clause that says why."""


class Part:
    """The ops of ``graph`` that ``tensors`` depend on, control dependencies included.

    ``run`` computes ``reduce`` of the tensors; what is large can be made small there, before it leaves the graph.
    """

    def __init__(self, graph: Any, tensors: Sequence[Any], reduce: Callable[[list[Any]], Any] = lambda values: values) -> None:
        self._needed, self._read = _ancestors(tensors)
        self._names = [t.name for t in tensors]
        self._reduce = reduce
        self._definition: Any = None
        self._graph = graph
        self._function: Any = None
        self._fed: list[Any] = []

    def used(self, feeds: Feeds) -> list[tuple[Any, Any]]:
        """Those of the feeds that the part reads."""
        return [(t, v) for t, v in feeds if t.op.name in self._needed]

    def _refuse_to_consume(self, used: Feeds) -> None:
        """Raise `CannotRun` when an iterator, a queue or a table would be changed for good."""
        for placeholder, value in used:
            if placeholder.dtype != tf.resource or variable_dtype(value) is not None:
                continue
            if any(op.name in self._needed and not op.type.startswith(_LOOKS) for op in placeholder.consumers()):
                raise CannotRun(
                    f"the step was not run, since it takes from {placeholder.op.name} what could not be put back: "
                    "give it a batch in place of an iterator"
                )

    def calls_python(self) -> bool:
        """Whether Python code may run: a ``py_function`` here or in any function that the graph knows."""
        definition = self._define()
        nodes = (node for body in (definition.node, *(f.node_def for f in definition.library.function)) for node in body)
        return any(node.op in _PYTHON for node in nodes)

    def run(self, feeds: Feeds) -> Any:
        """The reduced tensors. Raises what TensorFlow raises, and `CannotRun` when that would do harm."""
        used = self.used(feeds)
        self._refuse_to_consume(used)
        if self._function is None and _meets_replicas(self._define()):
            raise CannotRun("the step was not run, since a part of it would wait for replicas that are not run with it")
        if self._function is None:
            self._fed = [t.name for t, _ in used]
            self._function = counted_apart(tf.function(self._imported, autograph=False))
        return self._function(*(v for _, v in used))

    def _imported(self, *values: Any) -> Any:
        fed = dict(zip(self._fed, values, strict=True))
        computed = [name for name in self._names if name not in fed]
        read = {name: value for name, value in fed.items() if name in self._read}
        found = tf.graph_util.import_graph_def(self._define(), input_map=read, return_elements=computed, name=PREFIX)
        known = fed | dict(zip(computed, found, strict=True))
        return self._reduce([known[name] for name in self._names])

    def _define(self) -> Any:
        if self._definition is None:
            whole = self._graph.as_graph_def()
            part = tf.compat.v1.GraphDef()
            part.node.extend(n for n in whole.node if n.name in self._needed and n.op != "Placeholder")
            for node in part.node:
                node.attr.pop("_class", None)  # what it is to be placed beside may not be part of the part
            part.library.CopyFrom(whole.library)
            part.versions.CopyFrom(whole.versions)
            self._definition = part
        return self._definition


PREFIX = "tapetrace_part"
"""Stands before the names of the ops of a part, when TensorFlow names one in a message."""


def _meets_replicas(definition: Any) -> bool:
    """Whether a graph, or a function that it calls, holds an op that ends only when other replicas run theirs."""
    library = {f.signature.name: f.node_def for f in definition.library.function}
    seen: set[str] = set()
    stack = [definition.node]
    while stack:
        for node in stack.pop():
            if node.op.startswith(("Collective", "Nccl")):
                return True
            named = [node.op, *(f.name for a in node.attr.values() for f in (a.func, *a.list.func))]
            found = [name for name in named if name in library and name not in seen]
            seen.update(found)
            stack.extend(library[name] for name in found)
    return False


def _ancestors(tensors: Sequence[Any]) -> tuple[set[str], set[str]]:
    """Names of the ops that the tensors depend on, and of the tensors that those read."""
    found: set[str] = set()
    read: set[str] = set()
    stack = [t.op for t in tensors]
    while stack:
        op = stack.pop()
        if op.name not in found:
            found.add(op.name)
            read.update(t.name for t in op.inputs)
            stack.extend(t.op for t in op.inputs)
            stack.extend(op.control_inputs)
    return found, read


class Values:
    """The values of the placeholders of the graphs of one trace, the outermost fed with ``arguments`` and what it captured."""

    def __init__(self, root: Any, arguments: Sequence[Any]) -> None:
        self._root = root
        self._arguments = list(arguments)
        self._known: dict[int, list[tuple[Any, Any]]] = {}

    def feeds(self, graph: Any) -> Feeds | None:
        """The placeholders of ``graph`` with their values: of a function's body, those of its first call; of a loop's, those of its first round.

        None when it cannot be told how the body is called, or when it is a branch that is not taken. Raises what TensorFlow raises.
        """
        if id(graph) not in self._known:
            found = self._of_root() if graph is self._root else self._of_body(graph)
            if found is None:
                return None
            self._known[id(graph)] = found
        return self._known[id(graph)] + _late_captures(graph, self._known[id(graph)])

    def _of_root(self) -> list[tuple[Any, Any]]:
        captured = {id(internal): external for external, internal in self._root.captures}
        for internal, value_now in zip(self._root.deferred_internal_captures, self._root.deferred_external_captures, strict=True):
            captured.update(zip(map(id, tf.nest.flatten(internal)), tf.nest.flatten(value_now()), strict=True))
        plain = [t for t in self._root.inputs if id(t) not in captured]
        return [*zip(plain, self._arguments, strict=True), *((t, captured[id(t)]) for t in self._root.inputs if id(t) in captured)]

    def _of_body(self, graph: Any) -> list[tuple[Any, Any]] | None:
        outer = graph.outer_graph
        found = _caller(outer, graph) if isinstance(outer, private.FuncGraph) else None
        feeds = None if found is None else self.feeds(outer)
        if found is None or feeds is None:
            return None
        op, branch = found
        inputs = list(op.inputs)
        if branch is None:
            return list(zip(graph.inputs, Part(outer, inputs).run(feeds), strict=False))
        condition, *values = Part(outer, inputs).run(feeds)
        taken = int(not bool(condition)) if condition.dtype == tf.bool else int(condition)
        return list(zip(graph.inputs, values, strict=False)) if taken == branch else None


def _late_captures(graph: Any, known: Feeds) -> list[tuple[Any, Any]]:
    """Eager tensors that a backward pass of ours captured after the graph was traced."""
    names = {t.name for t, _ in known}
    return [(inner, outer) for outer, inner in graph.captures if inner.name not in names and isinstance(outer, private.EagerTensor)]


def _caller(outer: Any, body: Any) -> tuple[Any, int | None] | None:
    """The op of ``outer`` that runs ``body``, with the number of the branch that it is."""
    attributes: Mapping[str, tuple[str, ...]] = {
        "PartitionedCall": ("f",), "StatefulPartitionedCall": ("f",), "While": ("body",), "StatelessWhile": ("body",),
        "If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch"),
    }  # fmt: skip
    for op in outer.get_operations():
        if op.type in attributes:
            names = [op.get_attr(a).name for a in attributes[op.type]]
        elif op.type in ("Case", "StatelessCase"):
            names = [f.name for f in op.get_attr("branches")]
        else:
            continue
        for i, name in enumerate(names):
            if private.function_graph(outer, name) is body:
                return op, (i if op.type.endswith(("If", "Case")) else None)
    return None

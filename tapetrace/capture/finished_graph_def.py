"""A GraphDef from a file, binary or text: the graph of a TensorFlow 1 program, or one that ``tf.io.write_graph`` wrote."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.finished import Finished, Output
from tapetrace.capture.finished_choice import Asked
from tapetrace.capture.finished_copy import GraphCopy, quiet_import, tell_handles
from tapetrace.capture.finished_files import StoredGraph
from tapetrace.capture.finished_variables import VARIABLE_OPS, variables_in
from tapetrace.errors import TargetError

_READERS = frozenset({"ReadVariableOp", "VarIsInitializedOp", "Identity", "IsVariableInitialized"})
"""Ops that TensorFlow makes beside each variable, whether it is used or not."""
_WRITERS = ("AssignVariableOp", "AssignAdd", "AssignSub", "ResourceApply", "ResourceSparseApply", "ResourceScatter", "Save")
_BACKWARD = re.compile(r"gradients(_\d+)?/")
"""The scope that ``tf.gradients`` and optimizers put their ops into."""
_MERGES = frozenset({"Merge", "RefMerge"})
_WHICH = "A GraphDef does not say which variables are trainable: all float ones that its results depend on were taken; --variables names some."
_MERGED = "The graph holds conditionals of TensorFlow 1 (Merge): what only one of their branches connects is called connected."
_LOOPS = frozenset({"NextIteration", "RefNextIteration"})


def load_graph_def(stored: StoredGraph, asked: Asked) -> Finished:
    """The graph in a file. Its outputs are the float tensors that nothing reads, neither an op nor the update of a variable.

    The file does not say which variables are trainable: those count from which the loss or such an output is computed, unless ``asked`` names some.
    Raises `TargetError` for a file that is no GraphDef, or one that cannot be analysed.
    """
    definition, written = _without_writes(_parsed(stored))
    loops = next((n.name for n in definition.node if n.op in _LOOPS), None)
    if loops is not None:
        raise TargetError(
            f"{stored.text} holds a loop of TensorFlow 1 ({loops}), which is not analysed: "
            f"build it with tf.compat.v1.enable_control_flow_v2() and write it again"
        )
    graph, _ = _imported(stored, definition)
    operations = graph.get_operations()
    variables = variables_in(graph)
    ends = [op for op in operations if op.outputs and not any(t.consumers() for t in op.outputs) and op.name not in written and not _is_aside(op)]
    losses = [op for op in operations if asked.loss is not None and op.name == _producer(str(asked.loss))]
    used = _ancestors([*ends, *losses])
    notes: tuple[str, ...] = ()
    if not asked.variables:
        notes = (_WHICH,)
    if any(op.type in _MERGES for op in operations):
        notes = (*notes, _MERGED)
    return Finished(
        graph,
        tuple(Output(op.name, op.outputs[0]) for op in ends if private.is_trainable(op.outputs[0])),
        tuple(Output(op.name, op.outputs[0]) for op in operations if op.type == "Placeholder"),
        variables if asked.variables else tuple(v for v in variables if v.name in used),
        lambda: _copy(stored, definition),
        notes=notes,
        has_outputs=False,
    )


def _is_aside(op: Any) -> bool:
    """Whether an op is a variable, what TensorFlow makes beside each, or part of a backward pass."""
    if _BACKWARD.match(op.name):
        return True
    return op.type in VARIABLE_OPS or (op.type in _READERS and any(t.op.type in VARIABLE_OPS for t in op.inputs))


def _ancestors(operations: Sequence[Any]) -> set[str]:
    """Names of these ops and of all that they are computed from."""
    found: set[str] = set()
    waiting = list(operations)
    while waiting:
        op = waiting.pop()
        if op.name not in found:
            found.add(op.name)
            waiting += [t.op for t in op.inputs]
    return found


def _copy(stored: StoredGraph, definition: Any) -> GraphCopy:
    graph, keep = _imported(stored, definition)
    return GraphCopy(graph, lambda t: graph.get_operation_by_name(t.op.name).outputs[t.value_index], keep)


def _parsed(stored: StoredGraph) -> Any:
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    try:
        data = stored.path.read_bytes()
    except OSError as error:
        raise TargetError(f"{stored.text} cannot be read ({error.strerror}), give a file that tf.io.write_graph wrote") from error
    definition = tf.compat.v1.GraphDef()
    try:
        if stored.path.suffix == ".pbtxt":
            text_format.Parse(data.decode(), definition)
        else:
            definition.ParseFromString(data)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        kind = "as text" if stored.path.suffix == ".pbtxt" else "in binary form"
        raise TargetError(f"{stored.text} is no GraphDef {kind}, or it is cut short: write it again with tf.io.write_graph") from error
    if not definition.node:
        raise TargetError(f"{stored.text} holds no op: write the graph again with tf.io.write_graph")
    return definition


def _imported(stored: StoredGraph, definition: Any) -> tuple[Any, Any]:
    """A graph of our own with these ops, and the functions that they call."""
    graph = private.FuncGraph("graph_def")
    try:
        with quiet_import(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library = tf.compat.v1.GraphDef()
            library.CopyFrom(definition)
            functions = private.load_functions(library.library)
            library.ClearField("library")
            _rename_functions(library, {name: f.name.decode() for name, f in functions.items()})
            with graph.as_default():
                for function in functions.values():
                    function.add_to_graph(graph)
                tf.graph_util.import_graph_def(library, name="")
            private.restore_gradients(graph, {f.name: f for f in functions.values()}, {})
    except Exception as error:  # an op that this TensorFlow does not know, a name that leads nowhere
        told = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise TargetError(
            f"{stored.text} cannot be imported as a graph ({type(error).__name__}: {told[:200]}), write it with this TensorFlow"
        ) from error
    tell_handles(graph)
    return graph, functions


def _rename_functions(definition: Any, names: dict[str, str]) -> None:
    for node in definition.node:
        if node.op in names:
            node.op = names[node.op]
        for value in node.attr.values():
            for function in (*([value.func] if value.HasField("func") else []), *value.list.func):
                function.name = names.get(function.name, function.name)


def _without_writes(definition: Any) -> tuple[Any, set[str]]:
    """The graph without the ops that write into variables or save them, and the names of what they wrote.

    Initializers and updates stand in the file beside the loss, in no order with it. A write that some other op reads the result of stays.
    """
    writers = {n.name for n in definition.node if _writes(n)}
    feeding = {_producer(i) for n in definition.node if n.name not in writers for i in n.input if not i.startswith("^")}
    gone = writers - feeding
    rest = tf.compat.v1.GraphDef(library=definition.library, versions=definition.versions)
    for node in definition.node:
        if node.name in gone:
            continue
        kept = rest.node.add()
        kept.CopyFrom(node)
        del kept.input[:]
        kept.input.extend(i for i in node.input if _producer(i) not in gone)
    return rest, {_producer(i) for n in definition.node if n.name in gone for i in n.input}


def _producer(name: str) -> str:
    return name.removeprefix("^").partition(":")[0]


def _writes(node: Any) -> bool:
    if node.op.startswith(_WRITERS):
        return True
    known = private.op_definitions.get(node.op)
    return known is not None and not node.op.startswith("Ref") and any(a.is_ref for a in known.input_arg)

"""Copies of finished graphs, made for TensorFlow to differentiate: building a backward pass adds to a graph and rewrites its loops.

A copy is deep: each function that the graph calls is copied too, under another name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.snapshot import called_functions


@dataclass(frozen=True, slots=True)
class GraphCopy:
    """``tensor(t)`` is what stands for the tensor ``t`` of the original in ``graph``; ``keep`` holds the functions that it calls."""

    graph: Any
    tensor: Callable[[Any], Any]
    keep: Any


def copy_function(function: Any) -> GraphCopy:
    """A copy of the graph of a ``ConcreteFunction``. Raises whatever TensorFlow raises for a function that it cannot write down."""
    definition = function.function_def
    library = function.graph.as_graph_def().library
    if definition.signature.name not in {f.signature.name for f in library.function}:
        library.function.append(definition)
    with quiet_import():
        functions = private.load_functions(library)
    copied = functions[definition.signature.name].graph
    same = dict(zip(map(id, function.graph.inputs), copied.inputs, strict=True))
    for original, copy in zip(function.graph.inputs, copied.inputs, strict=True):
        private.copy_handle_data(original, copy)
    tell_handles(copied)
    same |= dict(zip(map(id, function.graph.outputs), copied.outputs, strict=False))

    def tensor(original: Any) -> Any:
        if id(original) in same:
            return same[id(original)]
        return copied.get_operation_by_name(original.op.name).outputs[original.value_index]

    return GraphCopy(copied, tensor, functions)


def tell_handles(graph: Any) -> None:
    """Let the functions that ``graph`` calls know what their variables hold: a function that was written down and read again has forgotten it."""
    seen: set[int] = set()
    waiting = [graph]
    while waiting:
        graph = waiting.pop()
        for op in graph.get_operations():
            for name in called_functions(op):
                body = private.function_graph(graph, name)
                if body is None:
                    continue
                for outside, inside in zip(op.inputs[len(op.inputs) - len(body.inputs) :], body.inputs, strict=False):
                    known = private.handle_data_of(inside)
                    if outside.dtype in (tf.resource, tf.variant) and not (known is not None and known.is_set):
                        private.copy_handle_data(outside, inside)
                if id(body) not in seen:
                    seen.add(id(body))
                    waiting.append(body)


@contextmanager
def quiet_import() -> Iterator[None]:
    """TensorFlow warns of custom gradients that a copy does not hold; in this process they are registered all the same."""
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)

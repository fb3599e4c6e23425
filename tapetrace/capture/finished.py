"""A graph that was finished before tapetrace saw it: no tape, no Python code to run, only ops, variables and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.finished_copy import GraphCopy, copy_function
from tapetrace.capture.finished_variables import variables_in
from tapetrace.capture.locations import StackOf
from tapetrace.capture.variables import handle_of
from tapetrace.errors import TargetError


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor that the graph gives out, under the name that its author gave it."""

    name: str
    tensor: Any


@dataclass(frozen=True, slots=True)
class Finished:
    """``inputs`` are its arguments, captured ones left out. ``variables`` are all that it reads and all that belong to it, trainable or not.

    ``copy`` makes a graph like it, for TensorFlow to differentiate: nothing is ever added to ``graph`` itself. ``keep`` holds what the graph
    would go with. ``notes`` are for the report. ``has_outputs`` False: ``outputs`` are a guess, since such a graph does not say.
    """

    graph: Any
    outputs: tuple[Output, ...]
    inputs: tuple[Output, ...]
    variables: tuple[Any, ...]
    copy: Callable[[], GraphCopy]
    keep: Any = None
    notes: tuple[str, ...] = ()
    has_outputs: bool = True
    stack_of: StackOf | None = None


def is_finished(value: Any) -> bool:
    """Whether ``value`` is one trace of a ``tf.function``, or a signature of a SavedModel."""
    return isinstance(value, private.ConcreteFunction)


def finished_function(function: Any, name: str, more: Sequence[Any] = (), notes: tuple[str, ...] = (), stack_of: StackOf | None = None) -> Finished:
    """The graph of a ``ConcreteFunction``. ``more`` are variables that belong to it, read or not.

    Raises `TargetError` when its variables are gone.
    """
    graph = function.graph
    try:
        read = _in_order(graph)
    except AssertionError as error:
        raise TargetError(f"variables of {name} are gone: keep the module or model that owns them as long as its functions") from error
    # A Keras variable knows its path, the tf.Variable inside it may not.
    owned = {id(handle_of(v)): v for v in more}
    variables = (*(owned.pop(id(handle_of(v)), v) for v in read), *variables_in(graph), *owned.values())
    captured = {id(internal) for _, internal in graph.captures}
    inputs = tuple(Output(t.op.name, t) for t in graph.inputs if id(t) not in captured)
    return Finished(graph, outputs_of(function), inputs, variables, lambda: copy_function(function), (function, *more), notes, stack_of=stack_of)


def _in_order(graph: Any) -> list[Any]:
    """The variables of a graph in the order in which it captured them; the graph itself keeps them in a set."""
    order = {id(external): i for i, (external, _) in enumerate(graph.captures)}
    return sorted(graph.variables, key=lambda v: (order.get(id(handle_of(v)), len(order)), str(v.name)))


def outputs_of(function: Any) -> tuple[Output, ...]:
    """The outputs of a ``ConcreteFunction`` in order, named as its result is built: ``loss``, ``0``, ``aux/1``; ``output`` for a lone tensor."""
    structure = function.structured_outputs
    named = _leaves(structure)
    # A backward pass that was built for the function appends to the outputs of its graph.
    count = len([t for t in tf.nest.flatten(structure, expand_composites=True) if t is not None])
    tensors = list(function.graph.outputs)[: count or None]
    names = named if len(named) == len(tensors) else [t.name for t in tensors]
    return tuple(Output(n or "output", t) for n, t in zip(names, tensors, strict=True))


def _leaves(structure: Any, prefix: str = "") -> list[str]:
    """A name for each leaf, in the order of ``tf.nest.flatten``."""
    if structure is None:
        return []
    if isinstance(structure, dict):
        items = [(str(k), structure[k]) for k in sorted(structure)]
    elif isinstance(structure, tuple) and hasattr(structure, "_fields"):
        items = list(zip(structure._fields, structure, strict=True))
    elif isinstance(structure, (list, tuple)):
        items = [(str(i), v) for i, v in enumerate(structure)]
    else:
        return [prefix]
    return [leaf for key, value in items for leaf in _leaves(value, f"{prefix}/{key}" if prefix else key)]

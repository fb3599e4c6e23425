"""The graph handed to users and to the renderers: the ops that matter, with what was found about each.

Node attributes of the ``networkx.DiGraph`` (the node itself is the op's hierarchical name):

==============  ============================================================================================================
``type``        op type, or ``Variable``, ``Argument``, ``Captured``
``role``        ``source``, ``target`` or ``op``
``status``      ``live`` (real gradient flows), ``dead`` (data flows, gradient does not), ``break``, ``conditional``, ``opaque``
``cause``       cause of the break, or None
``number``      number of its root cause in the text report, 0 if none
``scope``       name scope of the op (the Keras layers around it), ``/`` between the levels
``label``       for a source: its name; otherwise the op name without its scope
``dtype``       dtype name of the first output
``shape``       shape of the first output, None for an unknown rank
``location``    `tapetrace.model.Location` or None
``calls``       indices of the gradient calls that the node matters to
==============  ============================================================================================================

Edge attributes: ``open`` (True when gradient passes the gate at its head), ``status`` (as above, of the way through the edge) and ``cause``.
Edges point the way the data flows. A ``tf.while_loop`` is unrolled to a single pass here (its back edges are left out), so the graph is acyclic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tapetrace.model.locations import Location
from tapetrace.model.words import Cause

if TYPE_CHECKING:
    import networkx as nx


_ADDED = re.compile(r"^(?:(?:trace|call|replica) [0-9]+: )+")


def name_in_call(name: str) -> str:
    """What the routes and breaks of a gradient call name a node: without what tells it from a node of another call, replica or trace.

    >>> name_in_call("call 2: generator_1/dense/MatMul")
    'generator_1/dense/MatMul'
    """
    return _ADDED.sub("", name)


class Status(str, Enum):
    """Gradient status of a node or edge of the drawing."""

    LIVE = "live"
    DEAD = "dead"
    BREAK = "break"
    CONDITIONAL = "conditional"
    OPAQUE = "opaque"


class Role(str, Enum):
    SOURCE = "source"
    TARGET = "target"
    OP = "op"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One op that matters; see the module's table for the meaning of each field."""

    name: str
    type: str
    status: Status
    role: Role = Role.OP
    cause: Cause | None = None
    number: int = 0
    scope: str = ""
    label: str = ""
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None
    location: Location | None = None
    calls: tuple[int, ...] = (0,)
    reads: tuple[str, ...] = ()
    """Paths of the variables that it reads and that the graph leaves out, since the call does not ask for their gradient."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """Data flows from ``tail`` to ``head``; ``status`` says what gradient does on the way back."""

    tail: str
    head: str
    status: Status = Status.LIVE
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class ReportGraph:
    """Nodes in a topological order, edges sorted."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()

    def to_networkx(self) -> nx.DiGraph[str]:
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        for n in self.nodes:
            graph.add_node(
                n.name,
                type=n.type,
                role=n.role.value,
                status=n.status.value,
                cause=n.cause.value if n.cause else None,
                number=n.number,
                scope=n.scope,
                label=n.label,
                dtype=n.dtype,
                shape=n.shape,
                location=n.location,
                calls=n.calls,
            )
        for e in self.edges:
            graph.add_edge(e.tail, e.head, open=e.status is not Status.BREAK, status=e.status.value, cause=e.cause.value if e.cause else None)
        return graph

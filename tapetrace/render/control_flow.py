"""Branches and loops as a drawing holds them: joints, where values enter, and name scopes that TensorFlow opens twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tapetrace.model.graph import GraphNode, Role, Status

Edges = Sequence[tuple[int, int, Status]]

_JOINT = re.compile(r"(input|variable):[0-9]+")
_TYPES = ("If", "Case", "While")


def is_joint(node: GraphNode) -> bool:
    """Whether the node is a value that enters a branch (``cond/true/input:0``) or a loop (``while/variable:0``)."""
    return node.type.endswith(_TYPES) and _JOINT.fullmatch(node.label) is not None


def after_joints(nodes: Sequence[GraphNode], edges: Edges) -> Mapping[int, Sequence[int]]:
    """For each node the joints, and for each source and joint all nodes, that what it holds goes into."""
    after: dict[int, list[int]] = {}
    for a, b, _ in edges:
        if nodes[a].role is Role.SOURCE or is_joint(nodes[a]) or is_joint(nodes[b]):
            after.setdefault(a, []).append(b)
    return after


def readers_of(nodes: Sequence[GraphNode], edges: Edges) -> Iterator[tuple[int, int]]:
    """Each source with each op that reads it, in whatever branch or loop."""
    after = after_joints(nodes, edges)
    for source in (i for i in after if nodes[i].role is Role.SOURCE):
        met, waiting = set[int](), list(after[source])
        while waiting:
            n = waiting.pop()
            if n in met:
                continue
            met.add(n)
            if is_joint(nodes[n]):
                waiting.extend(after.get(n, ()))
            elif nodes[n].role is not Role.SOURCE:
                yield source, n


def control_scopes(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """The scopes of branches and loops, with what to call each, without those around it; empty for what says nothing.

    An op in a loop is called ``while/body/while/mul``, one in a branch ``cond/true/cond/mul``: what runs there has the op's whole name once more.
    """
    found: dict[str, str] = {}
    bodies: list[str] = []
    joints = {(n.scope, n.label.partition(":")[0]) for n in nodes if is_joint(n)}
    for scope, kind in sorted(joints, key=lambda joint: (len(joint[0]), joint)):
        op = scope if kind == "variable" else scope.rpartition("/")[0]
        around = max((b for b in bodies if op.startswith(f"{b}/")), key=len, default="")
        found.setdefault(op, op.rpartition("/")[2])
        for body in (f"{op}/body", f"{op}/cond") if kind == "variable" else (scope,):
            bodies.append(body)
            found[body] = "" if kind == "variable" else body.rpartition("/")[2]
            for part in op.removeprefix(around).removeprefix("/").split("/"):
                body = f"{body}/{part}"
                found[body] = ""
    return found

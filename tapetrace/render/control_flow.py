"""Branches and loops as a drawing holds them: joints, where values enter, and name scopes that TensorFlow opens twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tapetrace.model.graph import GraphEdge, GraphNode, Role, Status

Edges = Sequence[tuple[int, int, Status]]

_JOINT = re.compile(r"(input|variable):[0-9]+")
_EXIT = re.compile(r".+:[0-9]+")
_BRANCHES = ("If", "Case")
_TYPES = (*_BRANCHES, "While")
_ORDER = (Status.LIVE, Status.CONDITIONAL, Status.OPAQUE, Status.DEAD)


def is_joint(node: GraphNode) -> bool:
    """Whether the node is a value that enters a branch (``cond/true/input:0``) or a loop (``while/variable:0``)."""
    return node.type.endswith(_TYPES) and _JOINT.fullmatch(node.label) is not None


def entered_at(op: str, names: Iterable[str]) -> str | None:
    """The first of these nodes at which a value enters a branch of the op."""
    return next((name for name in names if name.startswith(f"{op}/") and re.fullmatch(r"[^/]+/input:[0-9]+", name[len(op) + 1 :])), None)


def without_exits(nodes: Mapping[str, GraphNode], edges: Iterable[GraphEdge]) -> tuple[dict[str, GraphNode], list[GraphEdge]]:
    """A graph without what only hands a value out of a branch to the one op that reads it: the joint where branches meet, and the copies that are
    made at its line. A joint stays where the value of the condition, or of what is no branch, comes in beside."""
    kept = dict(nodes)
    ways = {(e.tail, e.head): e for e in edges}
    before, after = dict[str, set[str]](), dict[str, set[str]]()
    for tail, head in ways:
        before.setdefault(head, set()).add(tail)
        after.setdefault(tail, set()).add(head)
    joints = {name for name, n in nodes.items() if n.type.endswith(_BRANCHES) and _EXIT.fullmatch(n.label) and not is_joint(n)}
    at = {n.location.key for n in map(nodes.__getitem__, joints) if n.location}
    for name, n in nodes.items():
        tails, heads = before.get(name, set()), after.get(name, set())
        is_copy = n.type == "Identity" and n.location is not None and n.location.key in at
        if not (is_copy or (name in joints and all(tail.startswith(f"{name.rpartition(':')[0]}/") for tail in tails))):
            continue
        crossed = [ways[ends] for ends in (*((tail, name) for tail in tails), *((name, head) for head in heads))]
        if len(heads) != 1 or not tails or n.role is Role.TARGET or n.number or any(e.status is Status.BREAK for e in crossed):
            continue
        (head,) = heads
        behind = ways.pop((name, head))
        for tail in sorted(tails):
            found = [e.status for e in (ways.pop((tail, name)), behind)]
            known = ways.get((tail, head))
            status = max(found, key=_ORDER.index)
            ways[tail, head] = GraphEdge(tail, head, min(status, known.status, key=_ORDER.index) if known and known.status in _ORDER else status)
            after[tail] = after[tail] - {name} | {head}
        before[head] = before[head] - {name} | tails
        del kept[name]
    return kept, list(ways.values())


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

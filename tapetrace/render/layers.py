"""Which Keras layer an op belongs to, read off its name scope."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from tapetrace.model.graph import GraphNode, Role, Status

_REPEATED = re.compile(r"_[0-9]+$")


def layers_of(nodes: Sequence[GraphNode], edges: Sequence[tuple[int, int, Status]]) -> list[str]:
    """For each node the scope of the layer around it, empty if none.

    A layer is a scope that reads a source, or one level below a scope that holds such layers; what TensorFlow's own functions open (``MatMul``,
    ``mean_squared_error``) is not one.
    """
    ops = {f"{n.scope}/{n.label}" if n.scope else n.label for n in nodes if n.role is not Role.SOURCE}
    scopes = {scope: _without_ops(scope, ops) for scope in {n.scope for n in nodes}}
    readers: set[str] = set()
    for a, b, _ in edges:
        if nodes[a].role is Role.SOURCE and nodes[b].role is not Role.SOURCE:
            readers.add(_reader(scopes[nodes[b].scope], owner_of(nodes[a])))
    readers.discard("")
    containers = {prefix for reader in readers for prefix in _prefixes(reader)[1:]}
    layer = {raw: _layer(scope, readers, containers) for raw, scope in scopes.items()}
    return [layer[n.scope] for n in nodes]


def owner_of(source: GraphNode) -> str:
    """Path of the layer that owns a source: its label without the last component."""
    return source.label.rpartition("/")[0] or source.scope


def common_scope(scopes: Sequence[str]) -> str:
    """The longest scope that is around all of these."""
    return "/".join(common_start([s.split("/") for s in dict.fromkeys(scopes)]))


def common_start(paths: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The longest path that all of these start with."""
    return tuple(level[0] for level in takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False)))


def innermost_only(layers: set[str]) -> set[str]:
    """The layers that hold no other of these."""
    return layers - {outer for layer in layers for outer in _prefixes(layer)[1:]} - {""}


def _layer(scope: str, readers: set[str], containers: set[str]) -> str:
    for prefix in _prefixes(scope):
        if prefix in readers:
            return prefix
        if prefix in containers:
            return "/".join(scope.split("/")[: prefix.count("/") + 2])
    return ""


def _reader(scope: str, owner: str) -> str:
    """The scope of the layer that reads a variable of ``owner``: Keras names both alike, but numbers the scope of a second call (``enc_1``)."""
    wanted = _REPEATED.sub("", owner.rpartition("/")[2])
    for prefix in _prefixes(scope):
        if _REPEATED.sub("", prefix.rpartition("/")[2]) == wanted:
            return prefix
    # Reading may open a scope for which there is no op (Cast); layers are hardly ever named with a capital.
    return scope.rpartition("/")[0] if scope.rpartition("/")[2][:1].isupper() else scope


def _without_ops(scope: str, ops: set[str]) -> str:
    """An op's inner ops carry its name as scope: ``vae/enc/MatMul/ReadVariableOp``."""
    while scope and scope in ops:
        scope = scope.rpartition("/")[0]
    return scope


def _prefixes(scope: str) -> list[str]:
    """The scope and those around it, innermost first."""
    parts = scope.split("/") if scope else []
    return ["/".join(parts[:i]) for i in range(len(parts), 0, -1)]

"""Which Keras layer an op belongs to, read off its name scope, and what that layer is called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from tapetrace.model.graph import GraphNode, Role
from tapetrace.render.control_flow import Edges, control_scopes, readers_of

_REPEATED = re.compile(r"_[0-9]+$")


def layers_of(nodes: Sequence[GraphNode], edges: Edges) -> list[str]:
    """For each node the scope of the layer around it, empty if none.

    A layer is a scope that reads a variable, or one level below a scope that holds such layers; what TensorFlow's own functions open (``MatMul``,
    ``mean_squared_error``) is not one. A branch or loop that holds layers, or reads a variable itself, counts as one.
    """
    scopes, control = _scopes(nodes), control_scopes(nodes)
    readers = {_reader(scopes[nodes[i].scope], owner) for i, _, owner in reads_of(nodes, edges)} - {""}
    containers = {prefix for reader in readers for prefix in _prefixes(reader)[1:]}
    reading = (readers | containers) & control.keys()
    within = {scope for scope in control if not reading.isdisjoint(_prefixes(scope))}
    layer = {raw: _named(_layer(scope, readers, containers, within), control) for raw, scope in scopes.items()}
    return [layer[n.scope] for n in nodes]


def names_of(nodes: Sequence[GraphNode], edges: Edges) -> dict[str, str]:
    """What to call a scope, without the scopes around it: Keras numbers the scope of a second call (``enc_1``), the paths of variables do not.

    The outermost scope of a layer that is called from outside of its model has the name of both, ``net/stem``. A scope that a branch or a loop
    opens once more has no name.
    """
    scopes, control = _scopes(nodes), control_scopes(nodes)
    found: dict[str, set[str]] = {}
    for i, _, owner in reads_of(nodes, edges):
        prefixes, names = _prefixes(_reader(scopes[nodes[i].scope], owner)), owner.split("/")
        while prefixes and names and is_call_of(prefixes[0], names[-1]):
            scope, name = prefixes.pop(0), names.pop()
            found.setdefault(scope, set()).add(name if prefixes else "/".join([*names, name]))
    return control | {scope: name for scope, (name, *others) in found.items() if not others}


def reads_of(nodes: Sequence[GraphNode], edges: Edges) -> Iterator[tuple[int, str, str]]:
    """Each op that reads a variable, by position, with the variable's path and the path of the layer that owns it."""
    for a, b in readers_of(nodes, edges):
        yield b, nodes[a].label, owner_of(nodes[a])
    for i, n in enumerate(nodes):
        for path in n.reads:
            yield i, path, path.rpartition("/")[0]


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


def is_call_of(scope: str, name: str) -> bool:
    """Whether a layer of this name may have opened the scope."""
    opened = scope.rpartition("/")[2]
    first = unnumbered(scope)
    return name in (opened, first) or unnumbered(name) == first


def unnumbered(path: str) -> str:
    """The last name of a path, without the number of a second call."""
    return _REPEATED.sub("", path.rpartition("/")[2])


def _layer(scope: str, readers: set[str], containers: set[str], control: set[str]) -> str:
    for prefix in _prefixes(scope):
        if prefix in readers or prefix in control:
            return prefix
        if prefix in containers:
            return "/".join(scope.split("/")[: prefix.count("/") + 2])
    return ""


def _named(scope: str, names: Mapping[str, str]) -> str:
    """The scope without what has no name at its end."""
    while names.get(scope) == "":
        scope = scope.rpartition("/")[0]
    return scope


def _reader(scope: str, owner: str) -> str:
    """The scope of the layer that reads a variable of ``owner``."""
    wanted = owner.rpartition("/")[2]
    for prefix in _prefixes(scope):
        if is_call_of(prefix, wanted):
            return prefix
    # Reading may open a scope for which there is no op (Cast); layers are hardly ever named with a capital.
    return scope.rpartition("/")[0] if scope.rpartition("/")[2][:1].isupper() else scope


def _scopes(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """The scope of each op without the ops around it: an op's inner ops carry its name as scope, ``vae/enc/MatMul/ReadVariableOp``."""
    ops = {f"{n.scope}/{n.label}" if n.scope else n.label for n in nodes if n.role is not Role.SOURCE}
    return {scope: _without_ops(scope, ops) for scope in {n.scope for n in nodes}}


def _without_ops(scope: str, ops: set[str]) -> str:
    while scope and scope in ops:
        scope = scope.rpartition("/")[0]
    return scope


def _prefixes(scope: str) -> list[str]:
    """The scope and those around it, innermost first."""
    parts = scope.split("/") if scope else []
    return ["/".join(parts[:i]) for i in range(len(parts), 0, -1)]

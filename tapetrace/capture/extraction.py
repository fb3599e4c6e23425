"""From the drafts of one gradient call to bodies of the model: only the ops that can matter, with their gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.gates import GateProber
from tapetrace.capture.python_code import referred_handles
from tapetrace.capture.relevance import inputs_first, needed_ops
from tapetrace.capture.snapshot import BODY_OPS, Draft, DraftOp, Snapshots
from tapetrace.capture.variables import VariableNames, describe_variable, handle_of, is_variable, spec_of
from tapetrace.model.locations import Location
from tapetrace.model.trace import Body, Gate, GateTable, Hidden, Op, Ref
from tapetrace.model.words import Cause

PastOf = Callable[[Any], tuple[frozenset[int], Location | None] | None]
"""For a captured tensor, the handles (by identity) of the variables that it was computed from, and where."""

_NO_BODY = "the body of the function that it calls is not known"
_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


@dataclass(frozen=True, slots=True)
class _Layer:
    """One of the graphs around a gradient call: the positions that matter, what stands for tensors of the next graph, where gradient stops."""

    draft: Draft
    wanted: set[int]
    captured: dict[int, Ref]
    stops: set[int]


@dataclass(frozen=True, slots=True)
class _Link:
    """A tensor or variable that the graph of the call does not hold, and where a graph around it does."""

    key: int
    value: Any
    outer: tuple[str, Ref] | None


class Extraction:
    """Bodies of the model, made on demand. ``operations[body][position]`` is the TensorFlow operation of an op, None for one that we added."""

    def __init__(self, snapshots: Snapshots, prober: GateProber, names: VariableNames, past: PastOf | None = None) -> None:
        self.past = past
        self.snapshots = snapshots
        self.prober = prober
        self.names = names
        self.bodies: dict[str, Body] = {}
        self.operations: dict[str, list[Any]] = {}
        self._places: dict[str, dict[int, int]] = {}
        self._absent: dict[str, dict[int, int]] = {}
        self._stand_ins: dict[str, dict[int, Any]] = {}

    def add_root(self, draft: Draft, targets: Sequence[Any], sources: Sequence[Any], watched: Sequence[Any] = (), stops: Sequence[Any] = ()) -> None:
        """Make the body of the graph of a gradient call, and those around it.

        They hold the ancestors of the targets and the descendants of the sources. What the graph of the call never mentions gets an op of its own
        there: one that stands for the tensor of a graph around it, or, for a variable among the sources, one that nothing reads. Gradient stops
        at the ops of ``stops``.
        """
        layers: list[_Layer] = []
        current: Draft | None = draft
        inner: dict[int, Ref] = {}
        while current is not None:
            outer = self.snapshots.drafts[current.outer] if current.outer else None
            ends = [*self._draft_refs(current, targets), *inner.values()]
            wanted = needed_ops(current, ends, self._draft_refs(current, sources))
            inner = self._captured(current, wanted, outer)
            layers.append(_Layer(current, wanted, inner, {p for p, _ in self._draft_refs(current, stops)}))
            current = outer
        for layer in reversed(layers[1:]):
            self._add_graph(layer, [])
        missing = {id(handle_of(v) if is_variable(v) else v): v for v in (*watched, *targets, *sources) if self._draft_ref(draft, v) is None}
        asked = {id(handle_of(s)) for s in sources if is_variable(s)}
        linked = [_Link(k, v, self._outside(layers[1:], v)) for k, v in missing.items()]
        self._add_graph(layers[0], [link for link in linked if link.outer is not None or link.key in asked])

    def ref(self, draft: Draft, value: Any) -> Ref | None:
        """Where a tensor or variable stands in the body of ``draft``; None if the graph never mentions it."""
        key = id(handle_of(value) if is_variable(value) else value)
        if key in self._absent[draft.key]:
            return (self._absent[draft.key][key], 0)
        found = self._draft_ref(draft, value)
        if found is None or found[0] not in self._places[draft.key]:
            return None
        return (self._places[draft.key][found[0]], found[1])

    def _outside(self, layers: Sequence[_Layer], value: Any) -> tuple[str, Ref] | None:
        """Body and ref of a tensor or variable in the nearest of the graphs around that holds it."""
        for layer in layers:
            ref = self.ref(layer.draft, value)
            if ref is not None:
                return layer.draft.key, ref
        return None

    def _draft_refs(self, draft: Draft, values: Iterable[Any]) -> list[Ref]:
        return [ref for ref in (self._draft_ref(draft, v) for v in values) if ref is not None]

    def _draft_ref(self, draft: Draft, value: Any) -> Ref | None:
        tensor = self._in_graph(handle_of(value) if is_variable(value) else value, draft)
        position = None if tensor is None else draft.position.get(tensor.op.name)
        return None if position is None else (position, tensor.value_index)

    def _captured(self, draft: Draft, wanted: set[int], outer: Draft | None) -> dict[int, Ref]:
        """For the placeholders of tensors of the enclosing graph: those tensors."""
        found: dict[int, Ref] = {}
        if outer is None:
            return found
        for external, internal in draft.captures:
            position = draft.position.get(internal.op.name)
            tensor = self._in_graph(external, outer) if position in wanted else None
            if position is not None and tensor is not None and tensor.op.name in outer.position:
                found[position] = (outer.position[tensor.op.name], tensor.value_index)
        return found

    def _in_graph(self, tensor: Any, draft: Draft) -> Any:
        """The tensor of a draft that stands for ``tensor``: itself, or what it was captured as, directly or through the graphs around."""
        if getattr(tensor, "graph", None) is draft.graph:
            return tensor
        wanted = [id(tensor)]
        if draft.outer:
            there = self._in_graph(tensor, self.snapshots.drafts[draft.outer])
            if there is not None:
                wanted.append(id(there))
        return next((stand_in for stand_in in map(self._stand_ins_of(draft).get, wanted) if stand_in is not None), None)

    def _stand_ins_of(self, draft: Draft) -> dict[int, Any]:
        """What each captured tensor is in the graph of a draft, by the identity of the tensor outside."""
        if draft.key not in self._stand_ins:
            self._stand_ins[draft.key] = {id(external): internal for external, internal in reversed(draft.captures)}
        return self._stand_ins[draft.key]

    def _add_graph(self, layer: _Layer, links: Sequence[_Link]) -> None:
        draft = layer.draft
        if draft.key in self.bodies:
            return
        order = inputs_first(draft, layer.wanted)
        added = {link.key: i for i, link in enumerate(links)}
        places = {old: new + len(added) for new, old in enumerate(order)}
        self._places[draft.key], self._absent[draft.key] = places, added
        self.operations[draft.key] = [None] * len(added) + [draft.ops[p].op for p in order]
        externals = {internal.op.name: external for external, internal in draft.captures}
        known = self._known_handles(draft, externals, places) | added
        ops = [_linking_op(link) for link in links]
        used: dict[str, int] = {}
        for position in order:
            outer: tuple[str, Ref] | None = None
            if position in layer.captured:
                there = self._places[draft.outer].get(layer.captured[position][0])
                outer = None if there is None else (draft.outer, (there, layer.captured[position][1]))
            op = self._op(draft, position, places, externals, known, used, outer)
            ops.append(_stopped(op) if position in layer.stops else op)
        self.bodies[draft.key] = Body(draft.key, tuple(ops))

    def _known_handles(self, draft: Draft, externals: dict[str, Any], places: dict[int, int]) -> dict[int, int]:
        return {id(e): places[draft.position[name]] for name, e in externals.items() if draft.position.get(name) in places}

    def add_function_graph(self, name: str, graph: Any) -> str:
        """Make a body of a function's graph; its key."""
        key = self.snapshots.add_body(name, graph)
        self._add_function(key)
        return key

    def _add_function(self, key: str) -> None:
        if key in self.bodies:
            return
        draft = self.snapshots.drafts[key]
        order = inputs_first(draft, set(range(len(draft.ops))))
        places = {old: new for new, old in enumerate(order)}
        self._places[key], self._absent[key] = places, {}
        self.operations[key] = [draft.ops[p].op for p in order]
        ops = tuple(self._op(draft, p, places, {}, {}, {}, None) for p in order)
        self.bodies[key] = Body(key, ops, tuple(places[p] for p, _ in draft.parameters), tuple((places[p], j) for p, j in draft.results))

    def _op(
        self, draft: Draft, position: int, places: dict[int, int], externals: dict[str, Any], known: dict[int, int],
        used: dict[str, int], outer: tuple[str, Ref] | None,
    ) -> Op:  # fmt: skip
        drafted: DraftOp = draft.ops[position]
        op = drafted.op
        inputs = tuple((places[draft.position[name]], j) for name, j in drafted.inputs)
        outputs = tuple(spec_of(t) for t in op.outputs[: drafted.output_count])
        name, op_type, gates, hidden = op.name, op.type, None, None
        external = externals.get(name)
        if external is None and not inputs and outputs and self.names.of_handle(op.outputs[0]) is not None:
            external = op.outputs[0]  # a variable that is an op of the graph
        if op_type == "Placeholder" or external is not None:
            name, op_type = self._placeholder(op, external, used)
        if drafted.call is not None:
            for body in drafted.call.bodies:
                self._add_function(body)
        elif inputs:
            gates = self.prober.gates_of(op) if op.type not in BODY_OPS else GateTable(((Gate.UNKNOWN,) * len(outputs),) * len(inputs), _NO_BODY)
        if op_type in _PYTHON_OPS:
            hidden = _hidden(op, known)
        elif op_type == "Captured" and self.past is not None:
            hidden = self._before(externals.get(op.name), known)
        elif op_type == "Const" and self.past is not None:
            hidden = self._before(op.outputs[0], known)
        return Op(name, op_type, inputs, outputs, gates, drafted.call, position, draft.backward.get(position), outer, hidden)

    def _before(self, tensor: Any, known: dict[int, int]) -> Hidden | None:
        """The variables that a captured tensor was computed from before the step."""
        found = None if self.past is None else self.past(tensor)
        if found is None:
            return None
        handles, location = found
        places = sorted(known[h] for h in handles if h in known)
        return Hidden(tuple((p, 0) for p in places), Cause.CAPTURED_VALUE, location) if places else None

    def _placeholder(self, op: Any, external: Any, used: dict[str, int]) -> tuple[str, str]:
        """Name and type of a variable, a captured tensor or an argument."""
        if external is None:
            return op.name, "Argument"
        variable = self.names.of_handle(external)
        if variable is not None:
            path = describe_variable(variable).path
            used[path] = used.get(path, 0) + 1
            return (path if used[path] == 1 else f"{path} ({op.name})"), "Variable"
        return op.name, "Resource" if op.outputs[0].dtype.name in ("resource", "variant") else "Captured"


def _linking_op(link: _Link) -> Op:
    """An op without inputs that comes before all others."""
    if is_variable(link.value):
        return Op(describe_variable(link.value).path, "Variable", outputs=(spec_of(handle_of(link.value)),), order=-1, outer=link.outer)
    return Op(str(link.value.name), "Captured", outputs=(spec_of(link.value),), order=-1, outer=link.outer)


def _stopped(op: Op) -> Op:
    row = (Gate.STOPPED,) * len(op.outputs)
    return replace(op, call=None, gates=GateTable((row,) * len(op.inputs)))


def _hidden(op: Any, known: dict[int, int]) -> Hidden | None:
    """The variables that the Python function behind an op refers to."""
    function = private.python_function(op.get_attr("token"))
    places = sorted(known[h] for h in referred_handles(function) if h in known) if function is not None else []
    return Hidden(tuple((p, 0) for p in places), Cause.PYTHON_FUNCTION) if places else None

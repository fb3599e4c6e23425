"""From the drafts of one gradient call to bodies of the model: only the ops that can matter, with their gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.gates import GateProber
from tapetrace.capture.python_code import referred_handles
from tapetrace.capture.relevance import inputs_first, needed_ops
from tapetrace.capture.snapshot import Draft, DraftOp, Snapshots
from tapetrace.capture.variables import VariableNames, describe_variable, handle_of, is_variable, spec_of
from tapetrace.model.locations import Location
from tapetrace.model.trace import Body, Hidden, Op, Ref
from tapetrace.model.words import Cause

PastOf = Callable[[Any], tuple[frozenset[int], Location | None] | None]
"""For a captured tensor, the handles (by identity) of the variables that it was computed from, and where."""

_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


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

    def add_root(self, draft: Draft, targets: Sequence[Any], sources: Sequence[Any]) -> None:
        """Make the body of the graph of a gradient call, and those around it.

        It holds the ancestors of the targets and the descendants of the sources. A variable among the sources that the graph never mentions
        gets an op of its own, which nothing reads.
        """
        ends = [ref for ref in (self._draft_ref(draft, t) for t in targets) if ref is not None]
        starts = [ref for ref in (self._draft_ref(draft, s) for s in sources) if ref is not None]
        absent = [s for s in sources if is_variable(s) and self._draft_ref(draft, s) is None]
        wanted = needed_ops(draft, ends, starts)
        layers: list[tuple[Draft, set[int], dict[int, Ref]]] = []
        current: Draft | None = draft
        while current is not None:
            outer = self.snapshots.drafts[current.outer] if current.outer else None
            captured = self._captured(current, wanted, outer)
            layers.append((current, wanted, captured))
            if outer is not None:
                wanted = needed_ops(outer, list(captured.values()), ())
            current = outer
        for layer, needed, captured in reversed(layers):
            self._add_graph(layer, needed, captured, absent if layer is draft else [])

    def ref(self, draft: Draft, value: Any) -> Ref | None:
        """Where a tensor or variable stands in the body of ``draft``; None if the graph never mentions it."""
        if is_variable(value) and id(handle_of(value)) in self._absent[draft.key]:
            return (self._absent[draft.key][id(handle_of(value))], 0)
        found = self._draft_ref(draft, value)
        if found is None or found[0] not in self._places[draft.key]:
            return None
        return (self._places[draft.key][found[0]], found[1])

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
        wanted = {id(tensor)}
        if draft.outer:
            there = self._in_graph(tensor, self.snapshots.drafts[draft.outer])
            if there is not None:
                wanted.add(id(there))
        return next((internal for external, internal in draft.captures if id(external) in wanted), None)

    def _add_graph(self, draft: Draft, wanted: set[int], captured: dict[int, Ref], absent: list[Any]) -> None:
        if draft.key in self.bodies:
            return
        order = inputs_first(draft, wanted)
        added = {id(handle_of(v)): i for i, v in enumerate(absent)}
        places = {old: new + len(added) for new, old in enumerate(order)}
        self._places[draft.key], self._absent[draft.key] = places, added
        self.operations[draft.key] = [None] * len(added) + [draft.ops[p].op for p in order]
        externals = {internal.op.name: external for external, internal in draft.captures}
        known = self._known_handles(draft, externals, places) | added
        ops = [Op(describe_variable(v).path, "Variable", outputs=(_handle_spec(v),)) for v in absent]
        used: dict[str, int] = {}
        for position in order:
            outer: tuple[str, Ref] | None = None
            if position in captured:
                there = self._places[draft.outer].get(captured[position][0])
                outer = None if there is None else (draft.outer, (there, captured[position][1]))
            ops.append(self._op(draft, position, places, externals, known, used, outer))
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
        if op_type == "Placeholder" or name in externals:
            name, op_type = self._placeholder(op, externals.get(name), used)
        if drafted.call is not None:
            for body in drafted.call.bodies:
                self._add_function(body)
        elif inputs:
            gates = self.prober.gates_of(op)
        if op_type in _PYTHON_OPS:
            hidden = _hidden(op, known)
        elif op_type == "Captured" and self.past is not None:
            hidden = self._before(externals.get(op.name), known)
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


def _handle_spec(variable: Any) -> Any:
    return spec_of(handle_of(variable))


def _hidden(op: Any, known: dict[int, int]) -> Hidden | None:
    """The variables that the Python function behind an op refers to."""
    function = private.python_function(op.get_attr("token"))
    places = sorted(known[h] for h in referred_handles(function) if h in known) if function is not None else []
    return Hidden(tuple((p, 0) for p in places), Cause.PYTHON_FUNCTION) if places else None

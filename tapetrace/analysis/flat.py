"""One flat graph for one gradient call: function bodies opened at each call site, branches merged, loops closed, variable writes linked to reads.

Opening each body where it is called lets every later question be a plain graph search. What a body costs is bounded: past ``budget`` ops a body
is summarised once as a table of gates instead of being opened again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tapetrace.analysis.ways import CARRIED, CARRIED_WRITE, NO_DATA, OPEN, WRITE, Passage, Way, judge, overwrites_variable, writes_variable
from tapetrace.model.trace import Body, CallKind, Gate, GateTable, GradientCall, Hidden, Op, Recording, Ref, Tape, TensorSpec

Tensor = tuple[int, int]
"""(node of the flat graph, index of its output)"""


@dataclass(slots=True)
class Node:
    """One op at one call site, or a joint that flattening adds.

    ``kind``: ``op``; ``arg`` (a value entering a branch), ``merge`` (an output of a conditional, one input a branch, the condition last),
    ``loop`` (a loop variable: initial value, value of the next round, the loop's condition last).
    ``origin`` is (body key, position) of the op that it stands for; ``order`` the rank, in the graph of the gradient call, of the op that it
    belongs to.
    """

    kind: str
    name: str
    type: str
    origin: tuple[str, int]
    inputs: list[Tensor]
    outputs: tuple[TensorSpec, ...]
    gates: GateTable | None = None
    recording: Recording = Recording.RECORDED
    order: int = 0
    conditional: int = -1
    """For ``arg`` and ``merge``: number of the conditional, for ``Flat.branches``."""
    branch: int = -1
    state_inputs: int = 0
    """How many of the inputs, at the end, are earlier writes of a variable that this op reads or updates."""
    hidden: Hidden | None = None
    """Its refs are the inputs before the state inputs."""
    from_backward: bool = False
    """Computed from the result of a gradient call."""

    def way(self, input_index: int, output_index: int) -> Way:
        """What gradient does on its way from output ``output_index`` back to input ``input_index``."""
        if self.kind in ("merge", "loop"):
            return CARRIED if input_index == len(self.inputs) - 1 and self.branch == -2 else OPEN
        if self.kind == "arg":
            return OPEN
        is_state = input_index >= len(self.inputs) - self.state_inputs
        if output_index >= len(self.outputs) and self.kind == "op" and writes_variable(self.type):
            return CARRIED_WRITE if is_state else NO_DATA if input_index == 0 else WRITE
        if is_state:
            return OPEN
        if self.hidden is not None and input_index >= len(self.inputs) - self.state_inputs - len(self.hidden.refs):
            return Way(Passage.CLOSED, self.hidden.cause)
        gate = Gate.UNKNOWN if self.gates is None else self.gates.gate(input_index, output_index)
        return judge(self.type, gate, self.recording)


@dataclass(slots=True)
class Conditional:
    """A ``tf.cond`` or ``switch_case`` at one call site."""

    op: tuple[str, int]
    name: str
    type: str
    branches: tuple[str, ...]
    condition: Tensor


@dataclass(slots=True)
class Flat:
    """The flat graph of one gradient call. ``tensors`` maps (body key, ref) of the call's own graph to flat tensors."""

    nodes: list[Node] = field(default_factory=list)
    conditionals: list[Conditional] = field(default_factory=list)
    tensors: dict[tuple[str, Ref], Tensor] = field(default_factory=dict)
    summarised: int = 0
    _consumers: dict[Tensor, list[tuple[int, int]]] | None = None

    def tensor(self, body: str, ref: Ref) -> Tensor | None:
        return self.tensors.get((body, ref))

    @property
    def consumers(self) -> dict[Tensor, list[tuple[int, int]]]:
        """For each tensor, the (node, input index) pairs that read it."""
        if self._consumers is None:
            table: dict[Tensor, list[tuple[int, int]]] = {}
            for n, node in enumerate(self.nodes):
                for i, t in enumerate(node.inputs):
                    table.setdefault(t, []).append((n, i))
            self._consumers = table
        return self._consumers

    def output_count(self, node: int) -> int:
        """Outputs of a node, the pseudo output of a variable write included."""
        n = self.nodes[node]
        return len(n.outputs) + (1 if n.kind == "op" and writes_variable(n.type) else 0)


class _Flattener:
    def __init__(self, bodies: Mapping[str, Body], tape: Tape, budget: int) -> None:
        self.bodies = bodies
        self.tape = tape
        self.budget = budget
        self.flat = Flat()
        self.root_of: dict[Tensor, Tensor] = {}
        self.last_write: dict[Tensor, tuple[Tensor, ...]] = {}
        self.pending_reads: list[list[tuple[int, Tensor]]] = []
        self.summaries: dict[str, tuple[tuple[Gate, ...], ...]] = {}
        self.outer_done: set[str] = set()
        self.clock = 0

    # The call's own graph, and the graphs around it.

    def open_root(self, key: str, before: int | None) -> None:
        if key in self.outer_done:
            return
        self.outer_done.add(key)
        body = self.bodies[key]
        tensors: list[list[Tensor]] = []
        for position, op in enumerate(body.ops):
            if before is not None and op.order >= before:
                tensors.append([])
                continue
            if op.outer is not None:
                outer_key, ref = op.outer
                if outer_key in self.bodies:
                    self.open_root(outer_key, None)
                    known = self.flat.tensor(outer_key, ref)
                    if known is not None:
                        tensors.append([known])
                        self.flat.tensors[key, (position, 0)] = known
                        continue
            recording = self.tape.recording(key, op.order)
            self.clock = op.order
            outs = self.add_op(key, position, op, tensors, "", recording)
            tensors.append(outs)
            for j, t in enumerate(outs):
                self.flat.tensors[key, (position, j)] = t

    # Single ops.

    def add(self, node: Node) -> int:
        self.flat.nodes.append(node)
        return len(self.flat.nodes) - 1

    def add_op(self, key: str, position: int, op: Op, tensors: list[list[Tensor]], prefix: str, recording: Recording) -> list[Tensor]:
        inputs = [tensors[p][j] for p, j in op.inputs]
        if op.call is not None:
            opened = self.open_call(key, position, op, inputs, prefix, recording)
            if opened is not None:
                return opened
        nodes = self.flat.nodes
        node = Node(
            "op", prefix + op.name, op.type, (key, position), inputs, op.outputs, op.gates, recording, self.clock,
            from_backward=op.made_by_call is not None or any(nodes[t[0]].from_backward for t in inputs),
        )  # fmt: skip
        if op.hidden is not None:
            node.inputs.extend(tensors[p][j] for p, j in op.hidden.refs)
            node.hidden = op.hidden
        n = self.add(node)
        self.link_state(n, node, op)
        return [(n, j) for j in range(len(op.outputs))]

    def link_state(self, n: int, node: Node, op: Op) -> None:
        """Tie a read of a variable to the writes before it, and a write to what it updates."""
        handles = [t for t in node.inputs[: len(op.inputs)] if self.is_resource(t)]
        if not handles:
            return
        if writes_variable(op.type):
            root = self.root_of.get(node.inputs[0], node.inputs[0])
            earlier = () if overwrites_variable(op.type) else self.last_write.get(root, ())
            node.inputs.extend(earlier)
            node.state_inputs = len(earlier)
            if not overwrites_variable(op.type):
                self.note_pending(n, root)
            self.last_write[root] = ((n, len(op.outputs)),)
        elif op.outputs and op.call is None:
            for handle in handles:
                root = self.root_of.get(handle, handle)
                writes = self.last_write.get(root, ())
                node.inputs.extend(writes)
                node.state_inputs += len(writes)
                if not writes:
                    self.note_pending(n, root)

    def note_pending(self, n: int, root: Tensor) -> None:
        if self.pending_reads:
            self.pending_reads[-1].append((n, root))

    def is_resource(self, t: Tensor) -> bool:
        node = self.flat.nodes[t[0]]
        return t[1] < len(node.outputs) and node.outputs[t[1]].dtype == "resource"

    # Calls.

    def open_call(self, key: str, position: int, op: Op, inputs: list[Tensor], prefix: str, recording: Recording) -> list[Tensor] | None:
        call = op.call
        assert call is not None
        if any(name not in self.bodies for name in call.bodies):
            return None
        if len(self.flat.nodes) + sum(len(self.bodies[b].ops) for b in call.bodies) > self.budget:
            self.flat.summarised += 1
            return self.summarise_call(key, position, op, inputs, prefix, recording)
        inside = f"{prefix}{op.name}/"
        if call.kind is CallKind.FUNCTION:
            return self.open_body(call.bodies[0], inputs, inside, recording)
        if call.kind is CallKind.BRANCH:
            return self.open_branches(key, position, op, inputs, prefix, recording)
        return self.open_loop(key, position, op, inputs, prefix, recording)

    def open_body(self, key: str, arguments: list[Tensor], prefix: str, recording: Recording) -> list[Tensor]:
        body = self.bodies[key]
        given = dict(zip(body.inputs, arguments, strict=False))
        tensors: list[list[Tensor]] = []
        for position, op in enumerate(body.ops):
            if position in given:
                tensors.append([given[position]])
            else:
                tensors.append(self.add_op(key, position, op, tensors, prefix, recording))
        return [tensors[p][j] for p, j in body.outputs]

    def joint(self, kind: str, op: Op, key: str, position: int, name: str, inputs: list[Tensor], spec: TensorSpec, recording: Recording) -> int:
        backward = any(self.flat.nodes[t[0]].from_backward for t in inputs)
        return self.add(Node(kind, name, op.type, (key, position), inputs, (spec,), None, recording, self.clock, from_backward=backward))

    def open_branches(self, key: str, position: int, op: Op, inputs: list[Tensor], prefix: str, recording: Recording) -> list[Tensor]:
        assert op.call is not None
        condition, arguments = inputs[0], inputs[1:]
        number = len(self.flat.conditionals)
        name = prefix + op.name
        self.flat.conditionals.append(Conditional((key, position), name, op.type, op.call.branches, condition))
        results: list[list[Tensor]] = []
        writes_before = dict(self.last_write)
        writes_after: list[dict[Tensor, tuple[Tensor, ...]]] = []
        for b, body in enumerate(op.call.bodies):
            self.last_write = dict(writes_before)
            entered: list[Tensor] = []
            for i, t in enumerate(arguments):
                source = self.flat.nodes[t[0]]
                spec = source.outputs[t[1]] if t[1] < len(source.outputs) else TensorSpec("float32")
                n = self.joint("arg", op, key, position, f"{name}/{op.call.branches[b]}/input:{i}", [t], spec, recording)
                self.flat.nodes[n].conditional, self.flat.nodes[n].branch = number, b
                entered.append((n, 0))
                if self.is_resource(t):
                    self.root_of[n, 0] = self.root_of.get(t, t)
            results.append(self.open_body(body, entered, f"{name}/{op.call.branches[b]}/", recording))
            writes_after.append(self.last_write)
        self.last_write = {
            root: tuple(sorted({w for after in writes_after for w in after.get(root, ())})) for root in {r for a in writes_after for r in a}
        }
        outs: list[Tensor] = []
        for j, spec in enumerate(op.outputs):
            merged = [r[j] for r in results if j < len(r)]
            n = self.joint("merge", op, key, position, f"{name}:{j}", [*merged, condition], spec, recording)
            self.flat.nodes[n].conditional, self.flat.nodes[n].branch = number, -2
            outs.append((n, 0))
        return outs

    def open_loop(self, key: str, position: int, op: Op, inputs: list[Tensor], prefix: str, recording: Recording) -> list[Tensor]:
        assert op.call is not None
        name = prefix + op.name
        variables: list[Tensor] = []
        for i, (t, spec) in enumerate(zip(inputs, op.outputs, strict=False)):
            n = self.joint("loop", op, key, position, f"{name}/variable:{i}", [t], spec, recording)
            variables.append((n, 0))
            if self.is_resource(t):
                self.root_of[n, 0] = self.root_of.get(t, t)
        self.pending_reads.append([])
        condition = self.open_body(op.call.bodies[1], variables, f"{name}/cond/", recording) if len(op.call.bodies) > 1 else []
        results = self.open_body(op.call.bodies[0], variables, f"{name}/body/", recording)
        for n, root in self.pending_reads.pop():
            node = self.flat.nodes[n]
            late = [w for w in self.last_write.get(root, ()) if w not in node.inputs and w[0] != n]
            node.inputs.extend(late)
            node.state_inputs += len(late)
        for (n, _), back in zip(variables, results, strict=False):
            self.flat.nodes[n].inputs.append(back)
            if condition:
                self.flat.nodes[n].inputs.append(condition[0])
                self.flat.nodes[n].branch = -2
        return variables

    # Summaries.

    def summarise_call(self, key: str, position: int, op: Op, inputs: list[Tensor], prefix: str, recording: Recording) -> list[Tensor]:
        from tapetrace.analysis.summary import call_table

        node = Node("op", prefix + op.name, op.type, (key, position), inputs, op.outputs, call_table(self.bodies, op), recording, self.clock)
        n = self.add(node)
        return [(n, j) for j in range(len(op.outputs))]


def flatten(bodies: Mapping[str, Body], call: GradientCall, budget: int = 400_000) -> Flat:
    """The flat graph of everything in the call's graph that existed when the call was made, and of the graphs around it."""
    flattener = _Flattener(bodies, call.tape, budget)
    flattener.open_root(call.body, call.order)
    return flattener.flat


def flatten_body(bodies: Mapping[str, Body], key: str, budget: int) -> tuple[Flat, list[Tensor], list[Tensor]]:
    """A body on its own: the flat graph, its inputs and its outputs."""
    flattener = _Flattener(bodies, Tape(), budget)
    flattener.open_root(key, None)
    body = bodies[key]
    flat = flattener.flat
    return flat, [flat.tensors[key, (p, 0)] for p in body.inputs], [flat.tensors[key, ref] for ref in body.outputs]

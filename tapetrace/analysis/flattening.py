"""Flattening: function bodies opened at each call site, branches merged, loops closed, variable writes linked to the reads that see them.

Opening each body where it is called lets every later question be a plain graph search. What that costs is bounded: past ``budget`` nodes a body is
summarised once, as a table of ways, instead of being opened again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tapetrace.analysis.flat import CallSite, Conditional, Flat, Node, Tables, Tensor
from tapetrace.analysis.summary import Summary
from tapetrace.analysis.variable_state import VariableState
from tapetrace.analysis.ways import overwrites_variable, unrecorded, writes_variable
from tapetrace.model.trace import Body, CallKind, GradientCall, Op, Recording, Ref, Tape, TensorSpec

BUDGET = 400_000
"""Nodes of a flat graph beyond which bodies are summarised."""


@dataclass(frozen=True, slots=True)
class _Site:
    """Where ops are being added: the names around them, what the tape did there, whether inside a function, and whether a backward pass called it."""

    prefix: str = ""
    recording: Recording = Recording.RECORDED
    is_inside: bool = False
    is_backward: bool = False


class _Flattener:
    def __init__(self, bodies: Mapping[str, Body], tape: Tape, budget: int, summaries: dict[str, Summary]) -> None:
        self.bodies = bodies
        self.tape = tape
        self.budget = budget
        self.summaries = summaries
        self.asked: frozenset[tuple[str, Ref]] = frozenset()
        self.flat = Flat()
        self.state = VariableState()
        self._opened: set[str] = set()
        self._names: dict[str, int] = {}
        self._tables = Tables()
        self._clock = 0

    def open_root(self, key: str, before: int | None) -> None:
        """The call's own graph as far as it had come, and the graphs around it."""
        if key in self._opened:
            return
        self._opened.add(key)
        tensors: list[list[Tensor]] = []
        for position, op in enumerate(self.bodies[key].ops):
            if before is not None and op.order >= before:
                tensors.append([])
                continue
            known = self._captured(op)
            if known is not None:
                found = [known]
            else:
                self._clock = op.order
                found = self._add_op(key, position, op, tensors, _Site("", self.tape.recording(key, op.order)))
            tensors.append(found)
            for j, t in enumerate(found):
                self.flat.tensors[key, (position, j)] = t

    def _captured(self, op: Op) -> Tensor | None:
        """The tensor of a graph around for which the placeholder ``op`` stands."""
        if op.outer is None or op.outer[0] not in self.bodies:
            return None
        self.open_root(op.outer[0], None)
        return self.flat.tensor(*op.outer)

    # Single ops.

    def _add(self, node: Node) -> int:
        """Names are unique: two graphs, one inside the other, may use the same."""
        count = self._names.get(node.name, 0) + 1
        self._names[node.name] = count
        if count > 1:
            node.name = f"{node.name} ({count})"
        self.flat.nodes.append(node)
        return len(self.flat.nodes) - 1

    def _add_op(self, key: str, position: int, op: Op, tensors: list[list[Tensor]], site: _Site) -> list[Tensor]:
        inputs = [tensors[p][j] for p, j in op.inputs]
        if op.made_by_call is not None and not site.is_backward:
            site = replace(site, is_backward=True)
        if op.call is not None and all(body in self.bodies for body in op.call.bodies):
            first = len(self.flat.nodes)
            results = self._open_call(key, position, op, inputs, replace(site, is_inside=True))
            self.flat.calls.append(CallSite(
                op.call.kind, tuple(inputs), tuple(results), first, len(self.flat.nodes), self._clock, site.recording is Recording.RECORDED,
                site.is_inside,
            ))  # fmt: skip
            return results
        nodes = self.flat.nodes
        is_backward = site.is_backward or any(nodes[t[0]].from_backward for t in inputs)
        node = Node(
            "op", site.prefix + op.name, op.type, (key, position), inputs, op.outputs, self._tables.of(op, site.recording), site.recording,
            self._clock, site.is_inside, is_backward, own_inputs=len(inputs), columns=len(op.outputs),
        )  # fmt: skip
        if op.hidden is not None:
            node.inputs.extend(tensors[p][j] for p, j in op.hidden.refs)
            node.hidden = op.hidden
        n = self._add(node)
        handles = [i for i in range(node.own_inputs) if self.flat.is_resource(inputs[i])]
        if handles:
            self._use_variables(n, node, handles)
        return [(n, j) for j in range(len(op.outputs))]

    def _use_variables(self, n: int, node: Node, handles: list[int]) -> None:
        """Tie a read of a variable to the writes before it, and a write to what it updates."""
        if writes_variable(node.type):
            node.writes = 1
            if not overwrites_variable(node.type):
                self.state.read(node, 0)
            self.state.write(node.inputs[0], (n, len(node.outputs)))
        elif node.type == "Identity" and node.outputs[0].dtype == "resource":
            self.state.alias((n, 0), node.inputs[0])
        elif node.outputs:
            for i in handles:
                self.state.read(node, i)

    # Calls.

    def _open_call(self, key: str, position: int, op: Op, inputs: list[Tensor], site: _Site) -> list[Tensor]:
        assert op.call is not None
        if op.call.kind is CallKind.FUNCTION:
            return self._body(op.call.bodies[0], inputs, replace(site, prefix=f"{site.prefix}{op.name}/"), (key, position), op)
        if op.call.kind is CallKind.BRANCH:
            return self._open_branches(key, position, op, inputs, site)
        return self._open_loop(key, position, op, inputs, site)

    def _body(self, key: str, arguments: list[Tensor], site: _Site, origin: tuple[str, int], caller: Op) -> list[Tensor]:
        """The results of a body on these arguments."""
        body = self.bodies[key]
        if len(self.flat.nodes) + len(body.ops) > self.budget:
            return self._summarise(key, arguments, site, origin, caller)
        given = dict(zip(body.inputs, arguments, strict=False))
        tensors: list[list[Tensor]] = []
        for position, op in enumerate(body.ops):
            tensors.append([given[position]] if position in given else self._add_op(key, position, op, tensors, site))
        return [tensors[p][j] for p, j in body.outputs]

    def _joint(self, kind: str, op: Op, origin: tuple[str, int], name: str, inputs: list[Tensor], spec: TensorSpec, site: _Site) -> Node:
        is_backward = site.is_backward or any(self.flat.nodes[t[0]].from_backward for t in inputs)
        node = Node(kind, name, op.type, origin, inputs, (spec,), (), site.recording, self._clock, True, is_backward)
        self._add(node)
        return node

    def _last(self) -> Tensor:
        return (len(self.flat.nodes) - 1, 0)

    def _open_branches(self, key: str, position: int, op: Op, inputs: list[Tensor], site: _Site) -> list[Tensor]:
        assert op.call is not None
        condition, arguments = inputs[0], inputs[1:]
        number, name, origin = len(self.flat.conditionals), site.prefix + op.name, (key, position)
        self.flat.conditionals.append(Conditional(origin, name, op.type, op.call.branches, condition))
        results: list[list[Tensor]] = []
        before, after = self.state.snapshot(), []
        for b, (body, branch) in enumerate(zip(op.call.bodies, op.call.branches, strict=True)):
            self.state.restore(before)
            entered: list[Tensor] = []
            for i, t in enumerate(arguments):
                node = self._joint("arg", op, origin, f"{name}/{branch}/input:{i}", [t], self.flat.nodes[t[0]].outputs[t[1]], site)
                node.conditional, node.branch = number, b
                entered.append(self._last())
                if self.flat.is_resource(t):
                    self.state.alias(self._last(), t)
            results.append(self._body(body, entered, replace(site, prefix=f"{name}/{branch}/"), origin, op))
            after.append(self.state.snapshot())
        self.state.join(after)
        outs: list[Tensor] = []
        for j, spec in enumerate(op.outputs):
            merged = [r[j] for r in results if j < len(r)]
            node = self._joint("merge", op, origin, f"{name}:{j}", [*merged, condition], spec, site)
            node.conditional, node.has_condition = number, True
            outs.append(self._last())
        return outs

    def _open_loop(self, key: str, position: int, op: Op, inputs: list[Tensor], site: _Site) -> list[Tensor]:
        assert op.call is not None
        name, origin = site.prefix + op.name, (key, position)
        joints: list[Node] = []
        variables: list[Tensor] = []
        for i, (t, spec) in enumerate(zip(inputs, op.outputs, strict=False)):
            joints.append(self._joint("loop", op, origin, f"{name}/variable:{i}", [t], spec, site))
            variables.append(self._last())
            if self.flat.is_resource(t):
                self.state.alias(self._last(), t)
        self.state.enter_loop()
        decided = self._body(op.call.bodies[1], variables, replace(site, prefix=f"{name}/cond/"), origin, op) if len(op.call.bodies) > 1 else []
        results = self._body(op.call.bodies[0], variables, replace(site, prefix=f"{name}/body/"), origin, op)
        self.state.leave_loop()
        for node, back in zip(joints, results, strict=False):
            node.inputs.append(back)
            if decided:
                node.inputs.append(decided[0])
                node.has_condition = True
        return self._leave_loop(op, origin, name, variables, results, decided, site)

    def _leave_loop(
        self, op: Op, origin: tuple[str, int], name: str, variables: list[Tensor], results: list[Tensor], decided: list[Tensor], site: _Site
    ) -> list[Tensor]:
        """What comes out of a loop: the value of the last round. That it runs no round at all is not what it is written for."""
        outs: list[Tensor] = []
        for j, (t, back) in enumerate(zip(variables, results, strict=False)):
            spec = self.flat.nodes[t[0]].outputs[t[1]]
            left = self._joint("merge", op, origin, f"{name}:{j}", [back, *decided[:1]], spec, site)
            left.has_condition = bool(decided)
            if self.flat.is_resource(t):
                self.state.alias(self._last(), t)
            outs.append(self._last())
        return outs

    # Summaries.

    def _summarise(self, key: str, arguments: list[Tensor], site: _Site, origin: tuple[str, int], caller: Op) -> list[Tensor]:
        """One node for a whole body."""
        summary = self.summaries.get(key)
        if summary is None:
            summary = self.summaries[key] = _summary_of(self.bodies, key, self.budget, self.summaries)
        self.flat.summarised += 1
        is_backward = site.is_backward or any(self.flat.nodes[t[0]].from_backward for t in arguments)
        table = tuple(tuple(unrecorded(way, site.recording) for way in row) for row in summary.table)
        columns = len(summary.outputs) + len(summary.written)
        node = Node(
            "body", site.prefix + "body", caller.type, origin, list(arguments), summary.outputs, table, site.recording, self._clock, True,
            is_backward, own_inputs=len(arguments), columns=columns, writes=len(summary.written),
        )  # fmt: skip
        n = self._add(node)
        for i in summary.reads:
            self.state.read(node, i)
        for k, (i, keeps) in enumerate(summary.written):
            self.state.write(arguments[i], (n, len(summary.outputs) + k), keeps)
        return [(n, j) for j in range(len(summary.outputs))]


def _summary_of(bodies: Mapping[str, Body], key: str, budget: int, summaries: dict[str, Summary]) -> Summary:
    """Flatten a body on its own, recorded throughout, and judge each way through it."""
    flattener = _Flattener(bodies, Tape(), budget, summaries)
    flat, body = flattener.flat, bodies[key]
    handles: dict[int, Tensor] = {}
    arguments: list[Tensor] = []
    for i, position in enumerate(body.inputs):
        op = body.ops[position]
        n = flattener._add(Node("op", op.name, op.type, (key, position), [], op.outputs))
        arguments.append((n, 0))
        if flat.is_resource((n, 0)):
            handles[i] = (flattener._add(Node("op", f"{op.name} before", "State", (key, position), [], op.outputs)), 0)
            flattener.state.begin((n, 0), [handles[i]])
    given = dict(zip(body.inputs, arguments, strict=True))
    tensors: list[list[Tensor]] = []
    for position, op in enumerate(body.ops):
        tensors.append([given[position]] if position in given else flattener._add_op(key, position, op, tensors, _Site()))
    writes = {i: flattener.state.writes_of(arguments[i]) for i in handles}
    return Summary.of(flat, arguments, handles, [tensors[p][j] for p, j in body.outputs], writes)


def flatten(bodies: Mapping[str, Body], call: GradientCall, budget: int = BUDGET) -> Flat:
    """The flat graph of everything in the call's graph that existed when the call was made, and of the graphs around it."""
    flattener = _Flattener(bodies, call.tape, budget, {})
    flattener.asked = frozenset((call.body, s.ref) for s in call.sources if s.ref is not None)
    flattener.open_root(call.body, call.order)
    return flattener.flat

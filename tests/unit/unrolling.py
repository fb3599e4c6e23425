"""An oracle for the analysis, as simple-minded as can be: every body written out at each call, every loop round by round, every choice tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product

from tapetrace.model.trace import Body, CallKind, Gate, GradientCall, Op, Recording

Choice = Mapping[str, int]


@dataclass(frozen=True)
class Edge:
    """Data flows from tensor ``tail`` to ``head`` at the op ``name``; ``gate`` is what is said of the way, ``outside`` that no tape saw it.

    ``enters`` is the branch that must be taken: (conditional, number).
    """

    tail: int
    head: int
    name: str
    gate: Gate
    outside: bool = False
    enters: tuple[str, int] | None = None

    @property
    def is_open(self) -> bool:
        return self.gate is Gate.OPEN and not self.outside

    @property
    def is_break(self) -> bool:
        """Closed for a reason of its own."""
        return self.gate not in (Gate.OPEN, Gate.NON_FLOAT_INPUT)


@dataclass
class Unrolled:
    """The tensors of a step are numbered in the order in which they are made, so that every edge leads to a higher number."""

    bodies: Mapping[str, Body]
    call: GradientCall
    edges: list[Edge] = field(default_factory=list)
    branches: dict[str, int] = field(default_factory=dict)
    made: int = 0

    def run(self) -> Unrolled:
        body = self.bodies[self.call.body]
        tensors: list[list[int]] = []
        for op in body.ops:
            outside = self.call.tape.recording(body.key, op.order) is not Recording.RECORDED
            tensors.append(self.op(op, [tensors[p][j] for p, j in op.inputs], "", outside))
        self.sources = [tensors[s.ref[0]][s.ref[1]] for s in self.call.sources if s.ref is not None]
        self.targets = {tensors[r[0]][r[1]] for r in self.call.targets if r is not None}
        return self

    def tensor(self) -> int:
        self.made += 1
        return self.made

    def join(self, tails: list[int], name: str, outside: bool, gate: Gate = Gate.OPEN, enters: tuple[str, int] | None = None) -> int:
        head = self.tensor()
        self.edges += [Edge(t, head, name, gate, outside, enters) for t in tails]
        return head

    def op(self, op: Op, inputs: list[int], prefix: str, outside: bool) -> list[int]:
        name = prefix + op.name
        if op.call is None:
            outputs = [self.tensor() for _ in op.outputs]
            for i, tail in enumerate(inputs):
                for j, head in enumerate(outputs):
                    assert op.gates is not None
                    self.edges.append(Edge(tail, head, name, op.gates.rows[i][j], outside))
            return outputs
        if op.call.kind is CallKind.FUNCTION:
            return self.body(op.call.bodies[0], inputs, f"{name}/", outside)
        if op.call.kind is CallKind.BRANCH:
            self.branches[name] = len(op.call.bodies)
            results = []
            for b, (key, called) in enumerate(zip(op.call.bodies, op.call.branches, strict=True)):
                entered = [self.join([t], f"{name}/{called}", outside, enters=(name, b)) for t in inputs[1:]]
                results.append(self.body(key, entered, f"{name}/{called}/", outside))
            return [self.decided(list(tails), inputs[0], name, outside) for tails in zip(*results, strict=True)]
        return self.loop(op, inputs, name, outside)

    def decided(self, tails: list[int], condition: int, name: str, outside: bool) -> int:
        head = self.join(tails, name, outside)
        self.edges.append(Edge(condition, head, name, Gate.NON_FLOAT_INPUT, outside))
        return head

    def loop(self, op: Op, inputs: list[int], name: str, outside: bool) -> list[int]:
        assert op.call is not None
        state = [self.join([t], name, outside) for t in inputs]
        after: list[list[int]] = [[] for _ in state]
        conditions = []
        for _ in range(len(inputs) + 1):
            condition = self.body(op.call.bodies[1], state, f"{name}/cond/", outside)[0]
            back = self.body(op.call.bodies[0], state, f"{name}/body/", outside)
            state = [self.decided([t], condition, name, outside) for t in back]
            conditions.append(condition)
            for results, t in zip(after, state, strict=True):
                results.append(t)
        outputs = []
        for results in after:
            head = self.tensor()
            # That a round more or less was taken is no op: the tensor is one of these. There is at least one.
            self.edges += [Edge(t, head, "", Gate.OPEN) for t in results]
            self.edges += [Edge(c, head, name, Gate.NON_FLOAT_INPUT, outside) for c in conditions]
            outputs.append(head)
        return outputs

    def body(self, key: str, arguments: list[int], prefix: str, outside: bool) -> list[int]:
        body = self.bodies[key]
        given = dict(zip(body.inputs, arguments, strict=True))
        tensors: list[list[int]] = []
        for position, op in enumerate(body.ops):
            if position in given:
                tensors.append([given[position]])
            else:
                tensors.append(self.op(op, [tensors[p][j] for p, j in op.inputs], prefix, outside))
        return [tensors[p][j] for p, j in body.outputs]

    # Questions.

    def reaching(self, passes: Callable[[Edge], bool]) -> list[bool]:
        """For each source: whether it reaches a target over these edges."""
        alive = set(self.targets)
        for edge in sorted(self.edges, key=lambda e: -e.head):
            if edge.head in alive and passes(edge):
                alive.add(edge.tail)
        return [s in alive for s in self.sources]

    def live_under(self, choice: Choice) -> list[bool]:
        return self.reaching(lambda e: e.is_open and (e.enters is None or choice[e.enters[0]] == e.enters[1]))

    def verdicts(self) -> list[str]:
        """``connected``, ``conditional`` or ``dead`` for each source."""
        possible = self.reaching(lambda e: e.is_open)
        always = [True] * len(possible)
        for taken in product(*(range(n) for n in self.branches.values())):
            always = [a and b for a, b in zip(always, self.live_under(dict(zip(self.branches, taken, strict=True))), strict=True)]
        return ["connected" if a else "conditional" if p else "dead" for a, p in zip(always, possible, strict=True)]

    def fewest_breaks(self, start: int) -> int | None:
        """The breaks on the best data path from a tensor, a stretch outside the tape counted once; None without a path."""
        best: dict[tuple[int, bool], int] = {(start, False): 0}
        for edge in sorted(self.edges, key=lambda e: e.tail):
            for in_stretch in (False, True):
                cost = best.get((edge.tail, in_stretch))
                if cost is None:
                    continue
                is_unseen = edge.gate is Gate.OPEN and edge.outside
                cost += edge.is_break or (is_unseen and not in_stretch)
                stays = is_unseen or (in_stretch and (not edge.is_open or edge.name == ""))
                key = (edge.head, stays)
                best[key] = min(cost, best.get(key, cost))
        found = [best[t, s] for t in self.targets for s in (False, True) if (t, s) in best]
        return min(found) if found else None

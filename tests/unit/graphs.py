"""Traces written by hand: a few ops with letters for names, inputs by name (``a``, or ``a:1`` for its second output)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tapetrace.analysis.analyse import analyse
from tapetrace.analysis.connection import Connection
from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import Report, SourceResult
from tapetrace.model.trace import (
    Body,
    CallKind,
    FunctionCall,
    Gate,
    GateTable,
    GradientCall,
    Hidden,
    Op,
    OtherVariable,
    Ref,
    Source,
    Tape,
    TensorSpec,
    Trace,
    TraceError,
)
from tapetrace.model.words import Cause

FLOAT = TensorSpec("float32", ())
HANDLE = TensorSpec("resource", ())


@cache
def shared(rows: tuple[tuple[Gate, ...], ...], integers: tuple[tuple[int, str], ...] = ()) -> GateTable:
    """Ops that look alike share their gates, as those do that TensorFlow was asked about."""
    return GateTable(rows, "", integers)


def spec(dtype: str) -> TensorSpec:
    return TensorSpec(dtype, ())


@dataclass
class Graph:
    """One body. ``lines`` gives ops a place in the code."""

    key: str = "step"
    ops: list[Op] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    parameters: list[int] = field(default_factory=list)
    results: tuple[Ref, ...] = ()
    lines: dict[int, int] = field(default_factory=dict)

    def ref(self, name: str) -> Ref:
        op, _, output = name.partition(":")
        return (self.place[op], int(output or 0))

    def refs(self, names: str) -> tuple[Ref, ...]:
        return tuple(self.ref(n) for n in names.split())

    def add(self, op: Op, line: int | None = None) -> Graph:
        if line is not None:
            self.lines[len(self.ops)] = line
        self.place[op.name] = len(self.ops)
        self.ops.append(op)
        return self

    @property
    def order(self) -> int:
        return len(self.ops)

    def variables(self, names: str) -> Graph:
        for name in names.split():
            self.add(Op(name, "Variable", outputs=(HANDLE,), order=self.order))
        return self

    def tensors(self, names: str, dtype: str = "float32", type: str = "Argument") -> Graph:
        for name in names.split():
            self.add(Op(name, type, outputs=(spec(dtype),), order=self.order))
        return self

    def inputs(self, names: str, dtype: str = "float32") -> Graph:
        """Parameters of a function body."""
        for name in names.split():
            self.parameters.append(len(self.ops))
            self.add(Op(name, "Argument", outputs=(spec(dtype),), order=self.order))
        return self

    def op(
        self, name: str, inputs: str = "", gate: Gate = Gate.OPEN, *, gates: Mapping[tuple[int, int], Gate] | None = None, type: str = "Op",
        dtypes: str = "float32", line: int | None = None, made_by: int | None = None, hidden: tuple[str, Cause] | None = None, integers: str = "",
    ) -> Graph:  # fmt: skip
        """``gate`` for all ways, ``gates`` for single ones; integers carry nothing, as TensorFlow sees to it. ``integers`` names the inputs that can
        be nothing else, a dash stands for one that can."""
        reads = self.refs(inputs)
        outputs = tuple(spec(d) for d in dtypes.split())

        def table(i: int, j: int) -> Gate:
            if gates and (i, j) in gates:
                return gates[i, j]
            p, k = reads[i]
            if self.ops[p].outputs[k].dtype.startswith(("int", "bool")):
                return Gate.NON_FLOAT_INPUT
            return Gate.NON_FLOAT_OUTPUT if outputs[j].dtype.startswith(("int", "bool")) and gate is Gate.OPEN else gate

        rows = tuple(tuple(table(i, j) for j in range(len(outputs))) for i in range(len(reads)))
        only = tuple((i, name) for i, name in enumerate(integers.split()) if name != "-")
        lost = Hidden(self.refs(hidden[0]), hidden[1]) if hidden else None
        return self.add(Op(name, type, reads, outputs, shared(rows, only), None, self.order, made_by, None, lost), line)

    def read(self, name: str, variable: str, line: int | None = None) -> Graph:
        return self.op(name, variable, type="ReadVariableOp", line=line)

    def assign(self, name: str, variable: str, value: str, line: int | None = None) -> Graph:
        return self.op(name, f"{variable} {value}", type="AssignVariableOp", dtypes="", line=line)

    def assign_add(self, name: str, variable: str, value: str) -> Graph:
        return self.op(name, f"{variable} {value}", type="AssignAddVariableOp", dtypes="")

    def captured(self, name: str, outer: Graph, of: str) -> Graph:
        return self.add(Op(name, "Captured", outputs=(FLOAT,), order=self.order, outer=(outer.key, outer.ref(of))))

    def call(self, name: str, body: Graph, inputs: str, line: int | None = None, made_by: int | None = None) -> Graph:
        return self._call(name, "PartitionedCall", FunctionCall(CallKind.FUNCTION, (body.key,)), inputs, body, line, made_by)

    def cond(self, name: str, condition: str, inputs: str, *branches: Graph, line: int | None = None) -> Graph:
        names = ("true", "false") if len(branches) == 2 else tuple(str(b) for b in range(len(branches)))
        called = FunctionCall(CallKind.BRANCH, tuple(b.key for b in branches), names)
        return self._call(name, "If" if len(branches) == 2 else "Case", called, f"{condition} {inputs}", branches[0], line)

    def loop(self, name: str, inputs: str, body: Graph, condition: Graph) -> Graph:
        return self._call(name, "While", FunctionCall(CallKind.LOOP, (body.key, condition.key)), inputs, body)

    def _call(
        self, name: str, type: str, call: FunctionCall, inputs: str, body: Graph, line: int | None = None, made_by: int | None = None
    ) -> Graph:  # fmt: skip
        outputs = tuple(body.ops[p].outputs[j] for p, j in body.results)
        return self.add(Op(name, type, self.refs(inputs), outputs, None, call, self.order, made_by), line)

    def returns(self, names: str) -> Graph:
        self.results = self.refs(names)
        return self

    @property
    def body(self) -> Body:
        return Body(self.key, tuple(self.ops), tuple(self.parameters), self.results)


def body(key: str, inputs: str = "", ints: str = "", handles: str = "") -> Graph:
    """A function body with these parameters: floats first, then integers, then handles of variables."""
    return Graph(key).inputs(inputs).inputs(ints, "int32").inputs(handles, "resource")


def source(graph: Graph, name: str, **facts: Any) -> Source:
    """A variable or tensor of the graph; one that it never mentions has no ref."""
    known = name in graph.place
    op = graph.ops[graph.ref(name)[0]] if known else None
    kind = "tensor" if op and op.type != "Variable" else "variable"
    held = op.outputs[graph.ref(name)[1]] if op and kind == "tensor" else FLOAT
    given = {"is_float": held.dtype == "float32", **facts}
    return Source(name, name, given.pop("kind", kind), given.pop("spec", held), graph.ref(name) if known else None, **given)


def call(
    graph: Graph, target: str = "loss", sources: str = "w", *, watched: Mapping[str, int] | str | None = None, facts: Mapping[str, Any] | None = None,
    float_target: bool = True, order: int | None = None, **more: Any,
) -> GradientCall:  # fmt: skip
    """A gradient call at the end of ``graph``; ``watched`` None: there is no tape. ``facts`` go into every source."""
    named = dict.fromkeys(watched.split(), 0) if isinstance(watched, str) else watched
    targets = target.split()
    return GradientCall(
        "gradient",
        graph.key,
        len(graph.ops) if order is None else order,
        tuple(graph.ref(t) for t in targets),
        tuple(targets),
        tuple(source(graph, s, **(facts or {})) for s in sources.split()),
        more.pop("tape", Tape()),
        (float_target,) * len(targets),
        None if named is None else tuple((graph.ref(n), at) for n, at in named.items()),
        **more,
    )


def trace(graphs: Graph | Iterable[Graph], *calls: GradientCall, variables: tuple[OtherVariable, ...] = (), **more: Any) -> Trace:
    """A trace of these bodies and calls; ops with a line are in ``step.py``."""
    given = [graphs] if isinstance(graphs, Graph) else list(graphs)
    by_key = {g.key: g for g in given}

    def locate(key: str, position: int, inside: Frame | None = None) -> Location | None:
        line = by_key[key].lines.get(position)
        return None if line is None else Location.new("step.py", line, "step")

    return Trace("step", "2.21", "3", "graph", {g.key: g.body for g in given}, calls, variables, locate=locate, **more)


def report(graphs: Graph | Iterable[Graph], target: str = "loss", sources: str = "w", *, budget: int = 10_000, **more: Any) -> Report:
    """The report on one call, in the first graph. What it says of `Agreement` is left to the caller."""
    given = [graphs] if isinstance(graphs, Graph) else list(graphs)
    return analyse(trace(given, call(given[0], target, sources, **more)), budget)


def answers(found: Report, call: int = 0) -> dict[str, SourceResult]:
    return {s.name: s for s in found.calls[call].sources}


def verdicts(found: Report, call: int = 0) -> dict[str, str]:
    return {name: s.verdict.value for name, s in answers(found, call).items()}


def causes(found: Report, name: str = "w", call: int = 0) -> list[str]:
    """The causes of the breaks of a source, in the direction of the data."""
    return [b.cause.value for b in answers(found, call)[name].breaks]


def ops(found: Report, name: str = "w", call: int = 0) -> list[str]:
    """The ops of the breaks of a source."""
    return [b.op for b in answers(found, call)[name].breaks]


def connection(graphs: Graph | Iterable[Graph], target: str = "loss", sources: str = "w", *, budget: int = 10_000, **more: Any) -> Connection:
    given = [graphs] if isinstance(graphs, Graph) else list(graphs)
    return Connection({g.key: g.body for g in given}, call(given[0], target, sources, **more), budget)


def names(found: Connection, tensors: Iterable[tuple[int, int]]) -> set[str]:
    """Names of the ops that these tensors come from."""
    return {found.flat.nodes[n].name for n, _ in tensors}


LOOKUP_ERROR = TraceError("LookupError", "No gradient defined for operation 'X'")

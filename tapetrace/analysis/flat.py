"""One flat graph for one gradient call: what the later questions search. `tapetrace.analysis.flattening` makes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tapetrace.analysis.ways import CARRIED, CARRIED_WRITE, NO_DATA, OPEN, WRITE, Passage, Way, judge, unrecorded
from tapetrace.model.trace import CallKind, Gate, Hidden, Op, Recording, Ref, TensorSpec

Tensor = tuple[int, int]
"""(node of the flat graph, index of its output)"""

Table = tuple[tuple[Way, ...], ...]
"""``table[i][j]``: what gradient does on its way from output ``j`` back to input ``i``"""


class Tables:
    """The judgements on each gate of an op. Ops that look alike share their gates, and so their table."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, Recording], Table] = {}

    def of(self, op: Op, recording: Recording) -> Table:
        key = (op.type, id(op.gates), recording)
        known = self._known.get(key) if op.gates is not None else None
        if known is None:
            rows = op.gates.rows if op.gates is not None else ((Gate.UNKNOWN,) * len(op.outputs),) * len(op.inputs)
            indices = {i for i, _ in op.gates.integers} if op.gates is not None else ()
            known = tuple(tuple(judge(op.type, gate, recording, i in indices) for gate in row) for i, row in enumerate(rows))
            if op.gates is not None:
                self._known[key] = known
        return known


@dataclass(slots=True)
class Node:
    """One op at one call site, a body that is not opened, or a joint that flattening adds.

    ``kind``: ``op``; ``body`` (a function body as a whole); ``arg`` (a value entering a branch), ``merge`` (an output of a conditional, one input
    a branch, the condition last), ``loop`` (a loop variable: initial value, value of the next round, the loop's condition last).
    ``origin`` is (body key, position) of the op that it stands for; ``order`` the rank, in the graph of the gradient call, of the op that it
    belongs to.
    """

    kind: str
    name: str
    type: str
    origin: tuple[str, int]
    inputs: list[Tensor]
    outputs: tuple[TensorSpec, ...]
    table: Table = ()
    """The ways through the op, or the body; of a body also, after the rows of its inputs, those of what each was written to before."""
    recording: Recording = Recording.RECORDED
    order: int = 0
    is_inside: bool = False
    """Part of a function that the call's graph, or one around it, calls: the tape sees the function as one op."""
    from_backward: bool = False
    """Part of a backward pass, or computed from the result of a gradient call."""
    conditional: int = -1
    """For ``arg`` and ``merge``: number of the conditional, for ``Flat.conditionals``."""
    branch: int = -1
    """For ``arg``: which branch."""
    has_condition: bool = False
    """For ``merge`` and ``loop``: whether the last input only decides."""
    own_inputs: int = 0
    """How many inputs the op itself has; hidden ones follow, then earlier writes of the variables that it reads or updates."""
    hidden: Hidden | None = None
    state_of: list[int] = field(default_factory=list)
    """For each earlier write among the inputs, at the end: which of the op's own inputs is the variable."""
    writes: int = 0
    """How many variables it writes: each is a pseudo output after the real ones."""
    columns: int = 0
    """How many outputs the table knows: for a body, those for writes included."""

    @property
    def output_count(self) -> int:
        """Outputs, the pseudo outputs of variable writes included."""
        return len(self.outputs) + self.writes

    def is_hidden_input(self, input_index: int) -> bool:
        """Whether no tensor shows that the op depends on this input."""
        return self.kind == "op" and self.own_inputs <= input_index < len(self.inputs) - len(self.state_of)

    def way(self, input_index: int, output_index: int) -> Way:
        """What gradient does on its way from output ``output_index`` back to input ``input_index``."""
        if input_index < self.own_inputs and output_index < self.columns:
            return self.table[input_index][output_index]
        if self.kind == "body":
            return self.table[self.own_inputs + self._variable(input_index)][output_index]
        if self.kind == "op":
            return self._way_past_gates(input_index, output_index)
        if self.has_condition and input_index == len(self.inputs) - 1:
            return CARRIED
        return unrecorded(OPEN, self.recording)

    def _way_past_gates(self, i: int, j: int) -> Way:
        is_state = i >= len(self.inputs) - len(self.state_of)
        if j >= len(self.outputs):
            return CARRIED_WRITE if is_state else NO_DATA if i == 0 else WRITE
        if is_state:
            return self.table[self._variable(i)][j]  # what was written is read as the variable itself is
        assert self.hidden is not None
        return Way(Passage.CLOSED, self.hidden.cause)

    def _variable(self, input_index: int) -> int:
        return self.state_of[input_index - len(self.inputs) + len(self.state_of)]


@dataclass(frozen=True, slots=True)
class Conditional:
    """A ``tf.cond`` or ``switch_case`` at one call site."""

    op: tuple[str, int]
    name: str
    type: str
    branches: tuple[str, ...]
    condition: Tensor


@dataclass(frozen=True, slots=True)
class CallSite:
    """An op that runs bodies, for which the nodes ``first`` to ``last`` (exclusive) stand. To a tape, and to a gradient function, it is one op."""

    kind: CallKind
    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    first: int
    last: int
    order: int
    is_recorded: bool
    is_inside: bool


@dataclass(slots=True)
class Flat:
    """The flat graph of one gradient call. ``tensors`` maps (body key, ref) of the call's own graph to flat tensors; ``summarised`` counts the
    bodies that are not opened."""

    nodes: list[Node] = field(default_factory=list)
    conditionals: list[Conditional] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
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

    def dtype(self, t: Tensor) -> str:
        """Its dtype name, empty for a pseudo output."""
        outputs = self.nodes[t[0]].outputs
        return outputs[t[1]].dtype if t[1] < len(outputs) else ""

    def is_resource(self, t: Tensor) -> bool:
        """Whether ``t`` is the handle of a variable, table or iterator."""
        return self.dtype(t) == "resource"

    def carries_gradient(self, t: Tensor) -> bool:
        """Whether a tape looks at ``t`` at all; of a resource or variant it looks at what is inside."""
        return self.dtype(t).startswith(("float", "bfloat", "complex", "resource", "variant"))

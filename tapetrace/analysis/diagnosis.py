"""Breaks with their place, detail and remedy: what a step of a path, or a source on its own, tells the person who wrote the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.flat import Node, Tensor
from tapetrace.analysis.paths import Step
from tapetrace.analysis.remedies import Index, Situation, remedy_for
from tapetrace.analysis.ways import PREVENTS, Passage, is_python
from tapetrace.model.compiled_loss import is_compiled_loss, remedy_for_metric
from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import Break
from tapetrace.model.trace import Source, Trace
from tapetrace.model.words import Cause

_NOT_RECORDED = frozenset({Cause.OUTSIDE_TAPE, Cause.RECORDING_STOPPED})


class Diagnosis:
    """Makes breaks for one gradient call. Locations are read from the trace only here, for what is shown."""

    def __init__(self, trace: Trace, connection: Connection) -> None:
        self.trace = trace
        self.connection = connection
        self.call = connection.call
        self.flat = connection.flat

    def locate(self, node: Node) -> Location | None:
        return self.trace.locate(*node.origin)

    def of_step(self, step: Step, path: Sequence[Step] = ()) -> Break:
        """The break at a closed gate on a path."""
        node = self.flat.nodes[step.node]
        cause = step.way.cause
        assert cause is not None
        location = self._place(step, node, cause)
        dtype = node.outputs[step.output_index].dtype if step.output_index < len(node.outputs) else ""
        situation = Situation(
            cause,
            op_type=node.type,
            location=location,
            tape_opened=self.call.tape.opened,
            tape_closed_after=self._after_tape(node) if cause is Cause.OUTSIDE_TAPE else None,
            tape_was_reset=self.call.tape.was_reset,
            dtype=dtype,
            inner_call=self._inner_call(path) if cause is Cause.OUTSIDE_TAPE else None,
            index=self._index(step, path, location),
            variable=self._variable_of(step, node, cause),
            is_straight_through=cause is Cause.STOP_GRADIENT and self._is_straight_through(step.node),
        )
        if step.way.passage is Passage.INDEX:
            detail = f"`{situation.index.name}` takes integers only" if situation.index else "integers only are taken here"
        else:
            detail = self._detail(cause, node, dtype)
        remedy = remedy_for_metric(node.name) or remedy_for(situation)
        return Break(cause, node.name, node.type, location, remedy, detail, self._reenters(node, cause, location))

    def _variable_of(self, step: Step, node: Node, cause: Cause) -> str:
        """The variable that is written, or for which a custom gradient returns nothing."""
        if cause is Cause.VARIABLE_WRITE and node.kind == "op" and node.inputs:
            written = self._behind(node.inputs[0][0])
            return written.name if written.type == "Variable" else ""
        source = self.flat.nodes[step.tensor[0]]
        source = self._behind(source.inputs[0][0]) if source.type == "ReadVariableOp" else source
        return source.name if cause is Cause.CUSTOM_GRADIENT and source.type == "Variable" else ""

    def _is_straight_through(self, n: int) -> bool:
        """Whether a node that stops ``q - z`` is added to that very ``z``."""
        nodes = self.flat.nodes
        difference = nodes[nodes[n].inputs[0][0]]
        if difference.type != "Sub":
            return False
        added = (nodes[m] for m, _ in self.flat.consumers.get((n, 0), ()) if nodes[m].type in ("Add", "AddV2"))
        return any(self._read(t) == self._read(difference.inputs[1]) for sum_ in added for t in sum_.inputs)

    def _read(self, t: Tensor) -> Tensor:
        """The variable in place of a value read from it: each use reads it anew."""
        node = self.flat.nodes[t[0]]
        return node.inputs[0] if node.type == "ReadVariableOp" else t

    def _index(self, step: Step, path: Sequence[Step], here: Location | None) -> Index | None:
        """The first input on the way on from a step, its own included, that takes integers only."""
        rest = path[path.index(step) :] if step in path else (step,)
        found = next((s for s in rest if s.way.passage is Passage.INDEX), None)
        node = None if found is None else self.flat.nodes[found.node]
        if found is None or node is None or node.kind != "op":
            return None
        gates = self.trace.bodies[node.origin[0]].ops[node.origin[1]].gates
        name = dict(gates.integers).get(found.input_index, "") if gates else ""
        there = self.locate(node)
        return Index(node.type, name, there.frame if there and (here is None or there.key != here.key) else None)

    def _reenters(self, node: Node, cause: Cause, left: Location | None) -> Location | None:
        """Where a value came back that had left on another line."""
        if node.hidden is None or cause is not node.hidden.cause or left is None:
            return None
        back = self.locate(node)
        return back if back is not None and back.key != left.key else None

    def _place(self, step: Step, node: Node, cause: Cause) -> Location | None:
        if node.hidden is not None and cause is node.hidden.cause and node.hidden.location is not None:
            return node.hidden.location
        if cause in _NOT_RECORDED and self.call.tape.opened is not None:
            return self.trace.locate(*node.origin, self.call.tape.opened)
        return self.locate(node) or (self.trace.compiled_at if is_compiled_loss(node.name) else None)

    def _inner_call(self, path: Sequence[Step]) -> Frame | None:
        """The other gradient call whose backward pass a path goes through outside the tape."""
        for step in path:
            node = self.flat.nodes[step.node]
            if node.kind == "op" and node.from_backward and step.way.cause is Cause.OUTSIDE_TAPE:
                body, position = node.origin
                number = self.trace.bodies[body].ops[position].made_by_call
                call = next((c for c in self.trace.calls if c.number == number), None)
                if call is not None and call is not self.call and call.location is not None:
                    return call.location.frame
        return None

    def _after_tape(self, node: Node) -> bool | None:
        """True when the op came after the tape was closed, False when before it was opened."""
        windows = self.call.tape.windows.get(self.call.body)
        recorded = [w for w in windows or () if not w.stopped]
        if not recorded:
            return None
        return node.order >= recorded[0].start

    def _detail(self, cause: Cause, node: Node, dtype: str) -> str:
        if cause is Cause.NON_FLOAT and dtype:
            return f"the value is {dtype} from here on"
        if cause is Cause.VARIABLE_WRITE and node.kind == "op" and node.inputs:
            return f"written into {self._behind(node.inputs[0][0]).name} and read back"
        if cause is Cause.NOT_PROBED:
            gates = self.trace.bodies[node.origin[0]].ops[node.origin[1]].gates
            return gates.note if gates else ""
        if cause is Cause.CAPTURED_VALUE and node.outputs:
            return f"{node.outputs[0]} was made before the step"
        return ""

    def _behind(self, n: int) -> Node:
        """The variable whose handle this node hands into a branch, a loop or on."""
        node = self.flat.nodes[n]
        while node.inputs and (node.kind in ("arg", "loop") or node.type == "Identity"):
            node = self.flat.nodes[node.inputs[0][0]]
        return node

    def of_source(self, source: Source, cause: Cause, detail: str = "") -> Break:
        """A break that lies in the source itself, not in an op."""
        location = source.made_at
        if location is None and source.kind == "tensor" and source.ref is not None:
            location = self.trace.locate(self.call.body, source.ref[0])
        if location is None:
            location = self.call.location
        situation = Situation(
            cause, location=location, variable=source.path or source.name, kind=source.kind, trainable=source.trainable,
            layer=source.owner, dtype=source.spec.dtype, tape_opened=self.call.tape.opened, is_keras=source.is_keras,
            watches_variables=self.call.tape.watches_variables,
        )  # fmt: skip
        return Break(cause, "", "", location, remedy_for(situation), detail)

    def of_call(self, cause: Cause, detail: str = "") -> Break:
        """A break that lies in the gradient call."""
        situation = Situation(cause, location=self.call.location, tape_opened=self.call.tape.opened)
        return Break(cause, "", "", self.call.location, remedy_for(situation), detail)

    def of_raising_op(self, n: int) -> Break:
        """The op without a registered gradient, or that forbids one, at which the call raises."""
        node = self.flat.nodes[n]
        location = self.locate(node)
        cause = Cause.STOP_GRADIENT if node.type == PREVENTS else Cause.NO_GRADIENT_REGISTERED
        return Break(cause, node.name, node.type, location, remedy_for(Situation(cause, op_type=node.type, location=location)))

    def of_failing_op(self, n: int | None) -> Break:
        """The op whose gradient function raises, None: nobody knows which; with what it says."""
        error, node = self.call.error, None if n is None else self.flat.nodes[n]
        said = f"{error.type}: {(error.message.strip().splitlines() or [''])[0]}" if error else ""
        cause = Cause.NOT_PROBED
        if node is not None and is_python(node.type):
            cause, said = Cause.PYTHON_FUNCTION, f"its backward pass fails when it runs: {said}"
        location = (self.locate(node) if node else None) or self.call.location
        name, op_type = (node.name, node.type) if node else ("", "")
        return Break(cause, name, op_type, location, remedy_for(Situation(cause, op_type=op_type, location=location, raises=True)), said)

    def of_branch(self, entering: Node) -> Break:
        """The branch that must be taken for a conditional source: the one that ``entering`` leads into."""
        conditional = self.flat.conditionals[entering.conditional]
        branch = conditional.branches[entering.branch]
        location = self.trace.locate(*conditional.op)
        condition = self.flat.nodes[conditional.condition[0]]
        decided = self.locate(condition)
        deciding = condition.name if condition.type in ("Argument", "Captured", "Variable") else condition.type
        what = f"decided by {deciding}" + (f" at {decided.place}" if decided and location and decided.key != location.key else "")
        situation = Situation(Cause.OTHER_BRANCH, op_type=conditional.type, location=location, branch=branch, condition=condition.type)
        detail = f"live only in branch {branch} of {conditional.type}, {what}"
        return Break(Cause.OTHER_BRANCH, conditional.name, conditional.type, location, remedy_for(situation), detail)

    def of_some_branch(self, body: Node) -> Break:
        """The same, for a conditional inside a function that was not opened."""
        location = self.locate(body)
        remedy = remedy_for(Situation(Cause.OTHER_BRANCH, op_type=body.type, location=location))
        return Break(Cause.OTHER_BRANCH, body.name, body.type, location, remedy, f"live only when some branch inside {body.name} is taken")

    def of_dead_end(self, source: Source, chain: list[int]) -> Break:
        """The last op computed from a source whose result nothing uses; or what each round of a loop puts in its place."""
        node, detail = self.flat.nodes[chain[-1]], ""
        instead = self._in_its_place(chain[-1])
        if instead is None:
            detail = f"the last op computed from it is {node.type}"
        else:
            node, detail = instead, "each round of the loop puts this in its place, without using it"
        location = self.locate(node)
        if self.trace.compiled_at is not None and self._is_output(location):
            location = self.trace.compiled_at  # where the output was given no loss
        situation = Situation(Cause.UNUSED_RESULT, op_type=node.type, location=location, variable=source.path or source.name, layer=source.owner)
        return Break(Cause.UNUSED_RESULT, node.name, node.type, location, remedy_for(situation), detail)

    def _is_output(self, location: Location | None) -> bool:
        """Whether no line stands there but of those that put layers together, so that what comes out is an output of the model."""
        lines = self.trace.building_lines()
        return location is None or all((f.file, f.line) in lines for f in (location.frame, *location.called_from))

    def _in_its_place(self, last: int) -> Node | None:
        """What a loop makes of a variable of its own that begins with the result of node ``last``, if it makes that of something else."""
        nodes = self.flat.nodes
        for j in range(nodes[last].output_count):
            for n, i in self.flat.consumers.get((last, j), ()):
                if nodes[n].kind == "loop" and i == 0 and nodes[n].inputs[1:] and nodes[n].inputs[1][0] != n:
                    made = nodes[nodes[n].inputs[1][0]]
                    while made.type == "Identity" and made.inputs:  # AutoGraph's, on the line of the loop
                        made = nodes[made.inputs[0][0]]
                    return made
        return None

    def unread(self, source: Source, read_owners: frozenset[str]) -> Break:
        """A source that the step never reads."""
        detail = ""
        if source.left_at is not None:
            detail = f"its value was handed to Python before the step, at {source.left_at.place}, and is a constant from then on"
        elif source.owner and source.owner not in read_owners:
            detail = f"layer {source.owner} was not called"
        return self.of_source(source, Cause.NEVER_READ, detail)


def numbered(b: Break, number: int) -> Break:
    """The break with the number of its root cause."""
    return replace(b, root_cause=number)

"""The graph of what matters in each call: sources, targets, breaks, what lies between, and the dead ends of broken sources."""

from __future__ import annotations

from collections.abc import Sequence

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.flat import Flat, Node, Tensor
from tapetrace.analysis.sources import Answer
from tapetrace.analysis.ways import Passage, Way
from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.report import CallResult
from tapetrace.model.trace import CallKind, Trace
from tapetrace.model.words import Verdict


def draw(trace: Trace, parts: Sequence[tuple[Connection, list[Answer], CallResult]]) -> ReportGraph:
    """One graph for the report. The nodes of a second and later call carry the call in their name, since their status may differ."""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    for index, (connection, answers, result) in enumerate(parts):
        painter = _Painter(trace, connection, answers, result, index)
        nodes.extend(painter.nodes())
        edges.extend(painter.edges())
    return ReportGraph(tuple(nodes), tuple(edges))


def _carries_data(way: Way) -> bool:
    return way.passage is not Passage.NO_DATA


_STATUS = {Verdict.CONNECTED: Status.LIVE, Verdict.CONDITIONAL: Status.CONDITIONAL, Verdict.OPAQUE: Status.OPAQUE}


def _path(answer: Answer) -> str:
    return answer.source.path or answer.source.name


def _weights(nodes: Sequence[Node]) -> set[int]:
    """The nodes that depend on variables and constants alone; the way back of a loop is not looked at."""
    found: set[int] = set()
    for n, node in enumerate(nodes):
        before = {t[0] for t in node.inputs[: node.own_inputs if node.kind == "op" else None] if t[0] < n}
        if node.type in ("Variable", "Const") or (node.kind in ("op", "arg", "loop") and before and before <= found):
            found.add(n)
    return found


class _Painter:
    def __init__(self, trace: Trace, connection: Connection, answers: list[Answer], result: CallResult, index: int) -> None:
        self.trace = trace
        self.connection = connection
        self.flat: Flat = connection.flat
        self.answers = answers
        self.index = index
        self.source_of = {a.tensor: a for a in answers if a.tensor is not None}
        breaks = [b for s in result.sources for b in s.breaks if b.op and b.root_cause]
        self.break_of = {b.op: b for b in sorted(breaks, key=lambda b: -b.root_cause)}  # an op closed for two reasons has the weightier number
        self.unread = [a for a in answers if a.tensor is None]
        self.kept = self._kept()
        self.weights = _weights(self.flat.nodes)
        branches = [site for site in self.flat.calls if site.kind is CallKind.BRANCH]
        self.in_branch = {n for site in branches for n in set(range(site.first, site.last)) - {t[0] for t in site.results}}

    def _kept(self) -> set[int]:
        """Nodes on a data path between a source and a target, and on the dead ends of broken sources."""
        to_target = self.connection.paths.cost
        seen: set[Tensor] = set()
        stack = [t for t in self.source_of if t in to_target]
        kept: set[int] = {t[0] for t in self.source_of}
        while stack:
            t = stack.pop()
            if t in seen:
                continue
            seen.add(t)
            kept.add(t[0])
            for n, i in self.flat.consumers.get(t, ()):
                for j in range(self.flat.nodes[n].output_count):
                    if (n, j) in to_target and _carries_data(self.flat.nodes[n].way(i, j)):
                        stack.append((n, j))
        for answer in self.answers:
            kept.update(answer.chain)
        kept.update(n for n, node in enumerate(self.flat.nodes) if node.name in self.break_of)
        kept.update(t[0] for t in self.connection.targets)
        return kept

    def name(self, n: int) -> str:
        return self.full_name(self.flat.nodes[n].name)

    def full_name(self, name: str) -> str:
        return name if self.index == 0 else f"call {self.index + 1}: {name}"

    def tensor_status(self, t: Tensor) -> Status:
        live = self.connection.live
        if t in live.always:
            return Status.CONDITIONAL if t[0] in self.in_branch else Status.LIVE
        if t in live.possible:
            return Status.CONDITIONAL
        return Status.OPAQUE if t in live.maybe_opaque else Status.DEAD

    def node_status(self, n: int) -> Status:
        order = [Status.LIVE, Status.CONDITIONAL, Status.OPAQUE, Status.DEAD]
        found = [self.tensor_status((n, j)) for j in range(max(1, len(self.flat.nodes[n].outputs)))]
        return min(found, key=order.index)

    def source_status(self, answer: Answer) -> Status:
        return _STATUS.get(answer.verdict, Status.DEAD)

    def nodes(self) -> list[GraphNode]:
        targets = {t[0] for t in self.connection.targets}
        drawn = []
        met: dict[str, int] = {}
        for unread in self.unread:
            label = _path(unread)
            met[label] = met.get(label, 0) + 1
            drawn.append(self._unread_node(unread, f"{label} (never read)" if met[label] == 1 else f"{label} ({met[label]}, never read)"))
        for n in sorted(self.kept):
            node = self.flat.nodes[n]
            answer = next((self.source_of[n, j] for j in range(len(node.outputs)) if (n, j) in self.source_of), None)
            found = self.break_of.get(node.name)
            status = Status.BREAK if found is not None else self.node_status(n)
            role = Role.TARGET if n in targets else Role.OP
            scope, _, label = node.name.rpartition("/")
            if answer is not None:
                path = _path(answer)
                scope, label, role = path.rpartition("/")[0], path, Role.SOURCE
                status = status if status is Status.BREAK else self.source_status(answer)
            spec = answer.source.spec if answer is not None else node.outputs[0] if node.outputs else None
            drawn.append(GraphNode(
                self.name(n), node.type, status, role, found.cause if found else None, found.root_cause if found else 0, scope, label,
                spec.dtype if spec else "", spec.shape if spec else None, self.trace.locate(*node.origin), (self.index,),
                self._reads(node) if scope else (),
            ))  # fmt: skip
        return drawn

    def _reads(self, node: Node) -> tuple[str, ...]:
        """Paths of the variables that are left out and of which, with constants alone, what the op takes in is computed."""
        nodes, found = self.flat.nodes, dict[int, None]()
        waiting = [t[0] for t in reversed(node.inputs)]
        while waiting:
            n = waiting.pop()
            if n in self.weights and n not in self.kept and n not in found:
                found[n] = None
                waiting.extend(t[0] for t in reversed(nodes[n].inputs))
        return tuple(nodes[n].name for n in found if nodes[n].type == "Variable")

    def _unread_node(self, answer: Answer, name: str) -> GraphNode:
        source, path = answer.source, _path(answer)
        b = answer.breaks[0] if answer.breaks else None
        return GraphNode(
            self.full_name(name), "Variable" if source.kind == "variable" else "Tensor", Status.DEAD, Role.SOURCE,
            b.cause if b else None, b.root_cause if b else 0, path.rpartition("/")[0], path, source.spec.dtype, source.spec.shape,
            b.location if b else None, (self.index,),
        )  # fmt: skip

    def edges(self) -> list[GraphEdge]:
        best: dict[tuple[str, str], GraphEdge] = {}
        for n in sorted(self.kept):
            node = self.flat.nodes[n]
            for i, t in enumerate(node.inputs):
                if t[0] not in self.kept or t[0] >= n:  # the way back of a loop is left out
                    continue
                edge = self._edge(n, i, t)
                if edge is not None:
                    known = best.get((edge.tail, edge.head))
                    if known is None or edge.status is Status.LIVE:
                        best[edge.tail, edge.head] = edge
        return [best[k] for k in sorted(best)]

    def _edge(self, n: int, i: int, t: Tensor) -> GraphEdge | None:
        node = self.flat.nodes[n]
        ways = [(j, node.way(i, j)) for j in range(self.flat.nodes[n].output_count)]
        ways = [(j, w) for j, w in ways if _carries_data(w)]
        if not ways:
            return None
        open_ways = [j for j, w in ways if w.passage in (Passage.OPEN, Passage.OPAQUE)]
        order = [Status.LIVE, Status.CONDITIONAL, Status.OPAQUE, Status.DEAD]
        if open_ways:
            status = min((self.tensor_status((n, j)) for j in open_ways), key=order.index)
            if status is Status.LIVE and t[0] in self.in_branch:
                status = Status.CONDITIONAL
            return GraphEdge(self.name(t[0]), self.name(n), status)
        shut = (Passage.CLOSED, Passage.INDEX) if node.name in self.break_of else (Passage.CLOSED,)
        closed = next((w for _, w in ways if w.passage in shut), None)
        if closed is None:
            return GraphEdge(self.name(t[0]), self.name(n), Status.DEAD)
        return GraphEdge(self.name(t[0]), self.name(n), Status.BREAK, closed.cause)

"""Random steps with functions, branches and loops, held against the simple-minded oracle."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tapetrace.analysis.analyse import analyse
from tapetrace.model.report import Report, RootCause
from tapetrace.model.trace import Gate, Tape, Trace, Window
from tapetrace.model.words import Cause
from tests.unit.graphs import Graph, body, call, trace
from tests.unit.test_drawing import check_well_formed
from tests.unit.unrolling import Edge, Unrolled

GATES = [Gate.OPEN] * 4 + [Gate.NONE, Gate.ZERO]
SOURCES = "u v w"
OFTEN = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


class _Writer:
    """Writes bodies; everything that it needs to know it draws."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.bodies: list[Graph] = []

    def pick(self, choices: list[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def some(self, names: list[str], count: int) -> str:
        """Rather late ones, so that much is computed from much."""
        return " ".join(self.pick(names + 2 * names[-4:]) for _ in range(count))

    def body(self, count: int, depth: int, is_condition: bool = False) -> Graph:
        """A body of ``count`` floats and as many results."""
        graph = body(f"f{len(self.bodies)}", " ".join(f"p{i}" for i in range(count)))
        self.bodies.append(graph)
        floats = self.fill(graph, [f"p{i}" for i in range(count)], depth, self.pick([0, 1, 2, 3]))
        if is_condition:
            return graph.op("decide", self.some(floats, 1), dtypes="bool").returns("decide")
        return graph.returns(self.some(floats[count:] or floats, count))

    def fill(self, graph: Graph, floats: list[str], depth: int, count: int) -> list[str]:
        """Add ops; the names of all float tensors."""
        ints: list[str] = []
        for n in range(count):
            kinds = ["op"] * 4 + ["int", "back", "pair"] + (["call", "cond", "cond", "loop"] if depth else [])
            kind, name = self.pick(kinds), f"a{n}"
            if kind == "call":
                inside = self.body(2, depth - 1)
                graph.call(name, inside, self.some(floats, 2))
            elif kind == "cond":
                graph.op(f"if{n}", self.some(floats, 1), dtypes="bool")
                graph.cond(name, f"if{n}", self.some(floats, 2), self.body(2, depth - 1), self.body(2, depth - 1))
            elif kind == "loop":
                inside, decide = self.body(2, depth - 1), self.body(2, 0, is_condition=True)
                graph.loop(name, self.some(floats, 2), inside, decide)
            elif kind == "int":
                graph.op(name, self.some(floats, 1), dtypes="int32")
                ints.append(name)
                continue
            else:
                reads = self.some(floats + (ints if kind == "back" else []), 2)
                width = 2 if kind == "pair" else 1
                gates = {(i, j): self.pick(GATES) for i in range(2) for j in range(width) if reads.split()[i] not in ints}
                graph.op(name, reads, gates=gates, dtypes=" ".join(["float32"] * width))
            floats = [*floats, name] + ([f"{name}:1"] if kind not in ("op", "back") else [])
        return floats


@st.composite
def steps(draw: Any, has_tape: bool = False) -> Trace:
    writer = _Writer(draw)
    graph = Graph().variables(SOURCES)
    for name in SOURCES.split():
        graph.read(f"r{name}", name)
    floats = writer.fill(graph, ["ru", "rv", "rw"], 2, draw(st.integers(2, 6)))
    graph.op("loss", " ".join(floats[-4:]))
    tape = Tape()
    if has_tape:
        first = draw(st.integers(3, len(graph.ops)))
        last = draw(st.integers(first, len(graph.ops)))
        tape = Tape({"step": (Window(0, first), Window(last))})
    return trace([graph, *writer.bodies], call(graph, "loss", SOURCES, tape=tape))


def said(found: Report) -> list[str]:
    return ["dead" if s.verdict.is_broken else s.verdict.value for s in found.calls[0].sources]


def unrolled(step: Trace) -> Unrolled:
    found = Unrolled(step.bodies, step.calls[0]).run()
    assume(len(found.branches) <= 6 and len(found.edges) < 6000)
    return found


@OFTEN
@given(steps())
def test_verdicts(step: Trace) -> None:
    assert said(analyse(step)) == unrolled(step).verdicts()


@OFTEN
@given(steps(has_tape=True))
def test_verdicts_of_a_step_that_the_tape_recorded_in_part(step: Trace) -> None:
    assert said(analyse(step)) == unrolled(step).verdicts()


@OFTEN
@given(steps())
def test_summaries_say_the_same(step: Trace) -> None:
    """But for a variable that is live through one result of a body in one branch and through another in the other: a summary calls it conditional."""
    opened, summarised = said(analyse(step)), said(analyse(step, budget=0))
    assert all(b in (a, "conditional" if a == "connected" else a) for a, b in zip(opened, summarised, strict=True)), (opened, summarised)


@OFTEN
@given(steps(has_tape=True))
def test_the_path_that_is_shown_crosses_the_fewest_breaks(step: Trace) -> None:
    oracle = unrolled(step)
    for source, tensor in zip(analyse(step).calls[0].sources, oracle.sources, strict=True):
        if not source.verdict.is_broken:
            continue
        fewest = oracle.fewest_breaks(tensor)
        shown = [b.cause for b in source.breaks]
        if fewest is None:
            assert shown in ([Cause.UNUSED_RESULT], [Cause.NEVER_READ])
        else:
            assert len(shown) == fewest, shown


def reopened(oracle: Unrolled, root: RootCause) -> list[bool]:
    names = {name for name, _ in root.ops}
    gates = {Cause.GRADIENT_IS_NONE: Gate.NONE, Cause.GRADIENT_IS_ZERO: Gate.ZERO, Cause.NON_FLOAT: Gate.NON_FLOAT_OUTPUT}

    def passes(edge: Edge) -> bool:
        is_mended = edge.name in names and edge.gate is gates[root.cause] and not edge.outside
        return edge.is_open or is_mended or (root.cause is Cause.NON_FLOAT and edge.gate is Gate.NON_FLOAT_INPUT and not edge.outside)

    return oracle.reaching(passes)


@OFTEN
@given(steps())
def test_reopening_one_place_reconnects_what_it_says(step: Trace) -> None:
    oracle, found = unrolled(step), analyse(step)
    dead = [v == "dead" for v in oracle.verdicts()]
    for root in found.root_causes:
        if root.cause in (Cause.UNUSED_RESULT, Cause.NEVER_READ):
            assert root.reconnects == ()
            continue
        alive = [n for n, was, now in zip(SOURCES.split(), dead, reopened(oracle, root), strict=True) if was and now]
        assert list(root.reconnects) == alive
        past = oracle.reaching(lambda e, root=root: e.name not in {n for n, _ in root.ops})
        assert root.dominates == (not any(p for n, p in zip(SOURCES.split(), past, strict=True) if n in root.blocks))


@OFTEN
@given(steps(has_tape=True))
def test_every_drawing_is_well_formed(step: Trace) -> None:
    for budget in (10_000, 0):
        check_well_formed(analyse(step, budget))


@OFTEN
@given(steps())
def test_what_is_conditional_names_a_branch_and_what_is_dead_a_break(step: Trace) -> None:
    for source in analyse(step).calls[0].sources:
        causes = {b.cause for b in source.breaks}
        if source.verdict.value == "connected":
            assert causes == set()
        elif source.verdict.value == "conditional":
            assert causes == {Cause.OTHER_BRANCH}
        else:
            assert causes - {Cause.OTHER_BRANCH} == causes != set()

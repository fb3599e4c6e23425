"""A Report: what tapetrace found, frozen, and complete enough to be saved, read back and drawn without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapetrace.model.locations import Location
from tapetrace.model.trace import Replica, TensorSpec, TraceError
from tapetrace.model.words import Cause, Returned, Verdict

if TYPE_CHECKING:
    import networkx as nx

    from tapetrace.model.graph import ReportGraph


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the gradient was as a number: ``norm`` is the Euclidean norm, ``zeros``, ``nan`` and ``inf`` are counts of elements."""

    norm: float
    zeros: int
    nan: int
    inf: int


@dataclass(frozen=True, slots=True)
class Break:
    """A closed gate on a data path from a source to the target. ``op`` and ``type`` are empty for causes without an op."""

    cause: Cause
    op: str = ""
    type: str = ""
    location: Location | None = None
    remedy: str = ""
    detail: str = ""
    """What is particular here: the branch and condition, the variable written to, the layer that was not called."""
    reenters: Location | None = None
    """Where a value that left TensorFlow, or was computed before the step, comes in again; None if that is the same line or was not seen."""
    root_cause: int = 0
    """Number of the root cause in ``Report.root_causes`` that this break belongs to, counted from 1; 0 if none."""


@dataclass(frozen=True, slots=True)
class SourceResult:
    """The answer for one source of one gradient call."""

    name: str
    path: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...] | None
    verdict: Verdict
    returned: Returned | None = None
    breaks: tuple[Break, ...] = ()
    route: tuple[str, ...] = ()
    """Names of the ops from the source to the target along the path that crosses the fewest breaks; empty when there is no data path."""
    numbers: Numbers | None = None
    owner: str = ""
    frozen: bool = False
    """The user said that no gradient should reach it."""
    replicas: tuple[int, ...] = ()
    """The replicas of ``tf.distribute``, counted from 0, on which this is so, when it is not so on others; empty otherwise."""

    @property
    def is_broken(self) -> bool:
        """Whether no real gradient reaches it, though one should."""
        return self.verdict.is_broken and not self.frozen

    @property
    def cause(self) -> Cause | None:
        """The cause of the first break, counted from the source."""
        return self.breaks[0].cause if self.breaks else None

    @property
    def label(self) -> str:
        """The full path where it says more than the name."""
        return self.path or self.name


def sources_called(names: Collection[str], sources: Sequence[SourceResult]) -> tuple[SourceResult, ...]:
    """The sources that a list of names means: those of that label, and where nothing has such a label, those of that name."""
    bare = set(names) - {s.label for s in sources}
    return tuple(s for s in sources if s.label in names or s.name in bare)


@dataclass(frozen=True, slots=True)
class TargetResult:
    name: str
    op: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """One gradient call: what it asked, of what, and the answer for each source."""

    kind: str
    location: Location | None
    targets: tuple[TargetResult, ...]
    sources: tuple[SourceResult, ...]
    error: TraceError | None = None
    inputs: str = ""
    """What the step was traced with, where that tells this call from others of the same line: ``x=float32[8,4], training=True``."""
    written: str = ""
    """The call in the user's own words as far as its target: ``tape.gradient(loss, …)``; empty where they are not known."""
    replica: Replica | None = None
    """The replica that made the call, until the calls of all replicas are made one (see `tapetrace.analysis.replicas`)."""


@dataclass(frozen=True, slots=True)
class BrokenPath:
    """source → … → break → … → target, the evidence for one source that no real gradient reaches."""

    source: SourceResult
    call: int
    """Index of the gradient call in ``Report.calls``."""

    @property
    def breaks(self) -> tuple[Break, ...]:
        return self.source.breaks

    @property
    def route(self) -> tuple[str, ...]:
        return self.source.route


@dataclass(frozen=True, slots=True)
class RootCause:
    """One place in the code, with the sources that it blocks and those that would come alive if it alone were reopened."""

    number: int
    cause: Cause
    location: Location | None
    ops: tuple[tuple[str, str], ...]
    """(name, type) of each op of this place."""
    blocks: tuple[str, ...]
    reconnects: tuple[str, ...]
    remedy: str = ""
    detail: str = ""
    reenters: Location | None = None
    """Where a value that left comes in again, as in the first of its breaks."""
    dominates: bool = False
    """True when every data path of every blocked source crosses this place."""
    call: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """A trainable variable that nobody asked for, a gradient that nobody applied, or a gradient that should not be there. ``remedy`` may be empty."""

    name: str
    path: str
    location: Location | None = None
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Intermittent:
    """A source that one call of a line connects and another call of the same line does not. Indices are those of ``Report.calls``."""

    name: str
    path: str
    connected: tuple[int, ...]
    broken: tuple[int, ...]
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class BlindSpot:
    """An ancestor of the target whose own origin the graph does not know. ``location`` is where the step uses it."""

    name: str
    type: str
    location: Location | None = None
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None

    @property
    def label(self) -> str:
        """Type, name, and what it holds."""
        holds = f" {TensorSpec(self.dtype, self.shape)}" if self.dtype else ""
        return f"{self.type} {self.name}{holds}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The verdicts held against what TensorFlow returned in the same trace."""

    checked: int = 0
    disagreed: tuple[str, ...] = ()
    """One sentence for each disagreement, which is tapetrace's own fault."""


def _no_graph() -> ReportGraph:
    from tapetrace.model.graph import ReportGraph

    return ReportGraph()


@dataclass(frozen=True)
class Report:
    """All answers for one step.

    ``ok`` is True when no source is none, zero or error, nothing that should be frozen gets gradient, no call that trains asks for nothing,
    and the step did not fail.
    """

    target: str
    tensorflow: str
    keras: str
    mode: str
    calls: tuple[CallResult, ...]
    root_causes: tuple[RootCause, ...] = ()
    not_asked: tuple[Finding, ...] = ()
    not_applied: tuple[Finding, ...] = ()
    agreement: Agreement = Agreement()
    blind_spots: tuple[BlindSpot, ...] = ()
    error: TraceError | None = None
    notes: tuple[str, ...] = ()
    unexpected: tuple[Finding, ...] = ()
    """Sources that should be frozen and yet get gradient."""
    intermittent: tuple[Intermittent, ...] = ()
    build_graph: Callable[[], ReportGraph] = field(default=_no_graph, compare=False, repr=False)

    @property
    def ok(self) -> bool:
        return self.error is None and not self.unexpected and not self.empty and not any(s.is_broken for c in self.calls for s in c.sources)

    @property
    def empty(self) -> tuple[int, ...]:
        """Indices of the calls whose list of sources is empty, where no call asks for anything or trainable variables lead to the loss unasked."""
        nothing = bool(self.not_asked) or not any(c.sources for c in self.calls)
        return tuple(i for i, c in enumerate(self.calls) if nothing and not c.sources)

    @property
    def broken(self) -> tuple[BrokenPath, ...]:
        """A broken path for each source, of every call, that no real gradient reaches."""
        return tuple(BrokenPath(s, i) for i, c in enumerate(self.calls) for s in c.sources if s.is_broken)

    @cached_property
    def drawing(self) -> ReportGraph:
        """The ops that matter, as frozen nodes and edges; built when first asked, since it reads the location of each op."""
        found = self.build_graph()
        object.__setattr__(self, "build_graph", lambda: found)  # lets go of the whole trace
        return found

    @cached_property
    def graph(self) -> nx.DiGraph[str]:
        """The ops that matter as a ``networkx.DiGraph``; its attributes are documented in `tapetrace.model.graph`."""
        return self.drawing.to_networkx()

    def __repr__(self) -> str:
        total = sum(len(c.sources) for c in self.calls)
        told = f"{len(self.broken)} of {total} source{'' if total == 1 else 's'} without gradient" if self.calls else "no gradient call"
        raised = f", {self.error.type} raised" if self.error else ""
        return f"<tapetrace report: {self.target!r}, {'ok' if self.ok else 'not ok'}, {told}{raised}; print() it to read it>"

    def __str__(self) -> str:
        from tapetrace.api import render_text

        return render_text(self).rstrip("\n")

    def _repr_mimebundle_(self, include: Collection[str] | None = None, exclude: Collection[str] | None = None) -> dict[str, str]:
        """What Jupyter, VS Code and Colab show: the text, and the folded picture. Never raises."""
        from tapetrace.api import notebook_bundle

        return notebook_bundle(self, include, exclude)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, schema ``tapetrace/1``."""
        from tapetrace.model.encoding import report_to_dict

        return report_to_dict(self)

    def write(self, path: str | Path) -> Path:
        """Write the report in the format that the suffix of ``path`` names: .svg .pdf .png .dot .html .json .sarif .md .txt; or its graph alone, for
        other viewers: .graphml .gexf, and .graph.json (or the name graph.json) for Model Explorer.

        An existing file is replaced only when the new one is whole. Raises `tapetrace.TapetraceError` for an unknown suffix, a path that
        cannot be written, or a picture without a layout engine.
        """
        from tapetrace.api import write_report

        return write_report(self, Path(path))

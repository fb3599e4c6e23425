"""A Report in the order in which every written form tells it: calls, their broken places, branches, doubts. It knows no format."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby

from tapetrace.model.compiled_loss import is_compiled_loss
from tapetrace.model.locations import Location
from tapetrace.model.report import Break, CallResult, Finding, Intermittent, Report, RootCause, SourceResult, sources_called
from tapetrace.model.words import Cause, Verdict
from tapetrace.render.visible import LONGEST

Chain = tuple[Break, ...]
Places = tuple[tuple[Cause, tuple[str, int] | None], ...]

_CAUSES_OF_AN_OP = frozenset({
    Cause.STOP_GRADIENT, Cause.PYTHON_FUNCTION, Cause.NO_GRADIENT_REGISTERED, Cause.NON_FLOAT, Cause.NOT_DIFFERENTIABLE, Cause.GRADIENT_IS_NONE,
    Cause.GRADIENT_IS_ZERO, Cause.NOT_PROBED, Cause.NUMERICALLY_ZERO,
})  # fmt: skip

_NOTHING_TO_REOPEN = frozenset({Cause.NEVER_READ, Cause.UNUSED_RESULT})


class Weight(str, Enum):
    """How much a place in the code matters."""

    BROKEN = "broken"
    """It keeps gradient from at least one source."""
    CONDITIONAL = "conditional"
    """It decides by a branch."""
    OPAQUE = "opaque"
    """Nobody but the Python code that runs there can tell."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place in the code to report: a root cause, or the equal breaks of sources that no root cause covers (``number`` 0)."""

    number: int
    weight: Weight
    cause: Cause
    location: Location | None
    ops: tuple[tuple[str, str], ...]
    blocks: tuple[str, ...]
    reconnects: int | None
    remedy: str
    detail: str
    reenters: Location | None
    call: int
    sources: tuple[SourceResult, ...]
    """The sources that it blocks, as far as they are known by name."""

    @property
    def returning(self) -> str:
        """What the value does at ``reenters``."""
        return "used" if self.cause is Cause.CAPTURED_VALUE else "back"

    @property
    def types(self) -> tuple[str, ...]:
        """The op types to name beside the cause, each once, in order; none where the op is only what happened to stand on the line."""
        if self.cause not in _CAUSES_OF_AN_OP:
            return ()
        return tuple(dict.fromkeys(type_ for _, type_ in self.ops if type_))

    @property
    def op_names(self) -> tuple[str, ...]:
        """The ops by name, where no line of code says which are meant."""
        return tuple(dict.fromkeys(name for name, _ in self.ops if name)) if self.location is None else ()


EMPTY = "no source was asked for: nothing is trained"
EMPTY_REMEDY = (
    "the list of variables is empty: take `trainable_variables` after the model was called once, a layer has no variables before; "
    "see that the filter over them matches, and that not all layers have `trainable = False`"
)


@dataclass(frozen=True, slots=True)
class CallOutline:
    """One gradient call, sorted for telling. ``call`` is without the sources that get no gradient and should not; those are ``frozen``."""

    index: int
    call: CallResult
    broken: tuple[SourceResult, ...]
    silent: tuple[SourceResult, ...]
    """Those of ``broken`` for which TensorFlow hands back zeros."""
    conditional: tuple[SourceResult, ...]
    opaque: tuple[SourceResult, ...]
    not_finite: tuple[SourceResult, ...]
    """Sources whose gradient held NaN or Inf when the step ran."""
    places: tuple[Place, ...]
    series: tuple[tuple[Chain, tuple[SourceResult, ...]], ...]
    """Chains of two breaks and more on one path, with the sources behind them."""
    unexplained: tuple[SourceResult, ...]
    """Broken sources for which no break is given."""
    frozen: tuple[SourceResult, ...] = ()
    is_empty: bool = False
    """Whether it asks for nothing although variables lead to its target."""

    def asked(self, source: bool = True) -> str:
        """The call as a person would write it: ``tape.gradient(loss, …)``, in the user's own words where they are known and may be shown."""
        kind = self.call.kind
        if kind == "loss":
            return "the loss that the step returns"
        if kind == "graph":
            names = [t.name for t in self.call.targets]
            if names == ["output"]:
                return "the output of the graph"
            return f"the output{'s' if len(names) > 1 else ''} {', '.join(names[:2])}{', …' if len(names) > 2 else ''} of the graph"
        if source and self.call.written:
            return self.call.written
        code = self.call.location.code if source and self.call.location else ""
        function = kind if "." in kind else f"tf.{kind}" if kind == "gradients" else f"tape.{kind}"
        names = [t.name for t in self.call.targets]
        if kind == "gradient" and (re.search(r"\.(compile|fit)\(", code[:LONGEST]) or (len(names) == 1 and is_compiled_loss(names[0]))):
            return "model.fit: the loss that compile was given"
        return f"{function}({names[0] if len(names) == 1 else '[' + ', '.join(names[:2]) + (', …' if len(names) > 2 else '') + ']'}, …)"

    def count(self, number: int, verb: str = "") -> str:
        """``5 of 8 variables receive``, in the right noun for what was asked for."""
        kinds = {s.kind for s in self.call.sources}
        noun = kinds.pop() if len(kinds) == 1 else "source"
        total = len(self.call.sources)
        does = f" {verb}s" if number == 1 else f" {verb}"
        return f"{number} of {total} {noun}{'' if total == 1 else 's'}{does if verb else ''}"

    def of_weight(self, weight: Weight) -> tuple[Place, ...]:
        return tuple(p for p in self.places if p.weight is weight)


def outline(report: Report) -> tuple[CallOutline, ...]:
    """The calls of a report, each with its places in the order of their numbers."""
    return tuple(_outline_call(report, i, call) for i, call in enumerate(report.calls))


def remedies_of(findings: Iterable[Finding]) -> list[str]:
    """What mends findings, each once."""
    return list(dict.fromkeys(f.remedy for f in findings if f.remedy))


def in_words(report: Report, found: Intermittent) -> tuple[str, str]:
    """With which inputs a source is connected, and with which it is not."""
    texts = [c.inputs or f"call {i + 1} of the report" for i, c in enumerate(report.calls)]
    return " or ".join(texts[i] for i in found.connected), " or ".join(texts[i] for i in found.broken)


def told_by_tensorflow(report: Report) -> str:
    """What the verdicts were held against."""
    if report.calls and all(c.kind == "graph" for c in report.calls):
        return "what tf.gradients returns for a copy of the graph"
    return "what tape.gradient returned"


def never_read(report: Report) -> bool:
    """Whether some source is never read, which makes the blind spots suspects."""
    return any(b.cause is Cause.NEVER_READ for c in report.calls for s in c.sources for b in s.breaks)


def _outline_call(report: Report, index: int, call: CallResult) -> CallOutline:
    frozen = tuple(s for s in call.sources if s.frozen and s.verdict.is_broken)
    if frozen:
        call = replace(call, sources=tuple(s for s in call.sources if s not in frozen))
    broken = tuple(s for s in call.sources if s.is_broken)
    roots = [r for r in report.root_causes if r.call == index]
    numbers = {r.number for r in roots}
    places = [_place_of_root(r, call.sources) for r in sorted(roots, key=lambda r: r.number)]
    return CallOutline(
        index,
        call,
        broken,
        silent=tuple(s for s in broken if s.verdict is Verdict.ZERO),
        conditional=tuple(s for s in call.sources if s.verdict is Verdict.CONDITIONAL),
        opaque=tuple(s for s in call.sources if s.verdict is Verdict.OPAQUE),
        not_finite=tuple(s for s in call.sources if s.numbers and (s.numbers.nan or s.numbers.inf or not math.isfinite(s.numbers.norm))),
        places=(*places, *_places_without_number(call.sources, numbers, index)),
        series=_series(broken),
        unexplained=tuple(s for s in broken if not s.breaks),
        frozen=frozen,
        is_empty=index in report.empty,
    )


def _weight(cause: Cause, sources: Iterable[SourceResult]) -> Weight:
    verdicts = {s.verdict for s in sources}
    if any(v.is_broken for v in verdicts):
        return Weight.BROKEN
    if cause is Cause.OTHER_BRANCH or verdicts == {Verdict.CONDITIONAL}:
        return Weight.CONDITIONAL
    return Weight.OPAQUE if Verdict.OPAQUE in verdicts else Weight.BROKEN


def _place_of_root(root: RootCause, sources: tuple[SourceResult, ...]) -> Place:
    behind = tuple(s for s in sources if any(b.root_cause == root.number for b in s.breaks))
    if not behind:
        behind = tuple(s for s in sources_called(set(root.blocks), sources) if s.verdict is not Verdict.CONNECTED)
    weight = _weight(root.cause, behind)
    # Of a place with nothing to reopen, such as a variable that is never read, nothing is said.
    reconnects = len(root.reconnects) if root.reconnects or root.cause not in _NOTHING_TO_REOPEN else None
    return Place(
        root.number, weight, root.cause, root.location, root.ops, root.blocks, reconnects, root.remedy, root.detail, root.reenters, root.call, behind
    )


def _places_without_number(sources: tuple[SourceResult, ...], numbers: set[int], call: int) -> list[Place]:
    groups: dict[tuple[Cause, tuple[str, int] | None, str, str, Weight], list[tuple[Break, SourceResult]]] = {}
    for source in sources:
        if source.verdict is Verdict.CONNECTED:
            continue
        for b in source.breaks:
            if b.root_cause not in numbers:
                key = (b.cause, b.location.key if b.location else None, b.remedy, b.detail, _weight(b.cause, [source]))
                groups.setdefault(key, []).append((b, source))
    places = []
    for (cause, _, remedy, detail, weight), members in groups.items():
        behind = tuple(dict.fromkeys(s for _, s in members))
        ops = tuple(dict.fromkeys((b.op, b.type) for b, _ in members if b.op or b.type))
        names = tuple(dict.fromkeys(s.label for s in behind))
        places.append(Place(0, weight, cause, members[0][0].location, ops, names, None, remedy, detail, members[0][0].reenters, call, behind))
    return places


def _series(broken: tuple[SourceResult, ...]) -> tuple[tuple[Chain, tuple[SourceResult, ...]], ...]:
    chains: dict[Places, list[SourceResult]] = {}
    shown: dict[Places, Chain] = {}
    for source in broken:
        links = [next(same) for _, same in groupby(source.breaks, key=_place_of)]
        if len(links) > 1:
            key = tuple(map(_place_of, links))
            shown.setdefault(key, tuple(links))
            chains.setdefault(key, []).append(source)
    return tuple((shown[key], tuple(behind)) for key, behind in chains.items())


def _place_of(b: Break) -> tuple[Cause, tuple[str, int] | None]:
    return b.cause, b.location.key if b.location else None

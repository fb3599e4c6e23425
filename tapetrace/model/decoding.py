"""A Report read back from plain data, which is trusted in nothing: every key is checked, and nothing in it is ever run."""

from __future__ import annotations

from tapetrace.model.graph import ReportGraph
from tapetrace.model.graph_encoding import read_graph, read_shape
from tapetrace.model.locations_encoding import read_placed
from tapetrace.model.reading import Reading
from tapetrace.model.report import (
    Agreement,
    BlindSpot,
    Break,
    CallResult,
    Finding,
    Intermittent,
    Numbers,
    Report,
    RootCause,
    SourceResult,
    TargetResult,
)
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Returned, Verdict

SCHEMA = "tapetrace/1"


def report_from_dict(data: object) -> Report:
    """The report that `tapetrace.model.encoding.report_to_dict` wrote.

    Raises `tapetrace.errors.ReportError`, one sentence that names the key, for anything that is not such a report. Keys that it does not know are
    ignored; ``ok`` and ``cause`` of a source are derived again.
    """
    top = Reading(data)
    schema = top.field("schema")
    if schema.text() != SCHEMA:
        raise schema.complain(f"is {schema.text()[:40]!r}, but this version of tapetrace reads {SCHEMA}")
    found = top.optional("graph")
    graph = read_graph(found) if found else ReportGraph()
    agreement = top.field("agreement")
    notes = top.optional("notes")
    unexpected, intermittent = top.optional("unexpected"), top.optional("intermittent")
    report = Report(
        target=top.field("target").text(),
        tensorflow=top.field("tensorflow").text(),
        keras=top.field("keras").text(),
        mode=top.field("mode").text(),
        calls=tuple(_call(c) for c in top.field("calls").items()),
        root_causes=tuple(_root_cause(r) for r in top.field("root_causes").items()),
        not_asked=tuple(_finding(f) for f in top.field("not_asked").items()),
        not_applied=tuple(_finding(f) for f in top.field("not_applied").items()),
        agreement=Agreement(agreement.field("checked").integer(), _texts(agreement.field("disagreed"))),
        blind_spots=tuple(map(_blind_spot, top.field("blind_spots").items())),
        error=_error(top.nullable("error")),
        notes=_texts(notes) if notes else (),
        unexpected=tuple(_finding(f) for f in unexpected.items()) if unexpected else (),
        intermittent=tuple(_intermittent(i) for i in intermittent.items()) if intermittent else (),
        build_graph=lambda: graph,
    )
    _check_numbers(report, top)
    return report


def _check_numbers(report: Report, top: Reading) -> None:
    """Refuse numbers that point at nothing, so that no renderer needs to think of them."""
    for i, root_cause in enumerate(report.root_causes):
        if root_cause.call >= max(1, len(report.calls)):
            raise Reading(root_cause.call, f"root_causes[{i}].call").complain(f"is {root_cause.call}, but there are {len(report.calls)} calls")
    for i, found in enumerate(report.intermittent):
        for call in (*found.connected, *found.broken):
            if call >= len(report.calls):
                raise Reading(call, f"intermittent[{i}]").complain(f"names call {call}, but there are {len(report.calls)} calls")


def _texts(data: Reading) -> tuple[str, ...]:
    return tuple(item.text() for item in data.items())


def _optional_text(data: Reading, key: str) -> str:
    found = data.optional(key)
    return found.text() if found else ""


def _optional_integer(data: Reading, key: str) -> int:
    found = data.optional(key)
    return found.integer() if found else 0


def _call(data: Reading) -> CallResult:
    return CallResult(
        kind=data.field("kind").text(),
        location=read_placed(data),
        targets=tuple(TargetResult(t.field("name").text(), t.field("op").text(), read_placed(t)) for t in data.field("targets").items()),
        sources=tuple(_source(s) for s in data.field("sources").items()),
        error=_error(data.optional("error")),
        inputs=_optional_text(data, "inputs"),
        written=_optional_text(data, "written"),
    )


def _source(data: Reading) -> SourceResult:
    kind = data.field("kind")
    if kind.text() not in ("variable", "tensor"):
        raise kind.complain(f"should be variable or tensor, not {kind.text()[:40]!r}")
    returned, frozen, replicas = data.nullable("returned"), data.optional("frozen"), data.optional("replicas")
    return SourceResult(
        name=data.field("name").text(),
        path=data.field("path").text(),
        kind=kind.text(),
        dtype=data.field("dtype").text(),
        shape=read_shape(data.nullable("shape")),
        verdict=data.field("verdict").one_of(Verdict),
        returned=returned.one_of(Returned) if returned else None,
        breaks=tuple(_break(b) for b in data.field("breaks").items()),
        route=_texts(data.field("route")),
        numbers=_numbers(data.nullable("numbers")),
        owner=_optional_text(data, "owner"),
        frozen=frozen.flag() if frozen else False,
        replicas=tuple(r.integer() for r in replicas.items()) if replicas else (),
    )


def _numbers(data: Reading | None) -> Numbers | None:
    if data is None:
        return None
    return Numbers(data.field("norm").number(), *(data.field(key).integer() for key in ("zeros", "nan", "inf")))


def _break(data: Reading) -> Break:
    return Break(
        cause=data.field("cause").one_of(Cause),
        op=data.field("op").text(),
        type=data.field("type").text(),
        location=read_placed(data),
        remedy=data.field("remedy").text(),
        detail=_optional_text(data, "detail"),
        reenters=read_placed(data, "reenters") if data.optional("reenters") else None,
        root_cause=_optional_integer(data, "root_cause"),
    )


def _root_cause(data: Reading) -> RootCause:
    dominates = data.optional("dominates")
    return RootCause(
        number=data.field("number").integer(),
        cause=data.field("cause").one_of(Cause),
        location=read_placed(data),
        ops=tuple((op.field("name").text(), op.field("type").text()) for op in data.field("ops").items()),
        blocks=_texts(data.field("blocks")),
        reconnects=_texts(data.field("reconnects")),
        remedy=data.field("remedy").text(),
        detail=_optional_text(data, "detail"),
        reenters=read_placed(data, "reenters") if data.optional("reenters") else None,
        dominates=dominates.flag() if dominates else False,
        call=_optional_integer(data, "call"),
    )


def _finding(data: Reading) -> Finding:
    return Finding(data.field("name").text(), data.field("path").text(), read_placed(data), _optional_text(data, "remedy"))


def _blind_spot(data: Reading) -> BlindSpot:
    shape = read_shape(data.optional("shape"))
    return BlindSpot(data.field("name").text(), data.field("type").text(), read_placed(data), _optional_text(data, "dtype"), shape)


def _intermittent(data: Reading) -> Intermittent:
    connected, broken = (tuple(i.integer() for i in data.field(key).items()) for key in ("connected", "broken"))
    return Intermittent(data.field("name").text(), data.field("path").text(), connected, broken, read_placed(data))


def _error(data: Reading | None) -> TraceError | None:
    return None if data is None else TraceError(data.field("type").text(), data.field("message").text(), read_placed(data))

"""Two reports held against each other: what is told, what is not, and what counts as worse."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import tapetrace
from tapetrace.analysis.comparison import compare
from tapetrace.model.comparison import Change, Comparison
from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import Break, CallResult, Finding, Numbers, Report, RootCause, SourceResult, TargetResult
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Verdict

from . import reports
from .reports import at, call, report, source

C, N, Z, E = Verdict.CONNECTED, Verdict.NONE, Verdict.ZERO, Verdict.ERROR
STOP = Break(Cause.STOP_GRADIENT, "s", "StopGradient", at(12, "y = tf.stop_gradient(x)"))


def cut(line: int, code: str = "y = tf.stop_gradient(x)", cause: Cause = Cause.STOP_GRADIENT) -> Break:
    return Break(cause, "s", "StopGradient", at(line, code))


def told(found: Comparison) -> list[tuple[str, str, bool]]:
    return [(s.change.value, s.label, s.is_worse) for s in found.sources]


def one(verdict: Verdict, *breaks: Break, **kwargs: Numbers) -> Report:
    return report(call(source("a/w", verdict, *breaks, **kwargs)))


def size(norm: float) -> Numbers:
    return Numbers(norm, 0, 0, 0)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(one(C), one(C), [], id="nothing"),
        pytest.param(one(C), one(N, STOP), [("broken", "a/w", True)], id="lost"),
        pytest.param(one(N, STOP), one(C), [("mended", "a/w", False)], id="regained"),
        pytest.param(one(C), one(Verdict.CONDITIONAL), [("verdict", "a/w", True)], id="less sure"),
        pytest.param(one(Verdict.OPAQUE), one(C), [("verdict", "a/w", False)], id="more sure"),
        pytest.param(one(Verdict.OPAQUE), one(Verdict.CONDITIONAL), [("verdict", "a/w", False)], id="as unsure"),
        pytest.param(one(N, STOP), one(Z, STOP), [("verdict", "a/w", False)], id="broken either way"),
        pytest.param(one(N, cut(12)), one(N, cut(40)), [], id="the line moved"),
        pytest.param(one(N, cut(12)), one(N, cut(12, "y = tf.stop_gradient(2 * x)")), [], id="the line was rewritten"),
        pytest.param(one(N, cut(12)), one(N, cut(40, "z = tf.stop_gradient(y)")), [("cause", "a/w", False)], id="another line"),
        pytest.param(one(N, cut(12)), one(N, cut(12, cause=Cause.NON_FLOAT)), [("cause", "a/w", False)], id="another cause"),
        pytest.param(one(N, cut(12)), one(N, cut(12), cut(20, "q = tf.round(y)")), [("cause", "a/w", False)], id="one break more"),
        pytest.param(one(C, numbers=size(1.0)), one(C, numbers=size(0.2)), [], id="much the same number"),
        pytest.param(one(C, numbers=size(1.0)), one(C, numbers=size(0.1)), [("number", "a/w", False)], id="a tenth"),
        pytest.param(one(C, numbers=size(0.01)), one(C, numbers=size(1.0)), [("number", "a/w", False)], id="a hundred times"),
        pytest.param(one(C, numbers=size(0.0)), one(C, numbers=size(1.0)), [("number", "a/w", False)], id="zero no more"),
        pytest.param(one(C, numbers=size(1.0)), one(C, numbers=size(0.0)), [("number", "a/w", True)], id="zero now"),
        pytest.param(one(C, numbers=size(1.0)), one(C, numbers=size(math.nan)), [("number", "a/w", True)], id="not a number now"),
        pytest.param(one(C, numbers=size(0.0)), one(C, numbers=size(math.nan)), [("number", "a/w", True)], id="from zero to not a number"),
        pytest.param(one(C, numbers=size(math.inf)), one(C, numbers=size(0.0)), [("number", "a/w", False)], id="from infinite to zero"),
        pytest.param(one(C, numbers=size(math.inf)), one(C, numbers=size(1.0)), [("number", "a/w", False)], id="finite again"),
        pytest.param(one(C, numbers=size(math.nan)), one(C, numbers=size(math.nan)), [], id="not a number as before"),
        pytest.param(one(C, numbers=size(0.0)), one(C, numbers=size(0.0)), [], id="zero as before"),
        pytest.param(one(C), one(C, numbers=size(1.0)), [], id="no number to compare with"),
        pytest.param(report(call()), one(C), [("new", "a/w", False)], id="new"),
        pytest.param(report(call()), one(N, STOP), [("broken", "a/w", True)], id="new and broken"),
        pytest.param(one(N, STOP), report(call()), [("gone", "a/w", False)], id="gone"),
    ],
)
def test_a_source(before: Report, after: Report, expected: list[tuple[str, str, bool]]) -> None:
    found = compare(before, after)
    assert told(found) == expected
    assert found.is_worse is any(worse for *_, worse in expected)
    assert found.is_same is (not expected)


def test_frozen_sources_are_not_broken() -> None:
    frozen = replace(source("a/w", N, STOP), frozen=True)
    assert told(compare(one(C), report(call(frozen)))) == [("verdict", "a/w", True)]
    assert told(compare(report(call(frozen)), report(call(frozen)))) == []
    assert told(compare(report(call()), report(call(frozen)))) == [("new", "a/w", False)]


def made(function: str, code: str, line: int, *sources: SourceResult, target: str = "loss", inputs: str = "", file: str = "gan.py") -> CallResult:
    return CallResult("gradient", Location.new(file, line, function, code), (TargetResult(target, target),), sources, inputs=inputs)


D, G = source("disc/w"), source("gen/w")


@pytest.mark.parametrize(
    ("before", "after", "matched"),
    [
        pytest.param([made("f", "c", 1, D)], [made("f", "c", 9, D)], [(0, 0)], id="moved"),
        pytest.param([made("f", "c", 1, D)], [made("f", "c", 1, D, file="/ci/build/gan.py")], [(0, 0)], id="another checkout"),
        pytest.param(
            [made("f", "c", 1, D, file="/x/a.py"), made("f", "c", 1, D, file="/x/b.py")],
            [made("f", "c", 1, D, file="/y/b.py"), made("f", "c", 1, D, file="/y/a.py")],
            [(0, 1), (1, 0)],
            id="by file",
        ),
        pytest.param([made("f", "c", 1, D), made("f", "d", 2, G)], [made("f", "d", 1, G), made("f", "c", 2, D)], [(0, 1), (1, 0)], id="swapped"),
        pytest.param([made("f", "c", 1, D)], [made("f", "c2", 7, D)], [(0, 0)], id="by target when the code changed"),
        pytest.param([made("f", "c", 1, D)], [made("g", "c2", 1, D, target="t")], [(0, 0)], id="by line at last"),
        pytest.param([made("f", "c", 1, D)], [made("g", "c2", 7, D, target="t", file="b.py")], [(0, 0)], id="by what is asked for"),
        pytest.param([made("f", "c", 1, D)], [made("g", "c2", 7, G, target="t", file="b.py")], [], id="nothing in common"),
        pytest.param([made("f", "c", 1, D), made("f", "c", 1, G)], [made("f", "c", 1, G)], [(1, 0)], id="one of a loop is left"),
        pytest.param(
            [made("f", "c", 1, D, inputs="a"), made("f", "c", 1, D, inputs="b")],
            [made("f", "c", 1, D, inputs="b"), made("f", "c", 1, D, inputs="a")],
            [(0, 1), (1, 0)],
            id="by inputs",
        ),
        pytest.param([made("f", "", 1, D), made("f", "", 2, G)], [made("f", "", 3, D), made("f", "", 4, G)], [(0, 0), (1, 1)], id="without code"),
    ],
)
def test_which_calls_belong_together(before: list[CallResult], after: list[CallResult], matched: list[tuple[int, int]]) -> None:
    found = compare(report(*before), report(*after))
    assert sorted(found.matched) == matched
    gone = set(range(len(before))) - {b for b, _ in matched}
    new = set(range(len(after))) - {a for _, a in matched}
    assert {c.index for c in found.calls if c.change is Change.GONE} == gone
    assert {c.index for c in found.calls if c.change is Change.NEW} == new


def test_another_kind_is_another_call() -> None:
    found = compare(report(made("f", "c", 1, D)), report(replace(made("f", "c", 1, D), kind="jacobian")))
    assert (found.matched, told(found)) == ((), [("new", "disc/w", False), ("gone", "disc/w", False)])


def test_names_that_keras_counted_anew() -> None:
    before = report(call(source("net/dense/kernel"), source("net/dense_1/kernel", N, STOP)))
    after = report(call(source("net_1/dense_2/kernel"), source("net_1/dense_3/kernel")))
    found = compare(before, after)
    assert [(s.change, s.before.label if s.before else "", s.label) for s in found.sources] == [
        (Change.MENDED, "net/dense_1/kernel", "net_1/dense_3/kernel")
    ]
    fewer = report(call(source("net_1/dense_2/kernel")))
    assert [c for c, _, _ in told(compare(before, fewer))] == ["new", "gone", "gone"], "which of the two is left cannot be known"


def test_one_path_twice() -> None:
    twice = report(call(source("w"), source("w", N, STOP)))
    assert told(compare(twice, twice)) == []
    assert told(compare(twice, report(call(source("w"), source("w"))))) == [("mended", "w", False)]


def cause(line: int, *blocks: str, code: str = "c", kind: Cause = Cause.STOP_GRADIENT) -> RootCause:
    return RootCause(1, kind, at(line, code), (), blocks, blocks)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([cause(1, "a")], [cause(9, "a")], []),
        ([cause(1, "a")], [cause(1, "a", code="d")], []),
        ([cause(1, "a")], [cause(9, "a", code="d")], ["new", "gone"]),
        ([cause(1, "a")], [cause(1, "a", kind=Cause.NON_FLOAT)], ["new", "gone"]),
        ([cause(1, "a")], [cause(1, "b", "a")], ["extent"]),
        ([cause(1, "a"), cause(5, "b")], [cause(8, "b")], ["gone"]),
        ([], [cause(1, "a")], ["new"]),
    ],
)
def test_root_causes(before: list[RootCause], after: list[RootCause], expected: list[str]) -> None:
    old, new = (replace(one(C), root_causes=tuple(r)) for r in (before, after))
    found = compare(old, new)
    assert [r.change.value for r in found.root_causes] == expected
    assert not found.is_worse, "what a root cause means for the sources is told by the sources"


FOUND, RAISED = Finding("w", "a/w", at(3)), TraceError("ValueError", "no", at(4))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"unexpected": (FOUND,)}, [("new", "unexpected", True)]),
        ({"unexpected": (FOUND,)}, {}, [("gone", "unexpected", False)]),
        ({}, {"not_asked": (FOUND,)}, [("new", "not_asked", True)]),
        ({}, {"not_asked": (Finding("v", "a/v"),)}, [("new", "not_asked", False)]),
        ({}, {"not_applied": (FOUND,)}, [("new", "not_applied", True)]),
        ({"not_applied": (FOUND,)}, {"not_applied": (FOUND,)}, []),
        ({}, {"error": RAISED}, [("new", "error", True)]),
        ({"error": RAISED}, {}, [("gone", "error", False)]),
        ({"error": RAISED}, {"error": replace(RAISED, message="another")}, []),
        ({"error": RAISED}, {"error": replace(RAISED, type="TypeError")}, [("new", "error", False), ("gone", "error", False)]),
    ],
)
def test_findings(before: dict[str, object], after: dict[str, object], expected: list[tuple[str, str, bool]]) -> None:
    found = compare(replace(one(C), **before), replace(one(C), **after))  # type: ignore[arg-type]
    assert [(f.change.value, f.kind, f.is_worse) for f in found.findings] == expected
    assert found.is_worse is any(worse for *_, worse in expected)


def test_no_call_left_is_worse() -> None:
    assert compare(one(C), report()).is_worse
    assert not compare(report(), report()).is_worse


@pytest.mark.parametrize("name", sorted(reports.EXAMPLES))
def test_a_report_is_as_it_is(name: str) -> None:
    found = tapetrace.compare(reports.EXAMPLES[name](), reports.EXAMPLES[name]())
    assert found.is_same
    assert not found.is_worse
    assert len(found.matched) == len(found.after.calls)


def test_a_location_of_a_library_alone() -> None:
    inside = Location(Frame("a.py", 3, "f"), (), Frame("/site-packages/k.py", 9, "g"))
    found = compare(report(replace(call(D), location=inside)), report(replace(call(D), location=None)))
    assert found.is_same

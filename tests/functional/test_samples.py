"""Every sample, checked through the Python API, against the table of what is true of it and against TensorFlow itself."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

import pytest

import tapetrace
from tests.functional.oracle import Handed, ask_tensorflow
from tests.functional.samples import ALL, BROKEN, EXPECT, NOT_ASKED, SAMPLES, Expected

pytestmark = pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning")


def import_sample(name: str, copy: str) -> ModuleType:
    """A copy of its own of the sample's module, so that no test sees the optimizer state of another."""
    spec = importlib.util.spec_from_file_location(f"sample_{name}_{copy}", SAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def report_on(name: str) -> tapetrace.Report:
    module = import_sample(name, "checked")
    return tapetrace.check(module.train_step, *module.make_batch())


@cache
def handed_by_tensorflow(name: str) -> list[Handed]:
    module = import_sample(name, "asked")
    return ask_tensorflow(module.train_step, module.make_batch())


def identity(expected: Expected) -> str:
    return f"{expected.sample}-{expected.call}-{expected.source.strip('/')}"


def test_each_sample_is_in_the_table() -> None:
    assert {p.stem for p in SAMPLES.glob("*.py")} == {*ALL, "regenerate"}


@pytest.mark.parametrize("expected", EXPECT, ids=identity)
def test_the_table_is_true_in_tensorflow(expected: Expected) -> None:
    got = handed_by_tensorflow(expected.sample)[expected.call].of(expected.source)
    assert got, "no source of that name"
    assert {kind for kind, _ in got} == {expected.returned}
    if expected.verdict == "zero":
        assert {zero for _, zero in got} == {True}
    if expected.verdict == "connected":
        assert (expected.returned, False) in got, "connected, and yet every number is zero"


@pytest.mark.parametrize("expected", EXPECT, ids=identity)
def test_tapetrace_says_so(expected: Expected) -> None:
    report = report_on(expected.sample)
    sources = report.calls[expected.call].sources
    if expected.source == "tensor":
        found = [s for s in sources if s.kind == "tensor"]
    else:
        found = [s for s in sources if expected.source in s.label]
    assert found, [s.label for s in sources]
    assert {s.verdict.value for s in found} == {expected.verdict}
    if expected.cause:
        assert {s.cause.value if s.cause else None for s in found} == {expected.cause}
        lines = {s.breaks[0].location.code if s.breaks[0].location else "" for s in found}
        assert all(expected.line in line for line in lines), lines


@pytest.mark.parametrize("name", ALL)
def test_the_report_is_whole(name: str) -> None:
    report = report_on(name)
    assert report.ok == (name not in BROKEN)
    assert report.agreement.disagreed == ()
    assert report.agreement.checked == sum(len(c.sources) for c in report.calls)
    assert report.mode == "graph"
    assert {f.path for f in report.not_asked} == set(NOT_ASKED.get(name, ()))


@pytest.mark.parametrize("name", BROKEN)
def test_a_root_cause_stands_on_the_line(name: str) -> None:
    report = report_on(name)
    culprits = {e.line for e in EXPECT if e.sample == name and e.verdict in ("none", "zero", "error")}
    codes = [r.location.code for r in report.root_causes if r.location]
    assert all(any(line in code for code in codes) for line in culprits), codes

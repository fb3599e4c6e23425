"""What `tapetrace ops` says of the ops of the TensorFlow installed here."""

from __future__ import annotations

import time

import pytest

from tapetrace.api import op_table
from tapetrace.capture import private
from tapetrace.capture.op_table import op_gates
from tapetrace.errors import UsageError
from tapetrace.model.op_rows import OpRow, Registration
from tapetrace.model.trace import Gate


def one(name: str) -> OpRow:
    (row,) = op_gates(name)
    return row


@pytest.mark.parametrize(
    ("op_type", "name", "gates"),
    [
        ("Gather", "params", (Gate.OPEN,)),
        ("Gather", "indices", (Gate.NON_FLOAT_INPUT,)),
        ("GatherV2", "params", (Gate.OPEN,)),
        ("GatherV2", "axis", (Gate.NON_FLOAT_INPUT,)),
        ("Round", "x", (Gate.NONE,)),
        ("Floor", "x", (Gate.NONE,)),
        ("FloorDiv", "y", (Gate.NONE,)),
        ("Sign", "x", (Gate.ZERO,)),
        ("ArgMax", "input", (Gate.NON_FLOAT_OUTPUT,)),
        ("AdjustContrastv2", "images", (Gate.UNREGISTERED,)),
        ("HSVToRGB", "images", (Gate.NOT_DIFFERENTIABLE,)),
        ("StopGradient", "input", (Gate.NOT_DIFFERENTIABLE,)),
        ("PyFunc", "input[0]", (Gate.NOT_DIFFERENTIABLE,)),
        ("EagerPyFunc", "input[0]", (Gate.PYTHON,)),
        ("TopKV2", "input", (Gate.OPEN, Gate.NON_FLOAT_OUTPUT)),
        ("MatMul", "b", (Gate.OPEN,)),
        ("Conv2D", "filter", (Gate.OPEN,)),
        ("Conv3D", "filter", (Gate.OPEN,)),
        ("FusedBatchNormV3", "scale", (Gate.OPEN, *[Gate.ZERO] * 5)),
        ("FusedBatchNormV3", "variance", (Gate.NONE,) * 6),
        ("IdentityN", "input[0]", (Gate.OPEN,)),
        ("Einsum", "inputs[0]", (Gate.OPEN,)),
        ("BatchToSpaceND", "input", (Gate.OPEN,)),
        ("StridedSlice", "input", (Gate.OPEN,)),
        ("Qr", "input", (Gate.OPEN, Gate.OPEN)),
        ("ReadVariableOp", "resource", (Gate.OPEN,)),
        ("ResourceGather", "resource", (Gate.OPEN,)),
        ("TensorListGetItem", "input_handle", (Gate.OPEN,)),
        ("Real", "input", (Gate.OPEN,)),
    ],
)
def test_gates_of_an_op_type(op_type: str, name: str, gates: tuple[Gate, ...]) -> None:
    assert one(op_type).gates_of(name) == gates


def test_what_the_registry_holds() -> None:
    assert [one(n).registration for n in ("Round", "HSVToRGB", "AdjustContrastv2")] == list(Registration)


def test_an_op_that_runs_functions_has_no_gates_of_its_own() -> None:
    row = one("While")
    assert row.gates is None
    assert "functions" in row.note


def test_every_op_type_has_a_row_in_reasonable_time() -> None:
    started = time.perf_counter()
    rows = op_gates()
    assert time.perf_counter() - started < 60
    assert [row.type for row in rows] == list(private.registered_operations())
    registered = [row for row in rows if row.registration is Registration.FUNCTION]
    unanswered = [row.type for row in registered if row.gates is None or any(Gate.UNKNOWN in gates for gates in row.gates.rows)]
    assert len(registered) > 350
    assert len(unanswered) < 65


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("gathernd", ["GatherNd"]),
        ("ArgM*", ["ArgMax", "ArgMin"]),
        ("argm", ["ArgMax", "ArgMin"]),
        ("Fused?atchNorm", ["FusedBatchNorm"]),
    ],
)
def test_a_pattern_is_a_name_a_part_of_one_or_a_glob(pattern: str, found: list[str]) -> None:
    assert [row.type for row in op_gates(pattern)][: len(found)] == found


def test_a_name_by_itself_means_that_op_alone() -> None:
    assert [row.type for row in op_gates("Add")] == ["Add"]
    assert len(op_gates("Gath*")) > 2


@pytest.mark.parametrize(("pattern", "advice"), [("GatherNdd", "GatherNd"), ("zzzz", "glob")])
def test_a_pattern_that_matches_nothing_is_refused_with_close_names(pattern: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice) as raised:
        op_gates(pattern)
    assert repr(pattern) in str(raised.value)


def test_the_table_as_text() -> None:
    assert op_table("GatherNd").splitlines()[:3] == ["GatherNd", "  params   open", "  indices  closed: int32 carries no gradient"]
    assert "  x  closed: its gradient function returns None" in op_table("Round")
    assert "  x  closed: its gradient function returns zeros" in op_table("Sign")
    assert "no output carries gradient: int64" in op_table("ArgMax")
    assert "no gradient registered: the call raises LookupError" in op_table("AdjustContrastv2")
    assert "declared not differentiable" in op_table("HSVToRGB")
    assert "open from values · closed from indices: the output is int32" in op_table("TopKV2")
    assert "Python code decides" in op_table("EagerPyFunc")
    assert "cannot be instantiated here: it runs functions" in op_table("If")
    assert "2 op types: 2 without anything" in op_table("ArgM*")

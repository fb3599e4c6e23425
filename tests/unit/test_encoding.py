"""Reports survive being saved and read back; what is no report is refused with the key that is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from tapetrace.errors import ReportError
from tapetrace.model.encoding import report_from_dict, report_from_json, report_to_dict, report_to_json
from tapetrace.model.graph import ReportGraph
from tapetrace.model.report import (
    Numbers,
)

from .reports import EXAMPLES, call, connected, in_series, never_read, outside_tape, report, small_graph, source


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_come_back_and_are_encoded_alike_again(name: str) -> None:
    once = report_to_json(EXAMPLES[name]())
    assert report_to_json(report_from_json(once)) == once


def test_the_keys_of_schema_1() -> None:
    data = report_to_dict(replace(in_series(), build_graph=small_graph))
    assert list(data)[:7] == ["schema", "tapetrace", "tensorflow", "keras", "target", "mode", "ok"]
    assert data["schema"] == "tapetrace/1"
    assert data["ok"] is False
    [found] = data["calls"]
    first = found["sources"][0]
    assert {k: first[k] for k in ("name", "path", "kind", "dtype", "shape", "verdict", "returned", "cause", "numbers")} == {
        "name": "kernel", "path": "q/kernel", "kind": "variable", "dtype": "float32", "shape": [2, None], "verdict": "none", "returned": "none",
        "cause": "gradient_is_none", "numbers": None,
    }  # fmt: skip
    assert [b["cause"] for b in first["breaks"]] == ["gradient_is_none", "stop_gradient"]
    assert first["breaks"][0]["location"] == {
        "file": "samples/step.py", "line": 12, "function": "train_step", "code": "q = tf.round(kernel)", "called_from": [],
    }  # fmt: skip
    assert first["breaks"][0]["library_location"] is None
    assert first["breaks"][1]["library_location"]["line"] == 9
    assert first["route"] == ["q/kernel", "Round", "StopGradient", "loss"]
    assert found["targets"][0]["op"] == "Mean"
    assert data["root_causes"][0]["ops"] == [{"name": "StopGradient", "type": "StopGradient"}]
    assert data["root_causes"][0]["blocks"] == ["q/kernel", "q/bias"]
    assert data["agreement"] == {"checked": 3, "disagreed": []}
    assert data["error"] is None
    assert data["graph"]["edges"] == [[0, 1, "break", "gradient_is_none"], [1, 2, "live"]]
    assert len(data["graph"]["locations"]) == 1
    assert report_to_dict(outside_tape())["calls"][0]["sources"][0]["breaks"][0]["location"]["called_from"][0]["line"] == 7


def test_what_an_op_reads_comes_back_and_may_be_missing() -> None:
    drawing = small_graph()
    some = replace(drawing, nodes=(*drawing.nodes[:-1], replace(drawing.nodes[-1], reads=("net/kernel",))))
    data = report_to_dict(report(graph=some))
    assert [n.get("reads") for n in data["graph"]["nodes"]] == [None, None, ["net/kernel"]]
    assert report_from_dict(data).drawing == some


def test_findings_and_blind_spots_are_written() -> None:
    data = report_to_dict(never_read())
    assert data["not_asked"][0]["path"] == "chain/offset"
    assert data["not_applied"] == [{"name": "kernel", "path": "out/kernel", "location": None}]
    assert data["blind_spots"][1] == {"name": "numpy_function", "type": "PyFunc", "dtype": "", "shape": None, "location": None}
    assert (data["blind_spots"][0]["dtype"], data["blind_spots"][0]["shape"]) == ("float32", [4, None])
    assert data["notes"] == ["the step was run eagerly, since tracing it failed"]


@pytest.mark.parametrize(("norm", "written"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (0.5, 0.5)])
def test_a_norm_is_valid_json_whatever_it_is(norm: float, written: object) -> None:
    encoded = report_to_json(report(call(source("w", numbers=Numbers(norm, 1, 2, 3)))))
    assert json.loads(encoded, parse_constant=pytest.fail)["calls"][0]["sources"][0]["numbers"]["norm"] == written
    back = report_from_json(encoded).calls[0].sources[0].numbers
    assert back is not None
    assert repr(back.norm) == repr(norm)


def test_a_path_that_is_not_utf8_can_be_written() -> None:
    encoded = report_to_json(report(call(source("w")), root_causes=()).__class__("f\udcff.py:step", "", "", "graph", ()))
    assert encoded.encode("utf-8")
    assert report_from_json(encoded).target == "f\ufffd.py:step"
    assert report_from_json(encoded.replace("\ufffd", "\\udcff")).target == "f\ufffd.py:step"


BASE = report_to_dict(replace(in_series(), build_graph=small_graph))


def damaged(path: str, value: object) -> dict[str, Any]:
    """The base report with the value at a dotted path replaced, or removed if it is ``...``."""
    data: dict[str, Any] = json.loads(json.dumps(BASE))
    at: Any = data
    *way, last = [int(k) if k.isdigit() else k for k in path.split(".")]
    for key in way:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("schema", "tapetrace/2", "`schema` is 'tapetrace/2', but this version of tapetrace reads tapetrace/1"),
        ("schema", ..., "`schema` is missing"),
        ("calls", {}, "`calls` should be a list, not a dict"),
        ("calls", None, "`calls` should be a list, not None"),
        ("calls.0.sources.1.verdict", "maybe", "`calls[0].sources[1].verdict` should be one of connected, conditional, zero"),
        ("calls.0.sources.1.verdict", ..., "`calls[0].sources[1].verdict` is missing"),
        ("calls.0.sources.0.kind", "lambda", "`calls[0].sources[0].kind` should be variable or tensor"),
        ("calls.0.sources.0.shape", "ab", "`calls[0].sources[0].shape` should be a list"),
        ("calls.0.sources.0.shape", [-1], "`calls[0].sources[0].shape[0]` should be a whole number"),
        ("calls.0.sources.0.numbers", {"norm": "big", "zeros": 0, "nan": 0, "inf": 0}, "`calls[0].sources[0].numbers.norm` should be a number"),
        ("calls.0.sources.0.returned", ..., "`calls[0].sources[0].returned` is missing"),
        ("calls.0.sources.0.breaks.0.cause", 3, "`calls[0].sources[0].breaks[0].cause` should be one of stop_gradient"),
        ("calls.0.location.line", True, "`calls[0].location.line` should be a whole number, 0 or more, not True"),
        ("calls.0.location.line", 10**400, "`calls[0].location.line` should be a whole number, 0 or more, not a number of that size"),
        ("calls.0.location", [], "`calls[0].location` should be an object"),
        ("root_causes.0.blocks.0", None, "`root_causes[0].blocks[0]` should be a string"),
        ("root_causes.0.dominates", 1, "`root_causes[0].dominates` should be true or false"),
        ("root_causes.0.call", 7, "`root_causes[0].call` is 7, but there are 1 calls"),
        ("agreement", [], "`agreement` should be an object"),
        ("error", ..., "`error` is missing"),
        ("graph.edges.0", [0, 9, "live"], "`graph.edges[0][1]` is 9, but there are 3 nodes"),
        ("graph.edges.0", [0], "`graph.edges[0]` should be [tail, head, status]"),
        ("graph.edges.0", [2, 1, "live"], "`graph.edges` run in a circle"),
        ("graph.nodes.0.at", 5, "`graph.nodes[0].at` is 5, but there are 1 locations"),
        ("graph.nodes.1.name", "kernel", "`graph.nodes[1].name` stands twice"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused_with_its_key(path: str, value: object, named: str) -> None:
    with pytest.raises(ReportError) as e:
        report_from_dict(damaged(path, value))
    assert named in str(e.value)
    assert "\n" not in str(e.value)
    assert len(str(e.value)) < 700


def test_the_base_of_the_damaged_ones_is_sound() -> None:
    assert report_from_dict(json.loads(json.dumps(BASE))) == in_series()


@pytest.mark.parametrize("broken", ["", "{", "[1, 2]", "null", "[" * 200_000, '{"a":' * 100_000, "1" * 10_000, "\x00", '"report"'])
def test_what_is_not_json_or_not_an_object_is_refused(broken: str) -> None:
    with pytest.raises(ReportError) as e:
        report_from_json(broken)
    assert "\n" not in str(e.value)
    assert len(str(e.value)) < 400


def test_a_report_without_graph_or_notes_is_read() -> None:
    data = report_to_dict(connected())
    del data["graph"], data["notes"]
    back = report_from_dict(data)
    assert back == connected()
    assert back.drawing == ReportGraph()

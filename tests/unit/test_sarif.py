"""SARIF: the structure that SARIF 2.1.0 asks for, and what stands in it.

The published schema is not part of any package that the tests could install, so ``SCHEMA`` below is our own: it describes the objects that
tapetrace writes, with the required keys and types that the specification gives them, and refuses every other key.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tapetrace.model.locations import Frame, Location
from tapetrace.model.words import Cause
from tapetrace.render.sarif import render_sarif

from .reports import EXAMPLES, at, branches, call, connected, in_series, never_read, one_cause, outside_tape, raised, report, source


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def items(of: dict[str, Any], minimum: int = 0, unique: bool = False) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": minimum, "uniqueItems": unique}


TEXT = {"type": "string"}
MESSAGE = closed(["text"], text=TEXT)
ARTIFACT = closed(["uri"], uri={"type": "string", "pattern": r"^[^ \\]+$"}, uriBaseId={"const": "SRCROOT"})
REGION = closed(["startLine"], startLine={"type": "integer", "minimum": 1}, snippet=closed(["text"], text=TEXT))
LOCATION = closed(
    ["physicalLocation"],
    id={"type": "integer", "minimum": 0},
    physicalLocation=closed(["artifactLocation", "region"], artifactLocation=ARTIFACT, region=REGION),
    logicalLocations=items(closed(["name", "kind"], name=TEXT, kind={"const": "function"}), 1, True),
    message=MESSAGE,
)
STEP = closed(["location"], location=LOCATION, importance={"enum": ["important", "essential", "unimportant"]})
FLOW = closed(["threadFlows"], message=MESSAGE, threadFlows=items(closed(["locations"], locations=items(STEP, 1)), 1))
RESULT = closed(
    ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations=items(LOCATION),
    relatedLocations=items(LOCATION, 0, True),
    codeFlows=items(FLOW),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    properties={"type": "object"},
)
RULE = closed(["id", "name", "shortDescription"], id=TEXT, name=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE, help=MESSAGE)
DRIVER = closed(["name"], name=TEXT, version=TEXT, rules=items(RULE, 0, True))
NOTIFICATION = closed(["message"], level={"enum": ["none", "note", "warning", "error"]}, message=MESSAGE, locations=items(LOCATION))
RUN = closed(
    ["tool", "results"],
    tool=closed(["driver"], driver=DRIVER),
    invocations=items(closed(["executionSuccessful"], executionSuccessful={"type": "boolean"}, toolExecutionNotifications=items(NOTIFICATION))),
    originalUriBaseIds={"type": "object", "additionalProperties": closed([], description=MESSAGE)},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=items(RESULT),
    properties={"type": "object"},
)
SCHEMA = {**closed(["version", "runs"], version={"const": "2.1.0"}, runs=items(RUN)), "$schema": "https://json-schema.org/draft/2020-12/schema"}
SCHEMA["properties"]["$schema"] = TEXT


def run_of(sarif: str) -> dict[str, Any]:
    [run] = json.loads(sarif)["runs"]
    return dict(run)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("with_source", [True, False])
def test_each_kind_of_report_has_the_structure_of_sarif(name: str, with_source: bool) -> None:
    data = json.loads(render_sarif(EXAMPLES[name](), source=with_source))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    [run] = data["runs"]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert [rules[r["ruleIndex"]] for r in run["results"]] == [r["ruleId"] for r in run["results"]]
    prints = [r["partialFingerprints"]["tapetracePlace/v1"] for r in run["results"]]
    assert len(set(prints)) == len(prints)


def test_a_place_becomes_a_result_at_its_line() -> None:
    [result] = run_of(render_sarif(outside_tape()))["results"]
    assert result["ruleId"] == "outside_tape"
    assert result["level"] == "error"
    assert "keeps gradient from enc/kernel, enc/bias, mu/kernel, … 5 more: this line runs before" in result["message"]["text"]
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "samples/vae.py", "uriBaseId": "SRCROOT"}
    assert where["region"] == {"startLine": 33, "snippet": {"text": "rec, mu, lv = vae(x, training=True)"}}
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 7
    assert result["properties"]["reconnects"] == 8


def test_code_flows_lead_from_the_first_break_to_the_gradient_call() -> None:
    first = run_of(render_sarif(in_series()))["results"][0]
    flows = [[s["location"]["physicalLocation"]["region"]["startLine"] for s in f["threadFlows"][0]["locations"]] for f in first["codeFlows"]]
    assert flows == [[12, 20, 35, 36], [20, 35, 36]]


def test_levels_and_rules() -> None:
    assert [(r["ruleId"], r["level"]) for r in run_of(render_sarif(never_read()))["results"]] == [
        ("never_read", "error"), ("python_function", "warning"), ("not_asked", "warning"), ("not_applied", "warning"),
    ]  # fmt: skip
    assert {r["level"] for r in run_of(render_sarif(branches()))["results"]} == {"warning"}
    assert run_of(render_sarif(connected()))["results"] == []


def test_a_failed_step_is_a_failed_execution() -> None:
    [invocation] = run_of(render_sarif(raised()))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][-1]["message"]["text"].startswith("the step itself raised ValueError: No gradients provided")
    assert run_of(render_sarif(connected()))["invocations"][0]["executionSuccessful"] is True


def test_without_source_there_is_no_snippet() -> None:
    assert "snippet" in render_sarif(in_series())
    assert "snippet" not in render_sarif(in_series(), source=False)


def test_fingerprints_outlive_added_lines_but_not_changed_ones() -> None:
    def fingerprint(line: int, code: str) -> str:
        found = one_cause(Cause.STOP_GRADIENT, at(line, code), "w")
        return str(run_of(render_sarif(found))["results"][0]["partialFingerprints"]["tapetracePlace/v1"])

    assert fingerprint(3, "tf.stop_gradient(x)") == fingerprint(8, "tf.stop_gradient(x)")
    assert fingerprint(3, "tf.stop_gradient(x)") != fingerprint(3, "tf.stop_gradient(y)")


def test_paths_are_relative_to_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "repo" / "pkg"
    folder.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    monkeypatch.chdir(folder)

    def artifact(file: str) -> dict[str, str]:
        found = render_sarif(one_cause(Cause.STOP_GRADIENT, Location(Frame(file, 3, "f")), "w"))
        return dict(run_of(found)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"])

    assert artifact(str(folder / "a step.py")) == {"uri": "pkg/a%20step.py", "uriBaseId": "SRCROOT"}
    assert artifact("größe.py") == {"uri": "pkg/gr%C3%B6%C3%9Fe.py", "uriBaseId": "SRCROOT"}
    assert artifact(str(tmp_path / "else.py")) == {"uri": (tmp_path / "else.py").as_uri()}
    assert artifact("<stdin>") == {"uri": "%3Cstdin%3E", "uriBaseId": "SRCROOT"}


def test_a_place_without_location_stands_at_the_gradient_call() -> None:
    [result] = run_of(render_sarif(one_cause(Cause.NEVER_READ, None, "w")))["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 36
    nowhere = replace(call(source("w")), location=None)
    lost = one_cause(Cause.NEVER_READ, None, "w")
    lost = replace(lost, calls=(replace(lost.calls[0], location=None),))
    assert run_of(render_sarif(lost))["results"][0]["locations"] == []
    assert run_of(render_sarif(report(nowhere)))["results"] == []

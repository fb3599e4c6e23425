"""What is left out of a report for others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tapetrace
from tapetrace.model.comparison_encoding import comparison_to_json
from tapetrace.model.encoding import report_from_json, report_to_json
from tapetrace.model.privacy import short_path, short_target, without_source
from tests.unit import reports


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_path_is_short_below_the_working_directory_alone(at_home: Path) -> None:
    assert short_path(str(at_home / "src" / "train.py")) == str(Path("src/train.py"))
    assert short_path(str(at_home.parent / "other.py")) == str(at_home.parent / "other.py")
    assert short_path("C:\\env\\Lib\\site-packages\\keras\\layer.py") == "keras/layer.py"
    assert short_target(f"{at_home}/train.py:step") == "train.py:step"
    assert short_target("package.module:step") == "package.module:step"


def test_json_without_source_has_neither_code_nor_where_the_project_lies(at_home: Path) -> None:
    kept = json.dumps(json.loads(report_to_json(reports.outside_tape()))).replace('"file": "', f'"file": "{at_home}/')
    report = replace(report_from_json(kept), target=f"{at_home}/train.py:step")
    assert str(at_home) in report_to_json(report)
    hidden = report_to_json(report, source=False)
    assert str(at_home) not in hidden
    read = report_from_json(hidden)
    assert read.target == "train.py:step"
    (cause, *_) = read.root_causes
    assert cause.location is not None
    assert (cause.location.code, cause.location.file) == ("", reports.outside_tape().root_causes[0].location.file)  # type: ignore[union-attr]
    changed = tapetrace.compare(reports.connected(), report)
    assert str(at_home) in comparison_to_json(changed)
    assert str(at_home) not in comparison_to_json(changed, source=False)


def test_files_elsewhere_are_named_from_the_folder_of_the_target_and_as_short_as_they_differ(at_home: Path) -> None:
    files = ["/srv/job/step.py", "/srv/job/lib/loss.py", "/opt/a/model.py", "/opt/b/model.py", f"{at_home}/own.py", "<stdin>"]
    data = {"target": "/srv/job/step.py:f", "calls": [{"file": file, "code": "x"} for file in files], "notes": ["raised at /srv/job/step.py:3"]}
    hidden = without_source(data)
    assert [call["file"] for call in hidden["calls"]] == ["step.py", "lib/loss.py", "a/model.py", "b/model.py", "own.py", "<stdin>"]
    assert (hidden["target"], hidden["notes"], hidden["calls"][0]["code"]) == ("step.py:f", ["raised at step.py:3"], "")
    assert without_source(hidden) == hidden

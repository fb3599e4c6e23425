"""A network that no call asks for is told in one line: one of two that are trained in turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.report import Finding
from tapetrace.render.text_step import untouched_networks
from tests.unit.reports import at, call, report, source


@pytest.mark.parametrize(
    ("asked", "not_asked", "whole"),
    [
        ("g/a/kernel", "d/a/kernel d/a/bias", {"d": 2}),
        ("g/a/kernel d/b/kernel", "d/a/kernel d/a/bias", {}),  # a part of it is asked for: the rest may be forgotten
        ("g/a/kernel", "d/a/kernel", {}),
        ("g/a/kernel", "scale shift", {}),  # variables without an owner
        ("g/a/kernel", "d/a/kernel scale e/a/kernel d/a/bias e/a/bias e/b/bias", {"d": 2, "e": 3}),
    ],
)
def test_whole_networks(asked: str, not_asked: str, whole: dict[str, int]) -> None:
    made = report(call(*(source(path) for path in asked.split())))
    found = tuple(Finding(path.rpartition("/")[2], path, at(3, "made = here()")) for path in not_asked.split())
    made = replace(made, not_asked=found)
    text = str(made)
    assert untouched_networks(made) == whole
    said = f"! {sum(whole.values())} variables of {', '.join(whole)}: live, and no call asks for any of theirs (not_asked)"
    assert (said in text) == bool(whole)
    assert all(f"--frozen '{network}/*'" in text for network in whole)
    alone = [path for path in not_asked.split() if path.partition("/")[0] not in whole]
    assert [path for path in not_asked.split() if f"     {path}" in text] == alone

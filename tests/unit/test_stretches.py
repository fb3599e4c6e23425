"""The folds that make a picture smaller, one at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tapetrace.model.graph import Role, Status
from tapetrace.model.locations import Location
from tapetrace.render.panels import Panel
from tapetrace.render.stretches import absorb_sources, fold_lines, fold_regions, fold_runs, fold_scopes, within_reach
from tapetrace.render.units import Partition, split_into_units

from .drawings import BREAK, DEAD, LIVE, Drawing


def partition(statuses: str, source: Status | None = None, scopes: str = "") -> Partition:
    """A chain of ops a, b, c, …, perhaps behind a source, with a letter for each status: l live, d dead, b break, o opaque, t a live target."""
    d = Drawing()
    before = [d.source("net/x/v", source)] if source else []
    for i, letter in enumerate(statuses):
        status = {"l": LIVE, "t": LIVE, "d": DEAD, "b": BREAK, "o": Status.OPAQUE}[letter]
        scope = f"net/{scopes[i]}" if scopes else ""
        before = [d.op("abcdefghij"[i], "Op", before, status, role=Role.TARGET if letter == "t" else Role.OP, number=int(letter == "b"), scope=scope)]
    return split_into_units(Panel.new(d.graph(), 0), "ops")


def sizes(folded: Partition) -> list[int]:
    return [len(u.members) for u in folded.units]


@pytest.mark.parametrize(
    ("fold", "statuses", "expected"),
    [
        pytest.param(lambda p: fold_runs(p, 2), "dddbllllt", [2, 1, 1, 1, 2, 1, 1], id="a run, but not what is next to a break or the target"),
        pytest.param(lambda p: fold_runs(p, 4), "dddbllllt", [1] * 9, id="too short a run"),
        pytest.param(lambda p: fold_regions(p, set()), "dddbllllt", [3, 1, 4, 1], id="a region up to the break"),
        pytest.param(lambda p: fold_regions(p, within_reach(p, 1)), "dddbllllt", [2, 1, 1, 1, 2, 1, 1], id="a region, one step kept around breaks"),
        pytest.param(lambda p: fold_regions(p, set()), "lolt", [1, 1, 1, 1], id="never two statuses in one"),
    ],
)
def test_folds_of_a_chain(fold: Callable[[Partition], Partition], statuses: str, expected: list[int]) -> None:
    assert sizes(fold(partition(statuses))) == expected


def test_scopes_fold_to_their_outer_levels() -> None:
    chain = partition("llllt", LIVE, scopes="xxyyz")
    assert sizes(fold_scopes(chain, 2, set())) == [3, 2, 1]
    assert sizes(fold_scopes(chain, 1, set())) == [5, 1]
    assert sizes(fold_scopes(chain, 1, {1})) == [2, 3, 1]


@pytest.mark.parametrize("fold", [lambda p, kept: fold_scopes(p, 1, kept), fold_lines], ids=["scopes", "lines"])
def test_what_two_ops_that_stay_read_is_not_put_together(fold: Callable[[Partition, set[int]], Partition]) -> None:
    line = Location.new("net.py", 1, "call")
    d = Drawing()
    before = "start"
    d.op(before, "Op", [], LIVE, line)
    for layer in "xy":
        d.source(f"net/{layer}/v")
        d.op(f"net/{layer}/read", "Op", [f"net/{layer}/v"], LIVE, line)
        d.op(f"net/{layer}/reshape", "Op", [f"net/{layer}/read"], LIVE, line)
        before = d.op(f"net/{layer}/mul", "Op", [before, f"net/{layer}/reshape"], LIVE, line)
    d.op("loss", "Op", [before], LIVE, line, role=Role.TARGET)
    whole = split_into_units(Panel.new(d.graph(), 0), "ops")
    folded = fold(whole, {i for i, n in enumerate(d.nodes) if n.name.endswith(("start", "mul"))})
    together = [{d.nodes[m].name for m in u.members} for u in folded.units]
    assert [names for names in together if len(names) > 1] == [{f"net/{layer}/{n}" for n in ("v", "read", "reshape")} for layer in "xy"]


@pytest.mark.parametrize(
    ("source", "statuses", "expected"),
    [
        pytest.param(LIVE, "lt", [2, 1], id="into a reader of its status"),
        pytest.param(LIVE, "ot", [1, 1, 1], id="not into one of another status"),
        pytest.param(DEAD, "bt", [1, 1, 1], id="never into a break"),
    ],
)
def test_sources_are_absorbed(source: Status, statuses: str, expected: list[int]) -> None:
    assert sizes(absorb_sources(partition(statuses, source))) == expected

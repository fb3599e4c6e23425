"""Files that are no report, or far too large: refused in one sentence, at once."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path
from typing import Any

import pytest

import tapetrace
from tests.proof.hostile_files import BASE, command, saved
from tests.proof.ways import LONG


def with_graph(**changes: Any) -> dict[str, Any]:
    return {**BASE, "graph": {"locations": [], "nodes": [{"name": "a", "type": "T", "status": "live"}], "edges": [], **changes}}


NODES = [{"name": f"n{i}", "type": "T", "status": "live"} for i in range(3)]
BROKEN: dict[str, Any] = {
    "deep list": "[" * 200_000,
    "deep list, closed": "[" * 100_000 + "]" * 100_000,
    "deep object": '{"a":' * 100_000,
    "deep under an unknown key": json.dumps(BASE)[:-1] + ',"z":' + "[" * 50_000 + "]" * 50_000 + "}",
    "NaN": json.dumps(BASE).replace('"checked": 3', '"checked": NaN'),
    "a number of a hundred thousand digits": json.dumps(BASE).replace('"checked": 3', '"checked": ' + "9" * 100_000),
    "an exponent": json.dumps(BASE).replace('"checked": 3', '"checked": 1e400'),
    "UTF-16": json.dumps(BASE).encode("utf-16"),
    "a byte order mark": "\ufeff" + json.dumps(BASE),
    "zeros": b"\0" * 1000,
    "nothing": "",
    "a list": "[]",
    "null": "null",
    "an edge to nowhere": with_graph(edges=[[0, 7, "live"]]),
    "a negative index": with_graph(edges=[[0, -1, "live"]]),
    "a fraction for an index": with_graph(edges=[[0, 0.5, "live"]]),
    "true for an index": with_graph(edges=[[0, True, "live"]]),
    "a circle": with_graph(nodes=NODES, edges=[[0, 1, "live"], [1, 2, "live"], [2, 0, "live"]]),
    "a node that leads to itself": with_graph(edges=[[0, 0, "live"]]),
    "a name twice": with_graph(nodes=[NODES[0], NODES[0]]),
    "a location that is not there": with_graph(nodes=[{**NODES[0], "at": 3}]),
    "calls that are an object": {**BASE, "calls": {}},
    "a path that is a number": {**BASE, "target": 7},
    "keys twice, the last is wrong": json.dumps(BASE)[:-1] + ',"calls":[],"calls":5}',
    "__proto__ in place of a report": '{"__proto__": ' + json.dumps(BASE) + "}",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_report_is_refused_at_once(name: str, tmp_path: Path) -> None:
    file = saved(tmp_path, BROKEN[name])
    began = time.monotonic()
    for read in (tapetrace.load, lambda f: tapetrace.compare(f, f)):
        with pytest.raises(tapetrace.TapetraceError) as refused:
            read(file)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 500
        assert refused.value.exit_code == 2
    assert time.monotonic() - began < 5


def test_many_nodes_are_read_in_a_time_that_grows_with_their_number(tmp_path: Path) -> None:
    """One million nodes are read as well, with the environment variable for long tests."""

    def seconds(count: int) -> float:
        nodes = [{"name": f"n{i}", "type": "T", "status": "live"} for i in range(count)]
        file = saved(tmp_path, with_graph(nodes=nodes, edges=[[i, i + 1, "live"] for i in range(count - 1)]))
        began = time.monotonic()
        assert len(tapetrace.load(file).drawing.nodes) == count
        return time.monotonic() - began

    few = max(seconds(5_000), 0.05)
    assert seconds(50_000) < 40 * few
    if LONG:
        assert seconds(1_000_000) < 120
    with pytest.raises(tapetrace.TapetraceError, match="1000001 elements"):
        tapetrace.load(saved(tmp_path, '{"schema":"tapetrace/1","graph":{"locations":[],"nodes":[' + "0," * 1_000_000 + "0]}}"))


def test_a_file_that_is_too_large_is_not_read_into_memory() -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))

    done = command("render", "/dev/zero", preexec_fn=limited)
    assert (done.returncode, done.stderr) == (
        2,
        b"tapetrace: /dev/zero is larger than 500 MB, no report is: give one that `tapetrace check -o report.json` wrote.\n",
    )

"""Several workers, a coordinator, and programs under a strategy that must come out as without tapetrace."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "distributed"
QUIET = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


def tapetrace(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tapetrace", *arguments]
    return subprocess.Popen(command, cwd=PROGRAMS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**QUIET, **environment})


def finished(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    try:
        ended = [(process.communicate(timeout=120), process) for process in processes]
        return [(process.returncode, out, err) for (out, err), process in ended]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def addresses(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return found


def test_each_worker_tells_of_its_own_replica(tmp_path: Path) -> None:
    cluster = {"worker": addresses(2)}
    workers = []
    for i in range(2):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}})
        workers.append(tapetrace("run", "-o", str(tmp_path / f"report-{i}.json"), "multi_worker.py", "cut", TF_CONFIG=config))
    first, second = finished(workers)
    assert (first[0], second[0]) == (0, 1), first[2] + second[2]
    assert first[1] == second[1] != ""  # the loss that both computed
    reports = [json.loads((tmp_path / f"report-{i}.json").read_text()) for i in range(2)]
    assert [[s["verdict"] for c in r["calls"] for s in c["sources"]] for r in reports] == [["connected", "connected"], ["none", "connected"]]
    assert reports[1]["root_causes"][0]["location"]["code"] == "h = tf.stop_gradient(h)"
    notes = [f"this process ran replica {i} of 2, counted from 0: the other processes tell of theirs" for i in range(2)]
    assert [r["notes"] for r in reports] == [[n] for n in notes]
    assert [r["agreement"] for r in reports] == [{"checked": 2, "disagreed": []}] * 2


@pytest.mark.parametrize(("arguments", "broken", "total"), [([], ["w"], 2), (["shards"], ["w/part_0", "w/part_1"], 4)])
def test_what_a_coordinator_schedules(tmp_path: Path, arguments: list[str], broken: list[str], total: int) -> None:
    ((code, out, err),) = finished([tapetrace("run", "-o", str(tmp_path / "report.json"), "parameter_server.py", *arguments)])
    assert (code, len(out.splitlines())) == (1, 1), err
    report = json.loads((tmp_path / "report.json").read_text())
    (call,) = report["calls"]
    assert [s["path"] for s in call["sources"] if s["verdict"] == "none"] == broken
    assert len(call["sources"]) == total
    assert report["agreement"] == {"checked": total, "disagreed": []}


def test_a_step_for_parameter_servers_is_checked(tmp_path: Path) -> None:
    ((code, out, err),) = finished([tapetrace("check", "parameter_server.py:step", "--args", "parameter_server.py:batch")])
    assert code == 1, err
    assert "h = tf.stop_gradient(tf.tanh(tf.matmul(x, whole(w))))" in out
    assert "verified: 2 of 2 verdicts agree" in out


def test_a_check_comes_before_the_users_module_chooses_devices(tmp_path: Path) -> None:
    page, saved = str(tmp_path / "page.html"), str(tmp_path / "report.json")
    arguments = ["mirrored_steps.py:second_only", "--args", "mirrored_steps.py:batch", "-o", page, "-o", saved]
    ((code, out, err),) = finished([tapetrace("check", *arguments)])
    assert code == 1, err
    assert "✗ 1 of 2 variables receives no gradient      mirrored_steps.py:" in out
    assert "here   on replica 1 of 2 only, counted from 0" in out
    sources = json.loads(Path(saved).read_text())["calls"][0]["sources"]
    assert [(s["path"], s["replicas"]) for s in sources] == [("w", [1]), ("v", [])]
    assert "on replica 1 of 2 only" in Path(page).read_text()


def test_nothing_is_disturbed() -> None:
    command = [sys.executable, "undisturbed.py"]
    process = subprocess.Popen(command, cwd=PROGRAMS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET)
    ((code, out, err),) = finished([process])
    assert code == 0, err[-3000:]
    assert out.splitlines() == [f"{kind} True True True" for kind in ("summed", "summed", "second_only", "second_only")]

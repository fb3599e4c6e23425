"""Every op that can be made to run here, between variables and a loss: ``python -m tests.proof.ops`` holds tapetrace's verdicts against TensorFlow.

In a traced graph and an eager run, for every float input and every output of the op: what came back against the verdict, and in 20 draws of the
inputs the numbers. ``--write`` renews the list of ops that were not made, with the reason for each.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from tapetrace.capture.op_table import _registration
from tapetrace.model.op_rows import Registration
from tests.capture.op_table import OpCase, op_cases
from tests.proof import generic_ops
from tests.proof.more_op_cases import more_op_cases
from tests.proof.op_runs import MODES, NoKernel, contradictions

LIST = Path(__file__).with_name("ops_not_made.txt")
PATIENCE = 180
"""Seconds after which an op is given up, and its process ended."""

ONLY_AT_OTHER_VALUES = frozenset({"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", "SparseToDense"})
"""Ops with an input whose gradient is zero at these numbers alone, as outside the range that an op clips to."""


def hand_made() -> dict[str, OpCase]:
    return {case.name: case for case in (*op_cases(), *more_op_cases())}


def jobs(only: str = "") -> Iterator[str]:
    """Names of cases, then of op types that no case is named for and that nothing speaks against."""
    cases = hand_made()
    covered = {name.split()[0] for name in cases}
    yield from (name for name in cases if only in name)
    for name, definition in generic_ops.definitions().items():
        if name not in covered and only in name and not generic_ops.reason_against(definition):
            yield name


def work(name: str, cases: dict[str, OpCase]) -> dict[str, Any]:
    """What is wrong with one op, or why it was not made."""
    try:
        case = cases.get(name) or generic_ops.make(generic_ops.definitions()[name])
    except generic_ops.NotMade as reason:
        return {"name": name, "not made": str(reason)}
    found: list[str] = []
    vanishing: list[str] = []
    compared = 0
    for mode in MODES:
        try:
            wrong, zero, count = contradictions(case, mode)
        except NoKernel as reason:
            if not compared:
                return {"name": name, "not made": str(reason)}
            continue  # as of AccumulateNV2, which only graphs can run
        found, vanishing, compared = found + wrong, vanishing + zero, compared + count
    return {"name": name, "wrong": found, "zero": vanishing, "compared": compared}


def worker() -> None:
    """Take names from stdin, one a line, and answer each with a line of JSON."""
    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    cases = hand_made()
    for line in sys.stdin:
        try:
            answer = work(line.strip(), cases)
        except Exception as error:  # a fault of tapetrace or of this proof, to be looked at
            answer = {"name": line.strip(), "wrong": [f"{type(error).__name__}: {str(error)[:300]}"], "zero": [], "compared": 0}
        print("\n" + json.dumps(answer), flush=True)


class Worker:
    """A process that answers names, one after the other."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.ops", "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip
        self.said: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            if line.startswith('{"name"'):
                self.said.put(line)
        self.said.put("")

    def ask(self, name: str) -> dict[str, Any]:
        """Its answer. The process has ended when it could give none."""
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        try:
            line = self.said.get(timeout=PATIENCE)
        except queue.Empty:
            line, reason = "", f"no answer after {PATIENCE} seconds"
        else:
            reason = "TensorFlow ends the process"
        if line:
            return dict(json.loads(line))
        self.process.kill()
        self.process.wait()
        return {"name": name, "not made": reason}


def answers(names: list[str]) -> Iterator[dict[str, Any]]:
    """The answer for each name. An op that ends its process or never answers costs that process alone."""
    asked = Worker()
    for name in names:
        if asked.process.poll() is not None:
            asked = Worker()
        yield asked.ask(name)
    asked.process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="ops with this in their names")
    parser.add_argument("--write", action="store_true", help=f"renew {LIST.name}")
    parser.add_argument("--worker", action="store_true", help="answer names from stdin")
    chosen = parser.parse_args()
    if chosen.worker:
        worker()
        return 0
    names = list(jobs(chosen.only))
    made: dict[str, int] = {}
    not_made: dict[str, str] = {}
    wrong = compared = 0
    for number, answer in enumerate(answers(names), 1):
        name = answer["name"]
        if "not made" in answer:
            not_made[name] = answer["not made"]
            continue
        made[name] = answer["compared"]
        compared += answer["compared"]
        zero = [] if name.split()[0] in ONLY_AT_OTHER_VALUES else answer["zero"]
        wrong += len(answer["wrong"])
        for mark, sentences in (("✗", answer["wrong"]), ("~", zero)):
            for sentence in sentences:
                print(f"{mark} {name}: {sentence}", flush=True)
        if number % 25 == 0:
            print(f"{number} of {len(names)} tried, {compared} verdicts compared, {wrong} wrong", file=sys.stderr, flush=True)
    print(summary(made, not_made, compared, wrong))
    if chosen.write:
        LIST.write_text(listing(made, not_made))
    return 1 if wrong else 0


def reached(made: dict[str, int]) -> set[str]:
    return {name.split()[0] for name in made}


def summary(made: dict[str, int], not_made: dict[str, str], compared: int, wrong: int) -> str:
    types = reached(made)
    with_gradient = {n for n in generic_ops.definitions() if _registration(n) is Registration.FUNCTION}
    return (
        f"{len(types)} op types made, {len(types & with_gradient)} of the {len(with_gradient)} that have a gradient function; "
        f"{compared} verdicts compared, {wrong} wrong"
    )


def listing(made: dict[str, int], not_made: dict[str, str]) -> str:
    """Op types that were not reached, those with a gradient function first, each with the reason."""
    types = reached(made)
    rows: dict[bool, list[str]] = {True: [], False: []}
    counted: Counter[str] = Counter()
    for name, definition in generic_ops.definitions().items():
        if name in types:
            continue
        has_gradient = _registration(name) is Registration.FUNCTION
        reason = not_made.get(name) or generic_ops.reason_against(definition) or "not tried"
        if reason.startswith("none of its inputs") and not has_gradient:
            counted[reason] += 1
            continue
        rows[has_gradient].append(f"{name}: {reason}")
    lines = [
        f"Written by `python -m tests.proof.ops --write` with TensorFlow {tf.__version__}: op types that the proof did not reach, and why.",
        "",
        f"With a gradient function ({len(rows[True])}):",
        *rows[True],
        "",
        f"Without ({len(rows[False])}):",
        *rows[False],
        "",
        *[f"and {count} more: {reason}" for reason, count in counted.items()],
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

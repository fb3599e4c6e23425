"""Many random programs, each held against TensorFlow: ``python -m tests.proof.fuzz --count 10000 --seed 1``.

A program on which tapetrace and TensorFlow contradict each other is made smaller and printed, to be pasted into a file or a report.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import tensorflow as tf

from tests.capture.program_runs import complaints
from tests.capture.random_programs import Writer
from tests.proof.shrinking import shrink

EAGER_EVERY = 8
"""One program in so many is run eagerly as well."""

AT_ONCE = 100
"""Programs in one process: TensorFlow keeps some megabytes of each."""

PATIENCE = 120
"""Seconds after which a program is given up."""


class Fuzz:
    """Runs programs in a folder of their own; ``wrong`` counts those that were contradicted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0
        self.wrong = 0
        self.runs: Counter[str] = Counter()

    def ask(self, source: str, mode: str) -> list[str]:
        """What is wrong with the report on ``source``, the failing of tapetrace itself included."""
        self.number += 1
        signal.alarm(PATIENCE)
        path = self.folder / f"program_{self.number}.py"
        try:
            return complaints(source, path, mode)
        except Exception as error:  # whatever is raised here is a fault of tapetrace, or a program that cannot run at all
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tapetrace/" in f.filename]
            return [f"raised {type(error).__name__}: {str(error)[:300]}" + (f" in {frames[-1].name}" if frames else " outside tapetrace")]
        finally:
            signal.alarm(0)
            path.unlink(missing_ok=True)

    def program(self, seed: int, mode: str) -> None:
        source = Writer(seed).program()
        found = self.ask(source, mode)
        self.runs[mode] += 1
        if not found:
            return
        self.wrong += 1
        print(f"✗ seed {seed}, {mode}", *found, sep="\n  ", flush=True)
        kinds = {_kind(c) for c in found}
        small = shrink(source, lambda text: bool(kinds & {_kind(c) for c in self.ask(text, mode)}))
        print(f"# smaller, {mode}: {'; '.join(self.ask(small, mode))}", small, sep="\n", flush=True)


def _kind(complaint: str) -> str:
    """A complaint without the names in it, so that a smaller program is taken for the same fault."""
    return re.sub(r"call \d+: |^[^:]*: (?=\w+, but)|'[^']*'|\S*\.py:\d+|\d+", "", complaint)


def _give_up(*_: object) -> None:
    raise TimeoutError(f"no answer after {PATIENCE} seconds")


def run(count: int, seed: int, mode: str) -> tuple[int, int]:
    """How many runs of ``count`` programs there were in this process, and how many of them were contradicted."""
    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    signal.signal(signal.SIGALRM, _give_up)
    gc.collect()
    gc.freeze()  # collections otherwise walk all of TensorFlow's modules, thousands of times
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder))
        for number in range(seed, seed + count):
            if mode != "eager":
                fuzz.program(number, "graph")
            if mode == "eager" or (mode == "both" and number % EAGER_EVERY == 0):
                fuzz.program(number, "eager")
    return sum(fuzz.runs.values()), fuzz.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    modes = f"both: all traced, and one in {EAGER_EVERY} run eagerly as well"
    parser.add_argument("--mode", choices=("graph", "eager", "both"), default="both", help=modes)
    parser.add_argument("--in-process", action="store_true", help="run them here, and say how many as JSON in the last line")
    chosen = parser.parse_args()
    if chosen.in_process:
        print(json.dumps(run(chosen.count, chosen.seed, chosen.mode)))
        return 0
    started = time.perf_counter()
    runs = wrong = done = lost = 0
    while done < chosen.count:
        size = min(AT_ONCE, chosen.count - done)
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.proof.fuzz", "--in-process", "--mode", chosen.mode]
        command += ["--count", str(size), "--seed", str(chosen.seed + done)]
        *said, last = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines() or [""]
        try:
            more = json.loads(last)
        except ValueError:
            said += [last, f"✗ the process that ran seeds from {chosen.seed + done} on was killed"]
            more, lost = (0, 0), lost + size
        done, runs, wrong = done + size, runs + more[0], wrong + more[1]
        print("\n".join([*said, ""]), end="", flush=True)
        each = (time.perf_counter() - started) / done
        print(
            f"{done} programs up to seed {chosen.seed + done - 1}, {runs} runs: {wrong} contradicted, {each:.2f} s each", file=sys.stderr, flush=True
        )
    print(f"{runs - wrong} of {runs} runs of {done - lost} programs agree with TensorFlow")
    return 1 if wrong or lost else 0


if __name__ == "__main__":
    sys.exit(main())

"""Many random programs, each held against TensorFlow: ``python -m tests.proof.fuzz --count 10000 --seed 1``.

A program on which tapetrace and TensorFlow contradict each other is made smaller and printed, to be pasted into a file or a report. Where the process
ends by a crash, the program is run by TensorFlow alone as well, in other processes: some crash it without us, not each time.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import tensorflow as tf

from tests.capture.program_runs import complaints, load
from tests.capture.random_programs import Writer
from tests.proof.shrinking import shrink

EAGER_EVERY = 8
"""One program in so many is run eagerly as well."""

AT_ONCE = 100
"""Programs in one process: TensorFlow keeps some megabytes of each."""

PATIENCE = 120
"""Seconds after which a program is given up: TensorFlow alone takes minutes to trace some, with gradients of loops in loops."""

GIVEN_UP = "no answer after"
"""Words in the complaint about a program that was given up."""

ALONE = 16
"""Processes in which TensorFlow alone runs a program that ended one, several times in each."""

BEGINS = "begins"
"""The first word of the line that a process says before each program: its seed and its mode stand behind it."""

THEIRS = "~"
"""The first letter of the line on a program that TensorFlow alone crashes at, or takes long for: it has no answer to agree with."""


class Fuzz:
    """Runs programs in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0

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
        if not found:
            return
        if any(GIVEN_UP in complaint for complaint in found):
            slow = self.is_slow(source, mode)
            print(f"{THEIRS} seed {seed}, {mode}: TensorFlow alone is slow too" if slow else f"✗ seed {seed}, {mode}: {found}", flush=True)
            return
        print(f"✗ seed {seed}, {mode}", *found, sep="\n  ", flush=True)
        kinds = {_kind(c) for c in found}
        small = shrink(source, lambda text: bool(kinds & {_kind(c) for c in self.ask(text, mode)}))
        print(f"# smaller, {mode}: {'; '.join(self.ask(small, mode))}", small, sep="\n", flush=True)

    def is_slow(self, source: str, mode: str) -> bool:
        """Whether TensorFlow alone needs a good part of the time after which a program is given up."""
        step, args = load(source, self.folder / "slow.py").make()
        started = time.perf_counter()
        signal.alarm(PATIENCE)
        with contextlib.suppress(Exception):  # whatever it raises, the time is known
            step(*args) if mode == "eager" else tf.function(step).get_concrete_function(*args)
        signal.alarm(0)
        return time.perf_counter() - started > PATIENCE / 4


def _kind(complaint: str) -> str:
    """A complaint without the names in it, so that a smaller program is taken for the same fault."""
    return re.sub(r"call \d+: |^[^:]*: (?=\w+, but)|'[^']*'|\S*\.py:\d+|\d+", "", complaint)


def _give_up(*_: object) -> None:
    raise TimeoutError(f"{GIVEN_UP} {PATIENCE} seconds")


def run(count: int, seed: int, mode: str) -> None:
    """Run ``count`` programs in this process."""
    _prepare()
    gc.collect()
    gc.freeze()  # collections otherwise walk all of TensorFlow's modules, thousands of times
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder))
        for number in range(seed, seed + count):
            for each in ("graph", "eager"):
                if mode == each or (mode == "both" and (each == "graph" or number % EAGER_EVERY == 0)):
                    print(BEGINS, number, each, flush=True)
                    fuzz.program(number, each)


def run_alone(seed: int, mode: str) -> None:
    """Run one program a few times by TensorFlow alone."""
    _prepare()
    with tempfile.TemporaryDirectory() as folder:
        module = load(Writer(seed).program(), Path(folder) / "program.py")
        for _ in range(12):
            step, args = module.make()
            with contextlib.suppress(Exception):  # only whether the process survives is asked
                step(*args) if mode == "eager" else tf.function(step).get_concrete_function(*args)


def _prepare() -> None:
    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    signal.signal(signal.SIGALRM, _give_up)


def _process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.proof.fuzz", *arguments]
    # Whether TensorFlow crashes can hang on the seed of Python's hashes: a fixed one would make all processes alike.
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "random"})


def _crash(seed: str, mode: str) -> str:
    """What is to be said of a program that ended the process."""
    if any(_process("--alone", "--seed", seed, "--mode", mode).returncode < 0 for _ in range(ALONE)):
        return f"{THEIRS} seed {seed}, {mode}: the process ended by a crash, and so it does by TensorFlow alone"
    return f"✗ seed {seed}, {mode}\n  the process ended, and {ALONE} of TensorFlow alone did not"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    modes = f"both: all traced, and one in {EAGER_EVERY} run eagerly as well"
    parser.add_argument("--mode", choices=("graph", "eager", "both"), default="both", help=modes)
    parser.add_argument("--in-process", action="store_true", help="run them here, and say the seed of each before it begins")
    parser.add_argument("--alone", action="store_true", help="run one program by TensorFlow alone")
    chosen = parser.parse_args()
    if chosen.in_process:
        run(chosen.count, chosen.seed, chosen.mode)
        return 0
    if chosen.alone:
        run_alone(chosen.seed, chosen.mode)
        return 0
    started = time.perf_counter()
    runs = wrong = theirs = 0
    seed, end = chosen.seed, chosen.seed + chosen.count
    while seed < end:
        size = min(AT_ONCE, end - seed)
        process = _process("--in-process", "--mode", chosen.mode, "--count", str(size), "--seed", str(seed))
        lines = process.stdout.splitlines()
        begun = [line.split()[1:] for line in lines if line.startswith(BEGINS)]
        if not begun:
            return process.returncode or 1
        said = [line for line in lines if not line.startswith(BEGINS)]
        if process.returncode:
            said.append(_crash(*begun[-1]))
        seed = int(begun[-1][0]) + 1
        runs, wrong = runs + len(begun), wrong + sum(line.startswith("✗") for line in said)
        theirs += sum(line.startswith(THEIRS) for line in said)
        print("\n".join([*said, ""]), end="", flush=True)
        done = seed - chosen.seed
        each = (time.perf_counter() - started) / done
        print(f"{done} programs up to seed {seed - 1}, {runs} runs: {wrong} contradicted, {each:.2f} s each", file=sys.stderr, flush=True)
    print(f"{runs - wrong - theirs} of {runs} runs of {chosen.count} programs agree with TensorFlow, which alone crashed or was slow in {theirs}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

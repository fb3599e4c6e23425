"""Breaks planted at random: ``python -m tests.models.mutants --count 1000 --seed 1`` prints how many reports say what is true by construction.

A mutant about which a report is wrong is printed with its seed, and can be run alone: ``--only 17``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import tensorflow as tf

from tests.models.holding_against import QUESTIONS, Answers, hold_against
from tests.models.mutant import AT_ONCE, draw

ALL = "mutants"


@dataclass
class Totals:
    """How many mutants, and how many questions about them, there were and were answered right; what was wrong, in lines to be printed."""

    made: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        self.made.update(other.made)
        self.right.update(other.right)
        self.wrong += other.wrong

    def note(self, seed: int, told: str, labels: list[str], answers: Answers) -> None:
        """One mutant: ``labels`` are what it counts for."""
        for label in dict.fromkeys([ALL, *labels]):
            self.made[label] += 1
            self.right[label] += not answers.wrong
        for question in QUESTIONS:
            self.made[f"? {question}"] += answers.asked[question]
            self.right[f"? {question}"] += answers.right[question]
        if answers.wrong:
            self.wrong += [f"✗ seed {seed}: {told}", *(f"    {line}" for line in answers.wrong[:4])]
            self.wrong += [f"    … {len(answers.wrong) - 4} more"] if len(answers.wrong) > 4 else []

    def __str__(self) -> str:
        width = max(map(len, self.made), default=0)
        names = sorted(self.made, key=lambda name: (name[0] == "?", name == ALL, name))
        return "\n".join(f"  {name.removeprefix('? '):<{width}}  {self.right[name]:>7,} of {self.made[name]:>7,}" for name in names)


def run(seeds: Iterable[int], progress: bool = False) -> Totals:
    """Plant and ask, in this process."""
    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    totals = Totals()
    for seed in seeds:
        started, told, labels, answers = time.perf_counter(), "", [], Answers()
        try:
            mutant = draw(seed)
            told, labels = str(mutant), [f"network {mutant.network}", f"mode {mutant.mode}", f"placed {mutant.relation}"]
            labels += [f"kind {kind}" for kind in mutant.kinds]
            labels += ["placed on one edge"] if any(spot.behind is None for spot in mutant.spots) else []
            answers = hold_against(mutant.truth, mutant.check())
        except Exception as error:  # whatever is raised here is a fault, and the others are to run all the same
            frame = traceback.extract_tb(error.__traceback__)[-1]
            answers.wrong.append(f"raised {type(error).__name__} in {frame.name}, line {frame.lineno}: {str(error)[:300]}")
        totals.note(seed, told, labels, answers)
        if progress:
            print(f"{'✗' if answers.wrong else '✓'} {time.perf_counter() - started:5.1f} s  {seed}  {told}", file=sys.stderr, flush=True)
    return totals


def _in_a_process(first: int, count: int) -> Totals:
    command = [sys.executable, "-m", "tests.models.mutants", "--in-process", "--count", str(count), "--seed", str(first)]
    *_, last = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines() or [""]
    try:
        said = json.loads(last)
    except ValueError:
        return Totals(Counter({ALL: count}), Counter(), [f"✗ the process that ran seeds {first} to {first + count - 1} was killed"])
    return Totals(Counter(said["made"]), Counter(said["right"]), said["wrong"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="SEED", help="this one mutant")
    parser.add_argument("--in-process", action="store_true", help="run them here, and print the totals as JSON")
    chosen = parser.parse_args()
    if chosen.in_process:
        totals = run(range(chosen.seed, chosen.seed + chosen.count), progress=True)
        print(json.dumps({"made": totals.made, "right": totals.right, "wrong": totals.wrong}))
        return 0
    if chosen.only is not None:
        totals = run(range(chosen.only, chosen.only + 1), progress=True)
        print(*totals.wrong, str(totals), sep="\n")
        return 1 if totals.wrong else 0
    totals, seed, end = Totals(), chosen.seed, chosen.seed + chosen.count
    while seed < end:
        size = min(AT_ONCE - (seed - 1) % AT_ONCE, end - seed)
        part = _in_a_process(seed, size)
        print("\n".join([*part.wrong, ""]), end="", flush=True)
        totals.add(part)
        seed += size
    print(totals, f"{totals.right[ALL]} of {totals.made[ALL]} mutants reported as they are", sep="\n")
    return 1 if totals.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

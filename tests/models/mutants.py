"""Breaks planted at random: ``python -m tests.models.mutants --count 200 --seed 1`` prints how many reports say what is true by construction."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import keras

from tests.models.networks import NETWORKS, build_discriminator, build_generator
from tests.models.planted_steps import Planting, mistakes, plant, plant_in_gan, plant_outside
from tests.models.planting import PLANTS, Plant, cuts_everything, places

VARIABLE, OUTSIDE = "variable", "outside_tape"
KINDS = (*PLANTS, VARIABLE, OUTSIDE)
NAMES = (*NETWORKS, "gan")


@dataclass
class Totals:
    """How many plantings were asked about and reported right, by kind of break and by network, and what was wrong."""

    made: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        width = max(len(name) for name in self.made)
        lines = [f"  {name:<{width}}  {self.right[name]:>4} of {self.made[name]:>4}" for name in sorted(self.made)]
        total = sum(self.made[name] for name in NAMES)
        return "\n".join([*self.wrong, *lines, f"{total - len(self.wrong)} of {total} planted breaks reported as they are"])


def random_planting(numbers: random.Random, name: str, kind: str) -> tuple[str, Planting] | None:
    """A planting of that kind somewhere in that network, and where; None when there is no place for it."""
    if name == "gan":
        return _in_gan(numbers, kind)
    network = NETWORKS[name]
    model = network.build()
    possible = places(model)
    if kind == OUTSIDE:
        possible = [p for p in possible if p < len(model.layers) - 1 and cuts_everything(model, model.layers[p])]
    elif kind != VARIABLE:
        possible = [p for p in possible if PLANTS[kind].accepts(model.layers[p].output.shape)]
    if not possible:
        return None
    place = numbers.choice(possible)
    where = f"{name}, {kind} behind layer {place}"
    if kind == OUTSIDE:
        return where, plant_outside(network, place)
    return where, plant(network, place, None if kind == VARIABLE else PLANTS[kind])


def _in_gan(numbers: random.Random, kind: str) -> tuple[str, Planting] | None:
    if kind not in PLANTS:
        return None
    in_generator = numbers.random() < 0.5
    model = build_generator() if in_generator else build_discriminator()
    cut: Plant = PLANTS[kind]
    possible = [p for p in places(model) if cut.accepts(model.layers[p].output.shape)]
    if not possible:
        return None
    place = numbers.choice(possible)
    where = f"{kind} behind layer {place} of the {'generator' if in_generator else 'discriminator'}"
    return where, plant_in_gan(place, cut, in_generator)


def run(count: int, seed: int, progress: bool = False) -> Totals:
    """Plant ``count`` breaks, going round the kinds and the networks so that each gets its share."""
    numbers = random.Random(seed)
    totals = Totals()
    kinds, names = list(KINDS), list(NAMES)
    numbers.shuffle(kinds)
    numbers.shuffle(names)
    attempt = 0
    while sum(totals.made[name] for name in NAMES) < count:
        kind, name = kinds[attempt % len(kinds)], names[(attempt + attempt // len(kinds)) % len(names)]
        attempt += 1
        keras.utils.clear_session()
        found = random_planting(numbers, name, kind)
        if found is None:
            continue
        where, planted = found
        started = time.perf_counter()
        wrong = mistakes(planted, planted.check())
        totals.made.update([kind, name])
        if wrong:
            totals.wrong.append(f"✗ {where}: {wrong[0]}" + (f" … {len(wrong) - 1} more" if len(wrong) > 1 else ""))
        else:
            totals.right.update([kind, name])
        if progress:
            print(f"{'✗' if wrong else '✓'} {time.perf_counter() - started:5.1f} s  {where}", file=sys.stderr, flush=True)
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    totals = run(chosen.count, chosen.seed, progress=True)
    print(totals)
    return 1 if totals.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

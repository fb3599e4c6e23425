"""How long `tapetrace.check` takes, against what it cannot do without: tracing the step with ``tf.function``. ``python bench/trace_overhead.py``.

Both are timed in one process, in pairs, alternating which comes first, after a pair that does not count. Seconds of processor time are shown beside
seconds on the clock: on a machine that does other work the former say more.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf

import tapetrace

LIMIT = 1.10
"""A check that builds the backward pass should not take longer than this many times the trace."""


@dataclass(frozen=True)
class Took:
    clock: float
    processor: float


def took(action: Callable[[], Any]) -> Took:
    gc.collect()
    clock, processor = time.perf_counter(), time.process_time()
    action()
    return Took(time.perf_counter() - clock, time.process_time() - processor)


def training_step(name: str) -> tuple[Callable[..., Any], tuple[tf.TensorSpec, ...]]:
    """The step of a network of keras.applications with Adam at 224 × 224, and what it is traced with."""
    model = getattr(keras.applications, name)(input_shape=(224, 224, 3), weights=None)
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    loss_fn = keras.losses.SparseCategoricalCrossentropy()

    def train_step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return train_step, (tf.TensorSpec([8, 224, 224, 3], tf.float32), tf.TensorSpec([8], tf.int32))


def compare(title: str, bare: Callable[[], Any], checked: Callable[[], Any], pairs: int) -> float:
    """Print the ratios of ``pairs`` pairs, and give the median on the clock."""
    took(bare), took(checked)
    clock, processor = [], []
    print(title)
    for number in range(pairs):
        if number % 2:
            ours, theirs = took(checked), took(bare)
        else:
            theirs, ours = took(bare), took(checked)
        clock.append(ours.clock / theirs.clock)
        processor.append(ours.processor / theirs.processor)
        print(
            f"  {number + 1}  trace {theirs.clock:6.2f} s  check {ours.clock:6.2f} s  ratio {clock[-1]:.3f}"
            f"      processor {theirs.processor:6.2f} s {ours.processor:6.2f} s  ratio {processor[-1]:.3f}"
        )
    print(f"  median ratio {statistics.median(clock):.3f}      processor {statistics.median(processor):.3f}", flush=True)
    return statistics.median(clock)


def measure(name: str, pairs: int) -> float:
    step, specs = training_step(name)

    def bare() -> Any:
        return tf.function(step).get_concrete_function(*specs)

    def checked(verify: bool = True) -> Any:
        report = tapetrace.check(step, *specs, verify=verify)
        assert report.ok, "the network is healthy"
        return report

    ratio = compare(f"{name}, Adam, 224 × 224: check against tf.function(step).get_concrete_function", bare, checked, pairs)
    compare(f"{name}, verify=False", bare, lambda: checked(verify=False), pairs)
    report = checked()
    with tempfile.TemporaryDirectory() as folder:
        drawn = took(lambda: report.write(Path(folder) / "report.svg"))
    print(f"{name}, writing the SVG afterwards: {drawn.clock:.2f} s, processor {drawn.processor:.2f} s", flush=True)
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description="How long tapetrace.check takes, against tracing alone.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--networks", nargs="*", default=["ResNet50", "MobileNetV2"], metavar="NAME")
    chosen = parser.parse_args()
    ratios = {name: measure(name, chosen.pairs) for name in chosen.networks}
    slow = {name: ratio for name, ratio in ratios.items() if ratio > LIMIT}
    for name, ratio in slow.items():
        print(f"{name}: the median ratio {ratio:.3f} is above {LIMIT}")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How long a check takes, beside what tracing the step costs by itself: `make bench`.

Each figure is the best of three, in seconds, TensorFlow already imported; the first check also asks TensorFlow about each kind of op.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorflow as tf

import tapetrace

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(action: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def measure(sample: ModuleType) -> tuple[float, ...]:
    """Seconds of: tracing alone, the first check, a check, a check without the backward pass, building the graph of a report."""
    step, batch = sample.train_step, sample.make_batch()
    plain = getattr(step, "python_function", step)
    # The optimizer makes its variables in the first trace, which is not what is measured.
    tf.function(plain).get_concrete_function(*batch)
    first = seconds(lambda: tapetrace.check(step, *batch))
    trace = min(seconds(lambda: tf.function(plain).get_concrete_function(*batch)) for _ in range(3))
    check = min(seconds(lambda: tapetrace.check(step, *batch)) for _ in range(3))
    quick = min(seconds(lambda: tapetrace.check(step, *batch, verify=False)) for _ in range(3))
    report = tapetrace.check(step, *batch)
    return trace, first, check, quick, seconds(lambda: report.graph)


def main() -> None:
    warnings.filterwarnings("ignore", "Gradients do not exist for variables")
    print(f"{'sample':22} trace alone  first check      check      quick      graph")
    for name in ("healthy_cnn", "healthy_transformer", "mobilenet"):
        print(f"{name:22} " + "  ".join(f"{value:9.2f} s" for value in measure(load(name))))


if __name__ == "__main__":
    main()

"""TensorFlow as the judge of eager runs: what each gradient call of a step hands back when nobody watches, and where a report contradicts it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report
from tests.capture.cases import Build, verdicts
from tests.capture.oracle import LIVE, Handed, Truth, asked_by_tensorflow, contradictions

SEED = 20_160_229
"""The seed of tapetrace's own runs, so that steps which draw numbers take the same branches here."""


@dataclass(frozen=True)
class EagerCase:
    """``expected``: the verdict of each source, those of different calls parted by ``|``; empty: whatever TensorFlow says."""

    name: str
    expected: str
    build: Build
    vanishing: bool = False

    def check(self) -> Report:
        """The report on an eager run of the step; fails when it is not as expected or contradicts TensorFlow."""
        step, args = self.build()
        report = tapetrace.check(step, *args, mode="eager")
        truth_step, truth_args = self.build()
        found = contradictions(report, run_unwatched(truth_step, truth_args), may_vanish=LIVE if self.vanishing else frozenset())
        if self.expected and verdicts(report) != self.expected:
            found.append(f"expected {self.expected!r}, found {verdicts(report)!r}")
        assert not found, "\n".join([self.name, *found])
        return report


class EagerCases(list[EagerCase]):
    """A list of cases, filled by using it as a decorator: ``@cases("connected none")``."""

    def __call__(self, expected: str, *, vanishing: bool = False) -> Callable[[Build], Build]:
        def add(build: Build) -> Build:
            self.append(EagerCase(build.__name__, expected, build, vanishing))
            return build

        return add


def run_unwatched(step: Callable[..., Any], args: Sequence[Any]) -> Truth:
    """Run ``step`` once, eagerly, and note what its outermost gradient calls return. What it raises is noted as well."""
    truth = Truth()
    plain = getattr(step, "python_function", step)
    tf.random.set_seed(SEED)
    np.random.seed(SEED)
    with _listening(truth.calls):
        try:
            plain(*[tf.convert_to_tensor(a) if isinstance(a, np.ndarray) else a for a in args])
        except Exception as error:
            truth.raised = error
    return truth


@contextlib.contextmanager
def _listening(calls: list[Handed]) -> Iterator[None]:
    inside = [0]

    def listen(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(*args: Any, **kwargs: Any) -> Any:
            if inside[0] or asked_by_tensorflow(sys._getframe(1)):
                return original(*args, **kwargs)
            sources = args[2] if len(args) > 2 else next(kwargs[k] for k in ("sources", "source") if k in kwargs)
            inside[0] += 1
            try:
                found = original(*args, **kwargs)
            except Exception:
                calls.append(Handed(("error",) * len(tf.nest.flatten(sources))))
                raise
            finally:
                inside[0] -= 1
            got = tf.nest.flatten(found)
            handed = Handed(tuple("none" if g is None else "tensor" for g in got))
            calls.append(handed)
            if tf.executing_eagerly():
                handed.sizes.append(tuple(_size(g) for g in got))
            else:
                tf.numpy_function(lambda *values: handed.sizes.append(tuple(map(_size, values))), [_tensor(g) for g in got], [])
            return found

        return gradient

    names = ("gradient", "jacobian", "batch_jacobian")
    saved = {name: getattr(tf.GradientTape, name) for name in names}
    for name, original in saved.items():
        setattr(tf.GradientTape, name, listen(original))
    try:
        yield
    finally:
        for name, original in saved.items():
            setattr(tf.GradientTape, name, original)


def _tensor(gradient: Any) -> Any:
    if gradient is None:
        return tf.constant(0.0)
    for part in ("flat_values", "values"):
        gradient = getattr(gradient, part, gradient)
    return gradient


def _size(gradient: Any) -> float:
    return float(np.abs(np.asarray(_tensor(gradient), np.complex128)).sum())

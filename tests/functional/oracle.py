"""What TensorFlow itself hands back for a training step, without tapetrace: the yardstick for every claim about a sample."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class Handed:
    """One gradient call: ``names`` of its sources; ``kinds`` of what came back, "none" | "tensor" | "error"; ``zeros``, True where the number
    of a tensor was zero everywhere when the step ran."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    zeros: tuple[bool, ...]

    def of(self, fragment: str) -> set[tuple[str, bool]]:
        """(kind, was zero) of each source whose name holds ``fragment``."""
        return {(k, z) for n, k, z in zip(self.names, self.kinds, self.zeros, strict=True) if fragment in n}


def _name(source: Any, position: int) -> str:
    if isinstance(source, tf.Variable):
        return str(source.name)
    return str(source.path) if hasattr(source, "path") else f"tensor {position}"


def ask_tensorflow(step: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Handed]:
    """Trace ``step`` in a ``tf.function`` and run it once; return what each ``tape.gradient`` in it handed back, in order of the calls.

    A step that raises after a gradient call (Keras: "No gradients provided") is cut short there; a ``LookupError`` is recorded as "error".
    """
    original = tf.GradientTape.gradient
    calls: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    largest: list[list[tf.Tensor]] = []

    @functools.wraps(original)
    def gradient(tape: tf.GradientTape, target: Any, sources: Any, *rest: Any, **options: Any) -> Any:
        flat = tf.nest.flatten(sources)
        names = tuple(_name(s, i) for i, s in enumerate(flat))
        try:
            found = original(tape, target, sources, *rest, **options)
        except LookupError:
            calls.append((names, ("error",) * len(flat)))
            largest.append([tf.constant(0.0)] * len(flat))
            raise
        got = tf.nest.flatten(found)
        calls.append((names, tuple("none" if g is None else "tensor" for g in got)))
        largest.append([tf.constant(0.0) if g is None else tf.reduce_max(tf.abs(tf.convert_to_tensor(g))) for g in got])
        return found

    plain = getattr(step, "python_function", step)

    def whole(*values: Any) -> list[list[tf.Tensor]]:
        # tf.function traces a second time when the first made variables.
        calls.clear()
        largest.clear()
        try:
            plain(*values)
        except Exception:
            if not calls:
                raise
        return largest

    tf.GradientTape.gradient = gradient
    try:
        traced = tf.function(whole).get_concrete_function(*arguments)
    finally:
        tf.GradientTape.gradient = original
    numbers = traced(*(a for a in arguments if isinstance(a, tf.Tensor)))
    return [Handed(n, k, tuple(not float(v) > 0.0 for v in row)) for (n, k), row in zip(calls, numbers, strict=True)]

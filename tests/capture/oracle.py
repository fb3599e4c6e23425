"""TensorFlow as the judge: what each gradient call of a step hands back, as an object and as numbers, and where a report contradicts it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.model.report import CallResult, Report
from tapetrace.model.words import Verdict

LIVE = frozenset({Verdict.CONNECTED, Verdict.CONDITIONAL})
DRAWS = 3


@dataclass
class Handed:
    """One gradient call: ``kinds`` of what came back for each source ("none", "tensor", "error"), and ``sizes``, the sum of the absolute values
    of each tensor, a row for each time the call was run. ``error``: the type of what the call raised."""

    kinds: tuple[str, ...]
    error: str = ""
    sizes: list[tuple[float, ...]] = field(default_factory=list)

    def was_nonzero(self, source: int) -> bool:
        return any(row[source] > 0 for row in self.sizes)  # false for NaN, which says nothing

    def was_always_zero(self, source: int) -> bool:
        return bool(self.sizes) and all(row[source] == 0 for row in self.sizes)


@dataclass
class Truth:
    """All gradient calls of a step in order, and what the step raised after the last of them."""

    calls: list[Handed] = field(default_factory=list)
    raised: Exception | None = None


def ask_tensorflow(step: Callable[..., Any], args: Sequence[Any], *, draws: int = DRAWS) -> Truth:
    """Trace ``step`` in a ``tf.function`` and run it ``draws`` times on random numbers in place of its float arguments.

    A call that raises is the last one in the answer. When the step itself raises later, what was seen until then is run all the same.
    """
    truth = Truth()
    calls = truth.calls
    plain = getattr(step, "python_function", step)

    def whole(*given: Any) -> None:
        truth.raised = None
        calls.clear()  # tf.function traces a second time when the first made variables
        try:
            plain(*given)
        except Exception as error:
            if not calls:
                raise
            truth.raised = error

    with _listening(calls):
        traced = tf.function(whole).get_concrete_function(*args)
    numbers = np.random.default_rng(0)
    for draw in range(draws):
        traced(*[_drawn(a, numbers, (-1) ** draw) for a in tf.nest.flatten(list(args), expand_composites=False) if _is_tensor_like(a)])
    return truth


def _is_tensor_like(value: Any) -> bool:
    return tf.is_tensor(value) or isinstance(value, tf.TensorSpec | np.ndarray)


def _drawn(value: Any, numbers: np.random.Generator, sign: int) -> Any:
    dtype = tf.as_dtype(value.dtype)
    if not (dtype.is_floating or dtype.is_complex):
        return tf.zeros([n or 2 for n in value.shape], dtype) if isinstance(value, tf.TensorSpec) else value
    drawn = numbers.normal(size=[2 if n is None else n for n in value.shape])
    drawn.flat[:1] = sign * abs(drawn.flat[:1])  # so that a branch on the first element goes both ways
    return tf.cast(tf.constant(drawn), dtype)


@contextlib.contextmanager
def _listening(calls: list[Handed]) -> Iterator[None]:
    """Within this context every outermost gradient call of a traced graph is noted in ``calls``, and its numbers whenever it runs."""
    inside = [0]

    def listen(original: Callable[..., Any], first: int) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(*args: Any, **kwargs: Any) -> Any:
            if inside[0] or tf.executing_eagerly() or asked_by_tensorflow(sys._getframe(1)):
                return original(*args, **kwargs)
            sources = args[first + 1] if len(args) > first + 1 else next(kwargs[k] for k in ("sources", "source", "xs") if k in kwargs)
            count = len(tf.nest.flatten(sources))
            inside[0] += 1
            try:
                found = original(*args, **kwargs)
            except Exception as error:
                calls.append(Handed(("error",) * count, type(error).__name__))
                raise
            finally:
                inside[0] -= 1
            got = tf.nest.flatten(found)
            handed = Handed(tuple("none" if g is None else "tensor" for g in got))
            calls.append(handed)
            tf.numpy_function(lambda *sizes: handed.sizes.append(tuple(float(s) for s in sizes)), [_size(g) for g in got], [])
            return found

        return gradient

    saved = {name: getattr(tf.GradientTape, name) for name in ("gradient", "jacobian", "batch_jacobian")}
    symbolic = tf.gradients
    for name, original in saved.items():
        setattr(tf.GradientTape, name, listen(original, 1))
    tf.gradients = listen(symbolic, 0)
    try:
        yield
    finally:
        tf.gradients = symbolic
        for name, original in saved.items():
            setattr(tf.GradientTape, name, original)


def asked_by_tensorflow(frame: Any) -> bool:
    """Whether ``frame`` asks a tape for TensorFlow itself: while the backward pass of a function is built, or that of a ``py_function`` runs."""
    return str(frame.f_code.co_filename).endswith(("/tensorflow/python/ops/custom_gradient.py", "/tensorflow/python/ops/script_ops.py"))


def _size(gradient: Any) -> tf.Tensor:
    if gradient is None:
        return tf.constant(0.0, tf.float64)
    for part in ("flat_values", "values"):
        gradient = getattr(gradient, part, gradient)
    absolute = tf.abs(gradient)
    return tf.reduce_sum(tf.cast(absolute, tf.float64))


def contradictions(report: Report, truth: Truth, *, may_vanish: Set[Verdict] = frozenset()) -> list[str]:
    """Where the report and TensorFlow cannot both be right. ``may_vanish``: live verdicts of which the gradient may be zero
    as a number in every draw."""
    found = [*report.agreement.disagreed]
    handed = truth.calls
    if truth.raised is not None and report.error is None and not any(c.error for c in report.calls):
        found.append(f"the step raised {truth.raised!r:.300}")
    if len(report.calls) < len(handed):
        handed = [h for h in handed if h.sizes or "error" in h.kinds]  # what AutoGraph traced only to see the type of a name never ran
    raised = (bool(handed) and "error" in handed[-1].kinds) or (truth.raised is not None and report.error is not None)
    if len(report.calls) != len(handed) and not (raised and len(report.calls) > len(handed)):
        return [*found, f"{len(report.calls)} gradient calls reported, {len(handed)} made"]
    for number, (call, made) in enumerate(zip(report.calls, handed, strict=False)):
        found += [f"call {number}: {sentence}" for sentence in _in_call(call, made, may_vanish)]
    return found


def _in_call(call: CallResult, truth: Handed, may_vanish: Set[Verdict]) -> Iterator[str]:
    if len(call.sources) != len(truth.kinds):
        yield f"{len(call.sources)} sources reported, {len(truth.kinds)} asked"
        return
    for i, (source, kind) in enumerate(zip(call.sources, truth.kinds, strict=True)):
        said = f"{source.label}: {source.verdict.value}"
        if kind == "error":
            # What else a call raises is an error of TensorFlow's own, about which a verdict says nothing.
            if truth.error == "LookupError" and (source.verdict in LIVE or source.verdict is Verdict.OPAQUE):
                yield f"{said}, but the call raised"
        elif source.verdict is Verdict.ERROR:
            yield f"{said}, but the call did not raise"
        elif kind == "none":
            if source.verdict is not Verdict.NONE:
                yield f"{said}, but None came back"
        elif source.verdict is Verdict.NONE:
            yield f"{said}, but a tensor came back"
        elif source.verdict is Verdict.ZERO and truth.was_nonzero(i):
            yield f"{said}, but the gradient is not zero"
        elif source.verdict in LIVE - may_vanish and truth.was_always_zero(i):
            yield f"{said}, but the gradient is zero in every draw"

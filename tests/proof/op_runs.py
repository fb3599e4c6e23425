"""One op between variables and losses, under tapetrace and under TensorFlow alone: what each gradient call hands back, and as which numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Verdict
from tests.capture.op_table import OpCase

MODES = ("graph", "eager")
DRAWS = 20
RESOURCES = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")
"""Ops that take the variable's handle instead of its value."""


class NoKernel(Exception):
    """TensorFlow alone cannot run the op here, in that mode, on these inputs; the reason in a line."""


@dataclass
class Answer:
    """What TensorFlow says of one op: per output and variable "none", "tensor", the name of what the call raised; and where a number was not zero."""

    kinds: list[list[str]] = field(default_factory=list)
    nonzero: set[tuple[int, int]] = field(default_factory=set)
    draws: int = 0


def is_float(value: Any) -> bool:
    dtype = tf.as_dtype(value.dtype)
    return bool(dtype.is_floating or dtype.is_complex)


def step_of(case: OpCase, kinds: list[list[str]]) -> tuple[Callable[[], Any], list[tf.Variable]]:
    """A step with a gradient call for each output of the op, of all its float inputs; ``kinds`` is filled when it runs. And its variables."""
    takes_handle = case.name.split()[0] in RESOURCES
    variables = {i: tf.Variable(a, name=f"input{i}") for i, a in enumerate(case.arguments) if is_float(np.asarray(a))}

    @tf.autograph.experimental.do_not_convert
    def step() -> Any:
        kinds.clear()
        with tf.GradientTape(persistent=True) as tape:
            given = [variables.get(i, a) for i, a in enumerate(case.arguments)]
            outputs = tf.nest.flatten(case.build(*[g if takes_handle or not isinstance(g, tf.Variable) else g.read_value() for g in given]))
            losses = [_loss(o) for o in outputs if tf.is_tensor(o) and o.dtype not in (tf.resource, tf.variant)]
        sizes = []
        for loss in losses:
            row = []
            try:
                gradients = tape.gradient(loss, list(variables.values()))
            except Exception as error:  # whatever the tape raises is the answer
                gradients, row = [], [type(error).__name__] * len(variables)
            for gradient in gradients:
                row.append("none" if gradient is None else "tensor")
                if gradient is not None:
                    sizes.append(tf.reduce_sum(tf.cast(tf.abs(tf.convert_to_tensor(gradient)), tf.float64)))
            kinds.append(row)
        return sizes

    return step, list(variables.values())


def _loss(output: Any) -> Any:
    if output.dtype == tf.string:
        output = tf.strings.length(output)
    if not is_float(output):
        return tf.reduce_sum(tf.cast(output, tf.float32))
    weights = tf.reshape(tf.linspace(0.5, 1.5, tf.size(output)), tf.shape(output))
    if output.dtype.is_complex:
        return tf.reduce_sum(tf.math.real(output * tf.cast(tf.complex(weights, 0.3 * weights), output.dtype)))
    return tf.reduce_sum(output * tf.cast(weights, output.dtype))


def ask_tensorflow(case: OpCase, mode: str) -> Answer:
    """Run the step alone, on the numbers of the case and on others near them."""
    answer = Answer()
    step, variables = step_of(case, answer.kinds)
    run = tf.function(step, autograph=False) if mode == "graph" else step
    first = [v.numpy() for v in variables]
    numbers = np.random.default_rng(1)
    for draw in range(DRAWS):
        if draw:
            for variable, value in zip(variables, first, strict=True):
                variable.assign(np.asarray(value + 0.1 * numbers.normal(size=value.shape) * (np.abs(value) + 0.1), value.dtype))
        try:
            sizes = iter([float(s) for s in run()])
        except tf.errors.OpError:
            if not draw:
                raise
            continue  # an op may refuse some numbers
        answer.draws += 1
        answer.nonzero |= {(j, i) for j, row in enumerate(answer.kinds) for i, kind in enumerate(row) if kind == "tensor" and next(sizes) > 0}
    return answer


def contradictions(case: OpCase, mode: str) -> tuple[list[str], list[str], int]:
    """Where the report and TensorFlow cannot both be right; what is live and was zero in every draw; how many verdicts were compared.

    Raises ``NoKernel`` when TensorFlow alone cannot run the op.
    """
    try:
        truth = ask_tensorflow(case, mode)
    except (tf.errors.OpError, NotImplementedError, AttributeError) as error:
        (first, *_) = [line for line in str(error).splitlines() if line.strip()]
        raise NoKernel(f"{type(error).__name__}: {first[:140]}") from error
    step, _ = step_of(case, [])
    report = tapetrace.check(step, mode=mode)
    found = [*report.agreement.disagreed]
    if report.error is not None:
        found.append(f"the report says that the step raised {report.error.type}: {report.error.message[:120]}")
    if len(report.calls) != len(truth.kinds):
        return [*found, f"{len(report.calls)} gradient calls reported, {len(truth.kinds)} made"], [], 0
    vanishing = []
    for j, (call, row) in enumerate(zip(report.calls, truth.kinds, strict=True)):
        for i, (source, kind) in enumerate(zip(call.sources, row, strict=True)):
            verdict, where = source.verdict, f"{mode}, output {j}, input {i}: {source.verdict.value}"
            if kind == "LookupError":
                found += [f"{where}, but the call raised LookupError"] * (verdict is not Verdict.ERROR)
            elif kind == "none":
                found += [f"{where}, but None came back"] * (verdict is not Verdict.NONE)
            elif kind != "tensor":
                found += [f"{where}, but the call raised {kind}"] * (verdict in (Verdict.CONNECTED, Verdict.CONDITIONAL, Verdict.ZERO))
            elif verdict in (Verdict.NONE, Verdict.ERROR):
                found.append(f"{where}, but a tensor came back")
            elif (j, i) in truth.nonzero:
                found += [f"{where}, but the gradient is not zero"] * (verdict is Verdict.ZERO)
            elif verdict is Verdict.CONNECTED:
                vanishing.append(f"{where}, and zero in all of {truth.draws} draws")
    return found, vanishing, sum(map(len, truth.kinds))

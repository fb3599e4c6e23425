"""TensorFlow as the judge of finished functions: what a tape around a call of the function hands back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.model.report import Report
from tapetrace.model.words import Verdict

LIVE = (Verdict.CONNECTED, Verdict.CONDITIONAL)


def contradictions(report: Report, call: Callable[[], Any], variables: Sequence[Any]) -> list[str]:
    """Where the verdicts cannot be true beside the gradient of what ``call`` returns: a None that is called live, a number that is called dead."""
    with tf.GradientTape() as tape:
        loss = call()
    found = []
    for source, gradient in zip(report.calls[0].sources, tape.gradient(loss, list(variables)), strict=True):
        if gradient is None and source.verdict in LIVE:
            found.append(f"{source.path} is {source.verdict.value}, the tape says None")
        if gradient is not None and np.any(tf.convert_to_tensor(gradient).numpy()) and source.verdict not in LIVE:
            found.append(f"{source.path} is {source.verdict.value}, the tape gives {gradient}")
        if source.verdict is Verdict.CONNECTED and gradient is not None and not np.any(tf.convert_to_tensor(gradient).numpy()):
            found.append(f"{source.path} is connected, the tape gives zeros")
    return found


def verdicts(report: Report) -> dict[str, str]:
    return {s.path: s.verdict.value for s in report.calls[0].sources}

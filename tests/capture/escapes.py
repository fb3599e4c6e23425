"""Steps in which a value leaves TensorFlow: their variables, and what is asserted of the line where it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report, SourceResult
from tapetrace.model.words import Cause, Verdict

W = tf.Variable([0.3, -0.7, 1.2], name="w")
U = tf.Variable(1.7, name="u")


def check(step: Callable[..., Any], *args: Any) -> Report:
    report = tapetrace.check(step, *args, mode="eager")
    assert report.agreement.disagreed == ()
    return report


def left_at(source: SourceResult, marker: str = "# out") -> None:
    """Assert that the source is cut where its value left TensorFlow, on the line with the marker."""
    assert (source.verdict, source.cause) == (Verdict.NONE, Cause.NUMPY_ESCAPE)
    location = source.breaks[0].location
    assert location is not None
    assert location.code.endswith(marker), location

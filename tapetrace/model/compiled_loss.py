"""Ops of the loss that ``model.compile`` was given: Keras puts them in a name scope of their own, and no line of the user's calls them."""

from __future__ import annotations

import re

_SCOPE = "compile_loss/"
_METRIC = re.compile(r"compile_loss/(?:\w+/)*?(\w*accuracy\w*|top_k_\w+)/")


def is_compiled_loss(op: str) -> bool:
    """Whether an op or tensor of this name belongs to the loss that ``compile`` was given."""
    return _SCOPE in op


def remedy_for_metric(op: str) -> str:
    """What to do when ``compile`` was given a metric as its loss, and this op belongs to it; empty for anything else.

    >>> remedy_for_metric("compile_loss/binary_accuracy/Equal")
    '`binary_accuracy` is a metric, which counts and has no gradient: give `compile` a loss, and put the metric into `metrics=[…]`'
    """
    found = _METRIC.search(op)
    if found is None:
        return ""
    return f"`{found[1]}` is a metric, which counts and has no gradient: give `compile` a loss, and put the metric into `metrics=[…]`"

"""Values for arguments that are given as specs alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.errors import UsageError

UNKNOWN_SIZE = 4
"""Stands for every size that a spec leaves open, so that the batch of the inputs and that of the labels agree."""


def has_specs(arguments: Any) -> bool:
    """Whether some argument is a ``tf.TypeSpec``, which has no values."""
    return any(isinstance(leaf, tf.TypeSpec) for leaf in _leaves(arguments))


def fill_in(arguments: Any, seed: int) -> Any:
    """``arguments`` with values in place of each ``tf.TensorSpec``.

    Floats and complex numbers are drawn from a normal distribution, integers are 0 or 1, bools either, strings ``"0"`` or ``"1"``. A NumPy
    generator of our own is used: the same ``seed`` gives the same values, and no generator of the user's moves. Raises `UsageError` for a spec that
    is not of a plain tensor.
    """
    draw = np.random.default_rng(seed)
    return tf.nest.map_structure(lambda leaf: _value(leaf, draw) if isinstance(leaf, tf.TypeSpec) else leaf, arguments)


def _leaves(arguments: Any) -> Iterator[Any]:
    yield from tf.nest.flatten(arguments)


def _value(spec: Any, draw: np.random.Generator) -> Any:
    if not isinstance(spec, tf.TensorSpec):
        raise UsageError(f"no values can be made up for {spec}: give real ones with --args module:factory, or as check(step, value).")
    sizes = [UNKNOWN_SIZE] if spec.shape.rank is None else [UNKNOWN_SIZE if n is None else n for n in spec.shape]
    dtype = spec.dtype
    if dtype.is_complex:
        values = draw.normal(size=sizes) + 1j * draw.normal(size=sizes)
    elif dtype.is_floating:
        values = draw.normal(size=sizes)
    else:
        values = draw.integers(0, 2, size=sizes)
    if dtype == tf.string:
        return tf.constant(np.asarray(values).astype(str).astype(object), tf.string)
    return tf.cast(tf.constant(values), dtype)

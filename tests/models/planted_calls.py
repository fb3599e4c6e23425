"""Cuts planted into the calls of layers that exist: behind a layer, where all its consumers read, or on the one edge that leads into a consumer.

Nothing is built anew, so that a large network can be planted in again and again. The layers are as before when the ``with`` ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from tests.models.layer_ways import Edge

Function = Callable[[Any], Any]


@contextmanager
def planted_calls(behind: Mapping[Any, list[Function]], into: Mapping[Edge, list[Function]]) -> Iterator[None]:
    """Let the output of the layers in ``behind``, and what goes over the edges in ``into``, pass through functions, the first one first."""
    layers = {*behind, *(consumer for consumer, _ in into)}
    for layer in layers:
        before = {place: cuts for (consumer, place), cuts in into.items() if consumer is layer}
        layer.__dict__["call"] = _call(layer.call, before, behind.get(layer, []))
    try:
        yield
    finally:
        for layer in layers:
            del layer.__dict__["call"]


def _call(original: Any, before: Mapping[int, list[Function]], after: list[Function]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        inputs = keras.tree.flatten(args)
        for place, cuts in before.items():
            inputs[place] = _through(cuts, inputs[place])
        return _through(after, original(*keras.tree.pack_sequence_as(args, inputs), **kwargs))

    return call


def _through(cuts: list[Function], x: Any) -> tf.Tensor:
    for cut in cuts:
        x = cut(x)
    return x

"""Gradient that a trace lets through ``float(tensor)``: the same step run without ``tf.function`` makes a Python number there."""

from __future__ import annotations

from tapetrace.analysis.connection import Connection
from tapetrace.model.locations import Location
from tapetrace.model.trace import Trace


def floats_on_the_way(trace: Trace) -> list[Location | None]:
    """Where each such ``float`` stands that gradient comes through to a source of some call."""
    found: dict[tuple[str, int], Location | None] = {}
    for call in trace.calls if trace.floats else ():
        connection = Connection(trace.bodies, call)
        for body, ref in trace.floats:
            t = connection.flat.tensor(body, ref)
            if t in connection.below_sources.tensors and t in connection.live.possible:
                found[body, ref[0]] = trace.locate(body, ref[0])
    return list(found.values())

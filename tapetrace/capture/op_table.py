"""For every op type that TensorFlow knows here: does gradient pass, input by input? TensorFlow is asked; no table is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.dependence import CALLS, CONDITIONALS, LOOPS
from tapetrace.capture.gates import GateProber
from tapetrace.capture.specimens import NoSpecimen, Specimen, described_slots, specimens
from tapetrace.errors import UsageError
from tapetrace.model.op_rows import OpRow, Registration, Slot
from tapetrace.model.trace import Gate, GateTable


def op_gates(pattern: str = "*") -> list[OpRow]:
    """A row for each op type whose name matches ``pattern``: a glob when it holds one of ``*?[``, else a part of the name; case does not count.

    The name of an op type by itself gives that one alone. Raises `UsageError` when nothing matches.

    >>> [(row.type, row.inputs[0].name) for row in op_gates("GatherNd")]
    [('GatherNd', 'params')]
    """
    definitions = private.registered_operations()
    wanted = matching(pattern, list(definitions))
    if not wanted:
        close = get_close_matches(pattern.lower().strip("*?"), [n.lower() for n in definitions], n=3, cutoff=0.6)
        named = [n for n in definitions if n.lower() in close]
        advice = f"did you mean {' or '.join(named)}?" if named else "give a part of a name, or a glob such as '*Norm*'."
        raise UsageError(f"TensorFlow has no op type that matches {pattern!r}: {advice}")
    prober = GateProber()
    with _without_warnings():
        return [_row(definitions[name], prober) for name in wanted]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Some gradient functions call what TensorFlow has deprecated, and its logger says so."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def matching(pattern: str, names: list[str]) -> list[str]:
    """The names that ``pattern`` means."""
    lowered = pattern.lower()
    if any(c in pattern for c in "*?["):
        return [n for n in names if fnmatchcase(n.lower(), lowered)]
    exact = [n for n in names if n == pattern] or [n for n in names if n.lower() == lowered]
    return exact or [n for n in names if lowered in n.lower()]


def _row(definition: Any, prober: GateProber) -> OpRow:
    registration = _registration(definition.name)
    if definition.name in CALLS | CONDITIONALS | LOOPS:
        return OpRow(definition.name, registration, note="it runs functions, which have gates of their own")
    if registration is not Registration.FUNCTION:
        inputs, outputs = described_slots(definition)
        return OpRow(definition.name, registration, inputs, outputs, _without_function(inputs, outputs, registration))
    best: tuple[int, Specimen, GateTable] | None = None
    try:
        for specimen in specimens(definition):
            table = prober.gates_of(specimen.op)
            unknown = sum(row.count(Gate.UNKNOWN) for row in table.rows)
            if best is None or unknown < best[0]:
                best = (unknown, specimen, table)
            if not unknown:
                break
    except NoSpecimen as reason:
        return OpRow(definition.name, registration, note=str(reason))
    assert best is not None
    _, specimen, table = best
    return OpRow(definition.name, registration, specimen.inputs, specimen.outputs, table, table.note)


def _without_function(inputs: tuple[Slot, ...], outputs: tuple[Slot, ...], registration: Registration) -> GateTable:
    """The gates of an op without a gradient function, which its dtypes decide."""
    closed = Gate.UNREGISTERED if registration is Registration.MISSING else Gate.NOT_DIFFERENTIABLE

    def gate(i: Slot, j: Slot) -> Gate:
        if not private.is_trainable(tf.as_dtype(i.dtype)):
            return Gate.NON_FLOAT_INPUT
        return closed if private.is_trainable(tf.as_dtype(j.dtype)) else Gate.NON_FLOAT_OUTPUT

    return GateTable(tuple(tuple(gate(i, j) for j in outputs) for i in inputs))


def _registration(name: str) -> Registration:
    try:
        function = private.gradient_registry.lookup(name)
    except LookupError:
        return Registration.MISSING
    return Registration.NOT_DIFFERENTIABLE if function is None else Registration.FUNCTION

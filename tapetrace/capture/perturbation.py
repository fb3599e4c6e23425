"""What a run depends on, found out by changing a variable a little and running again.

Arithmetic in NumPy and Python cannot be followed op by op. But a constant that enters TensorFlow with another value, after nothing but one variable
was changed, was computed from that variable; and a loss that moves depends on it, whatever the tape saw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.eager_step import EagerRun, run_step
from tapetrace.capture.escapes import Escape
from tapetrace.capture.locations import Locator
from tapetrace.capture.restoring import restored
from tapetrace.capture.variables import handle_of
from tapetrace.model.trace import Hidden, Ref
from tapetrace.model.words import Cause

RELATIVE, ABSOLUTE = 0.05, 0.03
"""A changed variable is v * (1 + RELATIVE) + ABSOLUTE."""

MOST_VARIABLES = 40
"""Variables changed one by one; more are changed all together, and share what is found."""


def find_entries(
    base: EagerRun, step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], variables: Sequence[Any], locator: Locator
) -> dict[int, Hidden]:
    """For each leaf of the base run that was computed from one of ``variables`` outside TensorFlow: from which tensors, and where they left."""
    found: dict[int, tuple[set[Ref], Escape | None]] = {}
    groups = [[v] for v in variables] if len(variables) <= MOST_VARIABLES else [list(variables)]
    for group in groups:
        other = _changed_run(group, step, args, kwargs, locator)
        for position in sorted(_moved(base, other, locator)):
            derived = _derived(base.log, [handle_of(v) for v in group])
            escape = _way_out(base, other, position, derived)
            refs, known = found.setdefault(position, (set(), escape))
            refs.update(_what_left(escape, derived, position))
            found[position] = (refs, known or escape)
    return {
        p: Hidden(tuple(sorted(refs)), Cause.NUMPY_ESCAPE, locator.locate(escape.stack) if escape else None)
        for p, (refs, escape) in found.items()
        if refs
    }


def _changed_run(group: Sequence[Any], step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], locator: Locator) -> EagerRun:
    with restored(map(handle_of, group)):
        for v in group:
            v.assign(tf.cast(v, v.dtype) * tf.cast(1.0 + RELATIVE, v.dtype) + tf.cast(ABSOLUTE, v.dtype))
        return run_step(step, args, kwargs, locator, find_numpy=True)


def _moved(base: EagerRun, other: EagerRun, locator: Locator) -> set[int]:
    """Leaves of the base run that have another value in the other run. A leaf is known again by the line that used it and its turn there."""
    values = {key: other.log.ops[p].digest for key, p in _entries(other, locator).items()}
    return {p for key, p in _entries(base, locator).items() if key in values and values[key] != base.log.ops[p].digest}


def _entries(run: EagerRun, locator: Locator) -> dict[tuple[Any, ...], int]:
    """The float leaves of the forward pass, each by the op and the line that first used it, and how many such there were before."""
    first_use: dict[int, tuple[str, int, Any]] = {}
    for op in run.log.ops:
        for i, (p, _) in enumerate(op.inputs):
            if run.log.ops[p].digest and run.log.ops[p].made_by_call is None:
                first_use.setdefault(p, (op.type, i, op.stack))
    found: dict[tuple[Any, ...], int] = {}
    turns: dict[tuple[Any, ...], int] = {}
    for p, (op_type, i, stack) in first_use.items():
        place = locator.locate(stack) if stack else None
        key = (op_type.rstrip("0123456789"), i, place.key if place else None)
        turns[key] = turns.get(key, 0) + 1
        found[key + (turns[key],)] = p
    return found


def _derived(log: EagerLog, handles: list[Any]) -> set[Ref]:
    """The tensors computed from variables by ops of the forward pass, and the variables themselves."""
    wanted = {id(h) for h in handles}
    derived: set[Ref] = set()
    for position, op in enumerate(log.ops):
        is_one = op.handle is not None and id(op.handle) in wanted
        if is_one or (op.made_by_call is None and any(ref in derived for ref in op.inputs)):
            derived.update((position, j) for j in range(len(op.outputs)))
    return derived


def _way_out(base: EagerRun, other: EagerRun, position: int, derived: set[Ref]) -> Escape | None:
    """The escape that led to a leaf: one of the same value if there is one, else the last that changed, else the last line that called NumPy."""
    digests = [e.digest for e in other.escapes.found]
    changed = [
        e
        for i, e in enumerate(base.escapes.found)
        if e.order <= position and e.ref in derived and (i >= len(digests) or digests[i] != e.digest)
    ]
    same = [e for e in changed if e.digest == base.log.ops[position].digest]
    if same or changed:
        return (same or changed)[-1]
    first = min((ref[0] for ref in derived), default=0)
    lines = [e for e in (other.numpy_calls.found if other.numpy_calls else []) if first < e.order <= position]
    return lines[-1] if lines else None


def _what_left(escape: Escape | None, derived: set[Ref], position: int) -> set[Ref]:
    if escape is not None and escape.ref is not None:
        return {escape.ref}
    before = escape.order if escape is not None else position
    earlier = [ref for ref in derived if ref[0] < before]
    return {max(earlier)} if earlier else set()

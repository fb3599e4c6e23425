"""The same step again, with something changed: which values that enter TensorFlow are others then?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from time import monotonic
from typing import Any

import tensorflow as tf

from tapetrace.capture.eager_run import Again, EagerRun, run_step
from tapetrace.capture.escapes import ABSOLUTE, RELATIVE, Substitution
from tapetrace.capture.locations import Locator
from tapetrace.capture.restoring import restored
from tapetrace.capture.variables import handle_of
from tapetrace.model.locations import Location

Key = tuple[Any, ...]

MOST_RUNS = 60
"""Runs of the user's step in one check; when they are used up, the rest is said of several variables together."""

PATIENCE = 120.0
"""Seconds after which no further run is begun, as if they were used up."""

MUCH = 20.0
"""How many times further a value is changed when a little did nothing."""

OTHER_SIGN = -2.0 / RELATIVE
"""In place of that: v becomes -v and a bit."""


class Reruns:
    """Runs of one step like ``base``, the first. Everything that a run changes is put back after it, but for Python's own objects."""

    def __init__(self, base: EagerRun, step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], locator: Locator) -> None:
        self.base = base
        self.locator = locator
        self._runs = 0
        self._until = monotonic() + PATIENCE
        self._call = (step, args, kwargs)

    @property
    def left(self) -> int:
        """How many more runs are allowed."""
        return MOST_RUNS - self._runs if monotonic() < self._until else 0

    def changed(self, variables: Sequence[Any], find_numpy: bool = True, by: float = 1.0) -> EagerRun:
        """Run with another value in each of ``variables``: v * 1.05 + 0.03, or v + 1 for integers; ``by`` times as much further away."""
        with restored(map(handle_of, variables)):
            for v in variables:
                v.assign(_other_value(v, by))
            return self._run(self._again(find_numpy=find_numpy))

    def substituted(self, substitution: Substitution) -> EagerRun:
        """Run with other numbers handed to Python by some escapes."""
        return self._run(self._again(substitution=substitution))

    def _again(self, find_numpy: bool = False, substitution: Substitution | None = None) -> Again:
        return Again(self.base.seed, self.base.recorder.functions, find_numpy, substitution)

    def _run(self, again: Again) -> EagerRun:
        self._runs += 1
        step, args, kwargs = self._call
        return run_step(step, args, kwargs, self.locator, again)

    def moved(self, other: EagerRun) -> dict[int, int]:
        """Ops of the base run that take another value from outside in ``other``, and where they stand there. An op is known again by its type,
        its line and its turn there."""
        there = self._entries(other)
        return {p: there[key][0] for key, (p, value) in self._own_entries.items() if key in there and there[key][1] != value}

    def position(self, other: EagerRun, there: int) -> int | None:
        """Where an op of ``other`` stands in the base run."""
        key = next((k for k, p in self._positions(other).items() if p == there), None)
        return None if key is None else self._own_positions.get(key)

    @cached_property
    def unsteady(self) -> set[int]:
        """Ops that take another value each time, whatever is changed: counters, clocks."""
        return set(self.moved(self._run(self._again())))

    def changing_at(self) -> Location | None:
        """The first line of the user's at which the step takes another value each time, None when there is none or no run is left to see."""
        positions = sorted(self.unsteady) if self.left > 0 or "unsteady" in self.__dict__ else ()
        stacks = (self.base.log.ops[p].stack for p in positions)
        return next((place for stack in stacks if stack and (place := self.locator.locate(stack)) is not None), None)

    @cached_property
    def _own_entries(self) -> dict[Key, tuple[int, Any]]:
        return self._entries(self.base)

    @cached_property
    def _own_positions(self) -> dict[Key, int]:
        return self._positions(self.base)

    def _positions(self, run: EagerRun) -> dict[Key, int]:
        """The ops of the forward pass and the variables. Positions differ from run to run: there may be more variables, and they are read first."""
        found: dict[Key, int] = {}
        turns: dict[Key, int] = {}
        for position, op in enumerate(run.log.ops):
            if op.handle is not None:
                found["variable", id(op.handle)] = position
            elif op.made_by_call is None and op.inputs:
                place = self.locator.locate(op.stack) if op.stack else None
                use = (op.type.rstrip("0123456789"), place.key if place else None)
                turns[use] = turns.get(use, 0) + 1
                found[use, turns[use]] = position
        return found

    def _entries(self, run: EagerRun) -> dict[Key, tuple[int, Any]]:
        """Where values came in during the forward pass: leaves as they were used, and numbers among the attributes of ops."""
        found: dict[Key, tuple[int, Any]] = {}
        for use, position in self._positions(run).items():
            op = run.log.ops[position]
            for i, (p, _) in enumerate(op.inputs):
                if run.log.ops[p].digest:
                    found[use, i] = (p, run.log.ops[p].digest)
            numbers = tuple(a for a in op.attrs if isinstance(a, int | float))
            if numbers:
                found[use, -1] = (position, numbers)
        for call, refs in run.recorder.target_refs.items():
            for i, ref in enumerate(refs):
                if ref is not None and run.log.ops[ref[0]].digest:  # the loss itself came from outside, and no op reads it
                    found["target", call, i] = (ref[0], run.log.ops[ref[0]].digest)
        return found


def _other_value(variable: Any, by: float) -> Any:
    dtype = tf.as_dtype(variable.dtype)
    value = tf.convert_to_tensor(variable)
    if dtype.is_floating or dtype.is_complex:
        return value + tf.cast(by, dtype) * (value * tf.cast(RELATIVE, dtype) + tf.cast(ABSOLUTE, dtype))
    if dtype == tf.bool:
        return ~value
    return value + tf.cast(1, dtype) if dtype.is_integer else value

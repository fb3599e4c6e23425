"""What entered TensorFlow from outside, and had left it before: found out by changing variables and escaped numbers a little and running again.

Arithmetic in NumPy and Python cannot be followed op by op. But a constant that enters TensorFlow with another value, after nothing but one variable
was changed, was computed from that variable; and if it is another one, after nothing but one escaped number was changed, it came by that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.eager_run import EagerRun
from tapetrace.capture.escapes import BACKWARDS, RELATIVE, Escape, Substitution
from tapetrace.capture.locations import raw_frames
from tapetrace.capture.reruns import MUCH, OTHER_SIGN, Reruns
from tapetrace.capture.variables import handle_of
from tapetrace.model.trace import Hidden, Ref
from tapetrace.model.words import Cause

_FAR = (-1.0, MUCH, BACKWARDS)
"""Factors for floats of which Python only looks at the size."""

_PYTHON_FUNCTIONS = "tensorflow/python/ops/script_ops.py"


def find_entries(reruns: Reruns, variables: Sequence[Any]) -> dict[int, Hidden]:
    """For each op of the base run that takes what was computed from ``variables`` outside TensorFlow: from which tensors, and where they left."""
    return _Search(reruns, variables).entries()


class _Search:
    def __init__(self, reruns: Reruns, variables: Sequence[Any]) -> None:
        self._reruns = reruns
        self._base = reruns.base
        self._variables = variables
        self._found: dict[int, tuple[set[Ref], Escape | None]] = {}
        self._by_line: dict[Any, set[int]] = {}

    def entries(self) -> dict[int, Hidden]:
        for group, other, positions in self._floats():
            derived = _derived(self._base.log, group)
            for p in sorted(positions):
                escape = self._way_out(p, derived) or self._numpy_line(other, group, positions[p], p)
                refs = _what_left(escape, derived, p)
                if len(group) > 1:  # there was no telling them apart
                    refs = refs.union(*(_what_left(None, _derived(self._base.log, [v]), escape.order if escape else p) for v in group))
                self._add(p, refs, escape)
        self._integers()
        self._decisions()
        return {p: self._hidden(refs, escape) for p, (refs, escape) in self._found.items() if refs}

    def _hidden(self, refs: set[Ref], escape: Escape | None) -> Hidden:
        """What leaves inside of ``tf.numpy_function`` leaves at the line that calls it: eagerly, TensorFlow just calls the Python function."""
        stack = raw_frames(escape.stack) if escape else ()
        inside = next((i for i, frame in enumerate(stack) if frame[0].endswith(_PYTHON_FUNCTIONS)), None)
        cause = Cause.NUMPY_ESCAPE if inside is None else Cause.PYTHON_FUNCTION
        found = stack if inside is None else stack[: inside + 1]
        return Hidden(tuple(sorted(refs)), cause, self._reruns.locator.locate(found) if found else None)

    def _add(self, position: int, refs: set[Ref], escape: Escape | None) -> None:
        known, first = self._found.setdefault(position, (set(), escape))
        self._found[position] = (known | {r for r in refs if r[0] < position}, first or escape)

    def _floats(self) -> Iterator[tuple[list[Any], EagerRun, dict[int, int]]]:
        """Groups of variables, as small as the number of runs allows, with what moves when they are changed."""
        left = list(self._variables)
        for by in (1.0, MUCH, OTHER_SIGN):  # rounded on the way, perhaps, or only compared
            queue = [left] if left and self._reruns.left > 0 else []
            while queue:
                group = queue.pop()
                other, positions = self._change(group, by)
                if positions and len(group) > 1 and self._reruns.left > 1:
                    queue += [group[len(group) // 2 :], group[: len(group) // 2]]
                elif positions:
                    left = [v for v in left if all(v is not moved for moved in group)]
                    yield group, other, positions

    def _change(self, group: Sequence[Any], by: float) -> tuple[EagerRun, dict[int, int]]:
        other = self._reruns.changed(group, by=by)
        positions = self._reruns.moved(other)
        if positions:
            same = {e.digest for e in self._base.escapes.found}
            positions = {p: q for p, q in positions.items() if p not in self._reruns.unsteady or self._base.log.ops[p].digest in same}
        return other, positions

    def _way_out(self, position: int, derived: set[Ref]) -> Escape | None:
        """The escape that led to an op: one of the same value, else the last that moves it."""
        candidates = [e for e in self._base.escapes.found if e.order <= position and e.ref in derived]
        value = self._base.log.ops[position].digest
        same = [e for e in candidates if value and e.digest == value]
        if same:
            return same[-1]
        tried = ((e, factor) for factor in (1.0 + RELATIVE, *_FAR) for e in reversed(candidates) if e.is_float or factor not in _FAR)
        return next((e for e, factor in tried if position in self._moved_by(e, factor=factor)), None)

    def _numpy_line(self, other: EagerRun, group: Sequence[Any], there: int, position: int) -> Escape | None:
        """The last line before an op that handed something computed from ``group`` to NumPy, else the last that may have. ``there`` is where the
        op stands in the run that looked for such lines."""
        derived = _derived(other.log, group)
        first = min((ref[0] for ref in derived), default=0)
        lines = [e for e in (other.numpy_calls.found if other.numpy_calls else []) if first < e.order <= there]
        shown = [e for e in lines if e.ref in derived] or [e for e in lines if e.ref is None]
        if not shown:
            return None
        ref = shown[-1].ref
        here = None if ref is None else self._reruns.position(other, ref[0])
        return replace(shown[-1], order=position, ref=None if ref is None or here is None else (here, ref[1]))

    def _moved_by(self, escape: Escape, step: int = 1, factor: float = 1.0 + RELATIVE) -> set[int]:
        """What moves when all escapes of the line of ``escape`` hand out other numbers; nothing when no more runs are allowed."""
        key = (self._line(escape), step, factor)
        if key not in self._by_line:
            if self._reruns.left <= 0:
                return set()
            alike = frozenset(i for i, e in enumerate(self._base.escapes.found) if self._line(e) == key[0])
            other = self._reruns.substituted(Substitution(alike, step, factor))
            if other.raised is not None and self._base.raised is None and step > 0 and not escape.is_float:
                self._by_line[key] = self._moved_by(escape, -step)  # an index one too large
            else:
                self._by_line[key] = set(self._reruns.moved(other)) - self._reruns.unsteady
        return self._by_line[key]

    def _line(self, escape: Escape) -> Any:
        place = self._reruns.locator.locate(escape.stack)
        return (place.key if place else None, escape.is_float)

    def _integers(self) -> None:
        """Integers do not move when a variable is changed a little, so the integers that left are changed themselves."""
        derived = _derived(self._base.log, self._variables)
        for escape in self._base.escapes.found:
            if escape.is_float or escape.ref not in derived:
                continue
            for p in sorted(self._moved_by(escape)):
                if p >= escape.order:
                    self._add(p, {escape.ref}, escape)

    def _decisions(self) -> None:
        """Floats of which Python only compares the sizes, as ``np.argmax`` does: others come out when they are far from what they were."""
        derived = _derived(self._base.log, self._variables)
        known = {self._line(escape) for _, escape in self._found.values() if escape is not None}
        last = max((call.order for call in self._base.calls()), default=0)
        for escape in self._base.escapes.found:
            if not escape.is_float or escape.ref not in derived or escape.order >= last or self._line(escape) in known:
                continue
            moved = next(filter(None, (self._moved_by(escape, factor=factor) for factor in _FAR)), set())
            for p in sorted(moved):
                if p >= escape.order:
                    self._add(p, {escape.ref}, escape)


def _derived(log: EagerLog, variables: Sequence[Any]) -> set[Ref]:
    """The tensors computed from variables by ops of the forward pass, and the variables themselves."""
    wanted = {id(handle_of(v)) for v in variables}
    derived: set[Ref] = set()
    for position, op in enumerate(log.ops):
        is_one = op.handle is not None and id(op.handle) in wanted
        if is_one or (op.made_by_call is None and any(ref in derived for ref in op.inputs)):
            derived.update((position, j) for j in range(len(op.outputs)))
    return derived


def _what_left(escape: Escape | None, derived: set[Ref], position: int) -> set[Ref]:
    if escape is not None and escape.ref is not None:
        return {escape.ref}
    before = escape.order if escape is not None else position
    earlier = [ref for ref in derived if ref[0] < before]
    return {max(earlier)} if earlier else set()

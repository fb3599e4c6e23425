"""What running a step said about its gradients, as numbers: the facts that `tapetrace.analysis.numeric` judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tapetrace.model.locations import Location
from tapetrace.model.report import Numbers

TensorKey = tuple[str, int]
"""(name of an op in the graph of the gradient call, index of its output)"""


@dataclass(frozen=True, slots=True)
class CallNumbers:
    """The gradients of one call. ``runs[r][s]`` belongs to source ``s`` in run ``r``; None where TensorFlow returned None or it was not asked.

    ``failed`` maps the index of a source to what TensorFlow said when its gradient alone was computed. ``problem`` is a sentence when the call has
    no numbers at all.
    """

    runs: tuple[tuple[Numbers | None, ...], ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TensorNumbers:
    """One tensor between a source and the target. ``gradient`` and ``value`` are Euclidean norms, NaN or infinite when an element is.

    ``size`` is the number of elements, ``precision`` the machine epsilon of the dtype.
    """

    gradient: float
    value: float = 1.0
    size: int = 1
    precision: float = 1.2e-7


@dataclass(frozen=True, slots=True)
class FlowInput:
    """One tensor that an op reads, and the norm of the gradient that comes to it through this op alone; None if that was not measured."""

    tensor: TensorKey
    contribution: float | None = None


@dataclass(frozen=True, slots=True)
class FlowOp:
    """One op between a source and the target. ``inputs`` and ``outputs`` are only those on the way."""

    name: str
    type: str
    inputs: tuple[FlowInput, ...]
    outputs: tuple[TensorKey, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """The ops between some sources and the targets of a call, in program order, with the gradient of the targets for the tensors between them.

    Function bodies are not opened: a call is one op. A tensor without an entry in ``tensors`` could not be measured. ``sources`` maps the index of
    a source to its tensor.
    """

    ops: tuple[FlowOp, ...]
    tensors: Mapping[TensorKey, TensorNumbers]
    sources: Mapping[int, TensorKey]
    targets: tuple[TensorKey, ...]


class Experiment(Protocol):
    """A step that can be run, part by part. ``generated`` says that its arguments were made up, ``problem`` why it cannot be run, if so."""

    @property
    def generated(self) -> bool: ...
    @property
    def problem(self) -> str: ...
    def numbers(self, call: int) -> CallNumbers:
        """The gradients of a call as numbers, from one run on given values or several on generated ones."""
        ...

    def flow(self, call: int, sources: Sequence[int]) -> Flow | None:
        """What happens between these sources and the targets; None when it cannot be measured."""
        ...

    def locate(self, call: int, op: str) -> Location | None:
        """The user's line of an op in the graph of a call."""
        ...


def is_finite(numbers: Numbers) -> bool:
    """Whether no element of the gradient is NaN or infinite."""
    return not numbers.nan and not numbers.inf and math.isfinite(numbers.norm)

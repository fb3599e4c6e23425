"""What one way through one op does with gradient, and by which cause: the judgement on a single gate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from tapetrace.model.trace import Gate, Recording
from tapetrace.model.words import Cause


class Passage(Enum):
    """What gradient does at a gate."""

    OPEN = "open"
    OPAQUE = "opaque"
    """Nobody can say before the step runs."""
    CLOSED = "closed"
    CARRIED = "carried"
    """Closed because the value had lost its gradient before it came here: an integer handed on. The break stands upstream."""
    INDEX = "index"
    """As CARRIED, but where nothing except an integer can be handed in: an index or a size. It stays closed when the break upstream is mended."""
    NO_DATA = "no_data"
    """No value flows here, only a shape or the identity of a variable: neither a path for gradient nor one for data."""


@dataclass(frozen=True, slots=True)
class Way:
    """The judgement on one gate. ``cause`` is None when open; ``is_zero`` says that TensorFlow hands a tensor of zeros back through it, ``raises``
    that the gradient call raises when gradient comes here, ``if_registered`` that the gate would be open if what lacks a gradient had one.
    ``depends`` is for a body that is summarised: open only when some branch inside it is taken. ``is_taped``: no value flows, yet a tape that holds
    the input holds the output too."""

    passage: Passage
    cause: Cause | None = None
    is_zero: bool = False
    raises: bool = False
    if_registered: bool = False
    depends: bool = False
    is_taped: bool = False

    @property
    def lets_through(self) -> bool:
        """Whether real gradient passes, or may pass."""
        return self.passage is Passage.OPEN or self.passage is Passage.OPAQUE


OPEN = Way(Passage.OPEN)
CARRIED = Way(Passage.CARRIED, Cause.NON_FLOAT)
INDEX = Way(Passage.INDEX, Cause.NON_FLOAT)
CARRIED_WRITE = Way(Passage.CARRIED, Cause.VARIABLE_WRITE)
NO_DATA = Way(Passage.NO_DATA)
LIKE = Way(Passage.NO_DATA, is_taped=True)
"""To zeros or ones like a float tensor."""
WRITE = Way(Passage.CLOSED, Cause.VARIABLE_WRITE)

PREVENTS = "PreventGradient"
"""Raises LookupError when gradient comes to it, as an op does that lacks one, and is meant to."""

_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_DATASET_MARKS = ("Dataset", "Iterator")
_SHAPE_ONLY = frozenset({"Shape", "ShapeN", "Size", "Rank", "VariableShape", "ZerosLike", "OnesLike", "BroadcastGradientArgs"})

_BY_GATE = {
    Gate.OPEN: OPEN,
    Gate.NON_FLOAT_INPUT: CARRIED,
    Gate.PYTHON: Way(Passage.OPAQUE, Cause.PYTHON_FUNCTION),
    Gate.UNKNOWN: Way(Passage.OPAQUE, Cause.NOT_PROBED),
    Gate.STOPPED: Way(Passage.CLOSED, Cause.STOP_GRADIENT),
    Gate.CUSTOM_NONE: Way(Passage.CLOSED, Cause.CUSTOM_GRADIENT),
    Gate.CUSTOM_ZERO: Way(Passage.CLOSED, Cause.CUSTOM_GRADIENT, is_zero=True),
    Gate.UNREGISTERED: Way(Passage.CLOSED, Cause.NO_GRADIENT_REGISTERED, raises=True, if_registered=True),
    Gate.NON_FLOAT_OUTPUT: Way(Passage.CLOSED, Cause.NON_FLOAT),
    Gate.NOT_DIFFERENTIABLE: Way(Passage.CLOSED, Cause.NOT_DIFFERENTIABLE),
    Gate.NONE: Way(Passage.CLOSED, Cause.GRADIENT_IS_NONE),
    Gate.ZERO: Way(Passage.CLOSED, Cause.GRADIENT_IS_ZERO, is_zero=True),
}

_BY_TYPE = {
    "stop": Way(Passage.CLOSED, Cause.STOP_GRADIENT),
    "prevent": Way(Passage.CLOSED, Cause.STOP_GRADIENT, raises=True, if_registered=True),
    "python": Way(Passage.CLOSED, Cause.PYTHON_FUNCTION),
    "dataset": Way(Passage.CLOSED, Cause.DATASET),
}

_BY_RECORDING = {
    Recording.OUTSIDE: Way(Passage.CLOSED, Cause.OUTSIDE_TAPE),
    Recording.STOPPED: Way(Passage.CLOSED, Cause.RECORDING_STOPPED),
}


def _type_family(op_type: str) -> str | None:
    if op_type == "StopGradient":
        return "stop"
    if op_type == PREVENTS:
        return "prevent"
    if op_type in _PYTHON:
        return "python"
    if any(mark in op_type for mark in _DATASET_MARKS):
        return "dataset"
    return None


@cache
def judge(op_type: str, gate: Gate, recording: Recording, is_index: bool = False) -> Way:
    """The way through a gate: what the op is comes first, then what its gradient function says, then what the tape recorded. ``is_index``: the
    input can be nothing but an integer."""
    if op_type in _SHAPE_ONLY:
        return NO_DATA if gate in (Gate.NON_FLOAT_INPUT, Gate.NON_FLOAT_OUTPUT) else LIKE
    way = _BY_GATE[gate]
    if way is CARRIED and is_index:
        return INDEX
    if way.passage is Passage.OPEN:
        return unrecorded(way, recording)
    family = _type_family(op_type)
    if family is None or way is CARRIED or (family == "python" and gate is Gate.PYTHON):
        return unrecorded(way, recording)
    return unrecorded(_BY_TYPE[family], recording)


def unrecorded(way: Way, recording: Recording) -> Way:
    """What is left of a way through an op that the tape did not record: a gate that is closed anyway keeps its cause, but nobody asks there for a
    gradient function that is missing."""
    if recording is Recording.RECORDED:
        return way
    if way.passage in (Passage.OPEN, Passage.OPAQUE):
        return _BY_RECORDING[recording]
    return replace(way, raises=False, if_registered=False) if way.raises else way


def is_recorded_for(way: Way) -> bool:
    """Whether a tape records an op on account of an input that is on it: not for integers, nor for what no tensor shows."""
    if way.passage is Passage.NO_DATA:
        return way.is_taped
    return way.passage not in (Passage.CARRIED, Passage.INDEX) and way.cause not in (Cause.VARIABLE_WRITE, Cause.CAPTURED_VALUE)


def is_python(op_type: str) -> bool:
    """Whether the op runs Python code of the user's."""
    return op_type in _PYTHON


def is_blind(op_type: str) -> bool:
    """Whether the graph does not know where the op's values come from: Python code, a captured tensor, a dataset element."""
    return op_type == "Captured" or _type_family(op_type) in ("python", "dataset")


def writes_variable(op_type: str) -> bool:
    """Whether the op writes into the variable that is its first input."""
    return (op_type.startswith("Assign") and "Variable" in op_type) or op_type.startswith(
        ("ResourceScatter", "ResourceApply", "ResourceSparseApply", "ResourceStridedSliceAssign")
    )


def overwrites_variable(op_type: str) -> bool:
    """Whether nothing of the variable's former value survives the write."""
    return op_type == "AssignVariableOp"

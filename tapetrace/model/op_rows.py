"""What `tapetrace ops` knows of one op type: what the gradient registry holds for it, and the gates of one op of that type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tapetrace.model.trace import Gate, GateTable


class Registration(str, Enum):
    """What TensorFlow's gradient registry holds for an op type."""

    FUNCTION = "function"
    """A gradient function, which may still return None or zeros for some or all inputs."""
    NOT_DIFFERENTIABLE = "not_differentiable"
    """The declaration that the op is not differentiable."""
    MISSING = "missing"
    """Nothing: a gradient call that meets the op raises LookupError."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One input or output: its name in the op's definition (``values[1]`` in a list) and its dtype."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class OpRow:
    """One op type. ``gates`` has a row for each of ``inputs`` and a column for each of ``outputs``.

    It is None when no op of this type could be made here: then ``note`` says why. With gates, ``note`` says why some are unknown.
    """

    type: str
    registration: Registration
    inputs: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    gates: GateTable | None = None
    note: str = ""

    def gates_of(self, name: str) -> tuple[Gate, ...]:
        """From each output back to the input called ``name``. Raises KeyError when there is none, or no gates."""
        for i, slot in enumerate(self.inputs):
            if slot.name == name and self.gates is not None:
                return self.gates.rows[i]
        raise KeyError(name)

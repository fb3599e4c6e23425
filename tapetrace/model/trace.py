"""A Trace: the facts that capture recorded while the user's step was traced. It judges nothing.

A Trace holds *bodies* (one for each graph or function graph that was seen), each a tuple of ops in program order, and the gradient calls made in
them. Ops refer to each other by position in their body, so that a body is stored once however often it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from tapetrace.model.locations import Frame, Location
from tapetrace.model.words import Cause, Returned

if TYPE_CHECKING:
    from tapetrace.model.measurements import Experiment


class Gate(str, Enum):
    """What TensorFlow's own gradient function says about one way through one op, from output ``j`` back to input ``i``."""

    OPEN = "open"
    """The gradient for the input depends by value on the gradient of the output."""
    NONE = "none"
    """The gradient function returns None for the input."""
    ZERO = "zero"
    """It returns a tensor that does not depend on the gradient of the output."""
    NOT_DIFFERENTIABLE = "not_differentiable"
    """The op type is registered as not differentiable."""
    UNREGISTERED = "unregistered"
    """The gradient registry has no entry for the op type."""
    NON_FLOAT_INPUT = "non_float_input"
    """The dtype of the input carries no gradient."""
    NON_FLOAT_OUTPUT = "non_float_output"
    """The dtype of the output carries no gradient, that of the input would."""
    CUSTOM_NONE = "custom_none"
    """A ``tf.custom_gradient`` of the user returns None for the input."""
    CUSTOM_ZERO = "custom_zero"
    """A ``tf.custom_gradient`` of the user returns zeros whatever comes in."""
    PYTHON = "python"
    """Python code decides at run time (``tf.py_function``)."""
    STOPPED = "stopped"
    """The gradient call was told to stop here (``tf.gradients(…, stop_gradients=…)``)."""
    UNKNOWN = "unknown"
    """The gradient function could not be asked."""


@dataclass(frozen=True, slots=True)
class GateTable:
    """The gates of one op: ``rows[i][j]`` is the gate from output ``j`` back to input ``i``. ``note`` says why a probe failed, ``integers`` lists
    the inputs, with their names, that can be nothing but integers: an index or a size, which stays closed were it computed in floats."""

    rows: tuple[tuple[Gate, ...], ...]
    note: str = ""
    integers: tuple[tuple[int, str], ...] = ()

    def gate(self, input_index: int, output_index: int) -> Gate:
        return self.rows[input_index][output_index]


class CallKind(str, Enum):
    """How an op runs the bodies that it names."""

    FUNCTION = "function"
    """Once: a call of a ``tf.function``."""
    BRANCH = "branch"
    """One of them: ``tf.cond``, ``tf.switch_case``. Input 0 is the condition and is not handed to the bodies."""
    LOOP = "loop"
    """The first again and again: ``tf.while_loop``. Body inputs, body outputs, op inputs and op outputs correspond one to one."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The bodies an op runs. ``branches`` names each body of a BRANCH for the reader: ``true`` and ``false``, or ``0``, ``1``, …"""

    kind: CallKind
    bodies: tuple[str, ...]
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Dtype name and static shape of a tensor; ``shape`` is None for an unknown rank, an element is None for an unknown size."""

    dtype: str
    shape: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[…]"
        return f"{self.dtype}[{','.join('?' if n is None else str(n) for n in self.shape)}]"


Ref = tuple[int, int]
"""(position of an op in its body, index of one of its outputs)"""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a value was computed from outside the graph: by Python code that an op runs, by NumPy, or before the step.

    ``refs`` are tensors of the same body, ``cause`` says in which way they were lost, ``location`` where, if that is not the op's own line.
    """

    refs: tuple[Ref, ...]
    cause: Cause
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """One TensorFlow operation, or a variable, an argument or a captured tensor (``type`` Variable, Argument, Captured).

    ``order`` is the op's rank of creation in its TensorFlow graph, the clock that tape windows refer to. ``made_by_call`` is the ``number``
    of the gradient call that created the op as part of its backward pass. ``outer`` is set on the placeholder of a captured tensor: the body and ref
    of that tensor in the enclosing graph. ``hidden`` says what the op depends on in ways that no tensor shows.
    """

    name: str
    type: str
    inputs: tuple[Ref, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    gates: GateTable | None = None
    call: FunctionCall | None = None
    order: int = 0
    made_by_call: int | None = None
    outer: tuple[str, Ref] | None = None
    hidden: Hidden | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """The ops of one graph in program order; ``inputs`` are positions of its parameters in order, captured ones last; ``outputs`` refs."""

    key: str
    ops: tuple[Op, ...]
    inputs: tuple[int, ...] = ()
    outputs: tuple[Ref, ...] = ()


class Recording(str, Enum):
    """What a tape did with an op."""

    RECORDED = "recorded"
    OUTSIDE = "outside"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch ``start <= order < end`` of one body in which a tape recorded; ``end`` None: to the end. A stretch inside ``stop_recording`` has
    ``stopped`` True, and did not record."""

    start: int
    end: int | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Tape:
    """One GradientTape as the trace saw it.

    ``windows`` maps the key of a body to its windows there; a body without an entry was recorded throughout. ``opened`` is the frame of the
    ``with`` line (None for ``tf.gradients``, which has no tape).
    """

    windows: Mapping[str, tuple[Window, ...]] = field(default_factory=dict)
    opened: Frame | None = None
    persistent: bool = False
    watches_variables: bool = True
    was_reset: bool = False

    def recording(self, body: str, order: int) -> Recording:
        """What the tape did with the op of rank ``order`` in ``body``."""
        windows = self.windows.get(body)
        if windows is None:
            return Recording.RECORDED
        for w in windows:
            if w.start <= order and (w.end is None or order < w.end):
                return Recording.STOPPED if w.stopped else Recording.RECORDED
        return Recording.OUTSIDE


@dataclass(frozen=True, slots=True)
class Source:
    """What a gradient call asks the gradient for.

    ``ref`` is its tensor (for a variable: the Variable op) in the body of the call, None when the graph never mentions it. ``is_float``: its dtype
    can carry gradient. ``owner`` is the path of the Keras layer that owns the variable, empty if none. ``made_at`` is where the variable was
    made, if that was seen.
    """

    name: str
    path: str
    kind: str  # "variable" | "tensor"
    spec: TensorSpec
    ref: Ref | None = None
    is_float: bool = True
    trainable: bool = True
    returned: Returned | None = None
    owner: str = ""
    made_at: Location | None = None
    left_at: Location | None = None
    """Where its value was last handed to Python before the step, if that was seen."""
    is_keras: bool = False
    """Whether it is a Keras 3 variable, which stands for the ``tf.Variable`` that its ``value`` is."""


@dataclass(frozen=True, slots=True)
class TraceError:
    """Something that was raised: by a gradient call, or by the step."""

    type: str
    message: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """One of the replicas that one ``strategy.run`` of ``tf.distribute`` runs: ``run`` numbers the runs, ``number`` the ``total`` replicas from 0."""

    run: int
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class GradientCall:
    """One call of ``tape.gradient`` / ``jacobian`` / ``batch_jacobian`` / ``tf.gradients`` seen while the step ran.

    ``order`` is the number of ops that the body had when the call was made: later ones cannot lie on a path. ``targets`` are refs in ``body``,
    None for a target that is no tensor of the graph; ``float_targets`` says which can carry gradient. ``watched`` lists what the tape watched,
    each with the order from which its uses were recorded; None: everything (``tf.gradients``). ``error`` is what the call itself raised,
    ``raised_in`` the types of the ops whose gradient functions raised it, the outermost first, and ``raised_at`` an output of one, as far as
    known; ``made`` False when the backward pass was not built (``verify=False``). ``written`` is the call in the user's own words.
    """

    kind: str
    body: str
    order: int
    targets: tuple[Ref | None, ...]
    target_names: tuple[str, ...]
    sources: tuple[Source, ...]
    tape: Tape
    float_targets: tuple[bool, ...] = ()
    watched: tuple[tuple[Ref, int], ...] | None = None
    location: Location | None = None
    written: str = ""
    error: TraceError | None = None
    raised_in: tuple[str, ...] = ()
    raised_at: Ref | None = None
    tape_reused: bool = False
    unconnected_zero: bool = False
    made: bool = True
    replica: Replica | None = None
    """The replica that made the call, None outside ``tf.distribute``."""
    number: int | None = None
    """Its rank among all gradient calls that were seen, also those of a trace that TensorFlow threw away."""


@dataclass(frozen=True, slots=True)
class OtherVariable:
    """A trainable variable that the trace met and that some body reads, for findings that belong to the step."""

    name: str
    path: str
    refs: tuple[tuple[str, Ref], ...]
    made_at: Location | None = None
    made_by_step: bool = False
    """Whether the step itself made it, while it ran."""


def _nowhere(body: str, position: int, inside: Frame | None = None) -> Location | None:
    return None


class Locate(Protocol):
    """``locate(body, position)`` gives the location of an op; with ``inside``, the line of the function of that frame which led to the op."""

    def __call__(self, body: str, position: int, inside: Frame | None = None) -> Location | None: ...


@dataclass(frozen=True)
class Trace:
    """All facts of one traced step. ``locate`` reads the location of an op only when asked, since reading all costs a good part of the trace."""

    target: str
    tensorflow: str
    keras: str
    mode: str
    bodies: Mapping[str, Body]
    calls: tuple[GradientCall, ...]
    variables: tuple[OtherVariable, ...] = ()
    not_applied: tuple[tuple[int, int], ...] = ()
    """(call index, source index) of gradients that were computed and never used afterwards."""
    error: TraceError | None = None
    notes: tuple[str, ...] = ()
    floats: tuple[tuple[str, Ref], ...] = ()
    """(body, ref) of tensors that stand for ``float(tensor)``, which AutoGraph keeps a tensor and Python makes a number."""
    compiled_at: Location | None = None
    """Where the Keras model that is the step was compiled, if that was seen."""
    building_lines: Callable[[], frozenset[tuple[str, int]]] = field(default=frozenset, compare=False, repr=False)
    """File and line of each line that put an operation into a functional or sequential Keras model. There a value is only handed on: it can be
    left unused by the losses alone."""
    experiment: Experiment | None = field(default=None, compare=False, repr=False)
    """Runs what was traced, when numbers are asked for; None when it cannot be run."""
    locate: Locate = field(default=_nowhere, compare=False, repr=False)

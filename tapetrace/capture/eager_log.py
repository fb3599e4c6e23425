"""The eager ops of one run of a step, in order, as TensorFlow's op callbacks show them. Tensors are noted, not kept."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.backward_probe import ask_backward
from tapetrace.capture.constants import Constants
from tapetrace.capture.digests import digest_of
from tapetrace.capture.nesting import Turn
from tapetrace.capture.patches import Patches
from tapetrace.capture.variables import spec_of
from tapetrace.capture.visible_reads import make_reads_visible
from tapetrace.model.trace import Ref, TensorSpec

CUSTOM_GRADIENT = "CustomGradient"
"""Type of the op that stands for the result of a ``tf.custom_gradient`` function."""

SMALL = 64
"""Integer tensors of up to this many elements are kept as values: axes, shapes, permutations."""


@dataclass(slots=True)
class EagerOp:
    """One op, or a leaf: a variable, an argument, or a tensor that no op of this run made.

    ``stack`` is where the op ran; of a tensor from outside, where it was made a tensor or, if that was not seen, used first.
    ``handle`` is set on a leaf that is a resource, ``leaf`` on another; ``values[i]`` is the value of a small integer input; ``digest`` identifies
    the value of a leaf that entered from outside. ``answer`` is what the backward function of a custom gradient said, for each input after the
    function's own results: None, or a bit for each output that the gradient depends on; None if it was never asked. ``backward`` is that function
    until it has answered, where it may be asked.
    """

    type: str
    inputs: tuple[Ref, ...]
    outputs: tuple[TensorSpec, ...]
    attrs: tuple[Any, ...] = ()
    stack: Any = None
    made_by_call: int | None = None
    handle: Any = None
    leaf: weakref.ref[Any] | None = None
    values: dict[int, Any] | None = None
    digest: bytes = b""
    answer: tuple[int | None, ...] | None = None
    backward: Callable[..., Any] | None = None


class EagerLog:
    """Records while `recording`. ``call`` is the index of the gradient call whose backward pass is being computed, None in the forward pass."""

    asks_again = True
    """Whether the backward function of a custom gradient may be called once more, to see what its results depend on."""

    def __init__(self) -> None:
        self.ops: list[EagerOp] = []
        self.call: int | None = None
        self.raised_in: list[tuple[str, list[Any]]] = []
        """Types and outputs of the ops whose own backward functions raised in the call that is being computed."""
        self.arguments: dict[int, Any] = {}
        self._where: dict[int, tuple[weakref.ref[Any], Ref]] = {}
        self._handles: dict[int, Ref] = {}
        self.kept: dict[Ref, Any] = {}
        self._given: dict[int, list[Any]] | None = None
        self._constants = Constants()
        self.turn = Turn()
        self._numpy: Callable[[Any], Any] = private.EagerTensorBase.numpy

    @contextmanager
    def recording(self) -> Iterator[EagerLog]:
        """Within this context the eager ops of this thread are recorded."""
        with Patches() as patches:
            make_reads_visible(patches)
            self._constants.install(patches)
            patches.wrap(private.record, "record_operation", self._wrap_record_operation)
            private.add_op_callback(self._saw)
            try:
                yield self
            finally:
                private.remove_op_callback(self._saw)
                self.turn.end()

    def is_ours(self) -> bool:
        """Whether the current thread is the one that runs the step, or runs a replica for it."""
        return self.turn.is_now()

    def keep_tensors(self) -> None:
        """From now on keep every tensor of the forward pass that can carry gradient, by ref, in ``kept``, and what each op was given."""
        self._given = {}

    def inputs_of(self, position: int) -> list[Any] | None:
        """The tensors that an op was given, while tensors are kept."""
        return None if self._given is None else self._given.get(position)

    def ref(self, tensor: Any) -> Ref | None:
        """Which output of which op a tensor is; None if this run has not met it."""
        if id(tensor) in self._handles:
            return self._handles[id(tensor)]
        known = self._where.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def ref_or_leaf(self, tensor: Any) -> Ref:
        """The same; a tensor that is met for the first time becomes a leaf."""
        return self.ref(tensor) or self._leaf(tensor)

    def _saw(self, op: str | bytes, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        if graph is not None:
            return
        op_type = op.decode() if isinstance(op, bytes) else op  # TensorFlow says either
        refs = tuple(self.ref_or_leaf(t) for t in inputs)
        values = {i: self._numpy(t) for i, t in enumerate(inputs) if t.dtype.is_integer and t.shape.num_elements() <= SMALL}
        stack = private.tf_stack.extract_stack()
        if self._given is not None and self.call is None:
            self._given[len(self.ops)] = list(inputs)
        self._add(EagerOp(op_type, refs, tuple(spec_of(t) for t in outputs), tuple(attrs or ()), stack, self.call, values=values or None), outputs)

    def _add(self, op: EagerOp, outputs: Any) -> None:
        position = len(self.ops)
        if self._given is not None and self.call is None:
            self.kept |= {(position, j): t for j, t in enumerate(outputs) if t.dtype not in (tf.resource, tf.variant) and private.is_trainable(t)}
        self.ops.append(op)
        for j, t in enumerate(outputs):
            self._where[id(t)] = (weakref.ref(t), (position, j))

    def _leaf(self, tensor: Any) -> Ref:
        position = len(self.ops)
        if tensor.dtype == tf.resource:
            self.ops.append(EagerOp("Resource", (), (spec_of(tensor),), handle=tensor))
            self._handles[id(tensor)] = (position, 0)
            return (position, 0)
        made_at = self._constants.made_at(tensor)
        kind = "Argument" if id(tensor) in self.arguments else "Captured" if made_at is None else "Const"
        digest = self.digest(tensor) if kind != "Argument" and tensor.dtype != tf.variant else b""
        stack = made_at or private.tf_stack.extract_stack()
        self.ops.append(EagerOp(kind, (), (spec_of(tensor),), stack=stack, leaf=weakref.ref(tensor), digest=digest, made_by_call=self.call))
        self._where[id(tensor)] = (weakref.ref(tensor), (position, 0))
        return (position, 0)

    def digest(self, tensor: Any) -> bytes:
        """What identifies the value of a tensor: equal for two of the same dtype and the same numbers."""
        return digest_of(self._numpy(tensor))

    def _wrap_record_operation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A ``tf.custom_gradient`` function announces its results, its inputs and its own backward function this way."""

        def record_operation(op_type: Any, output_tensors: Any, input_tensors: Any, backward_function: Any, forward_function: Any = None) -> Any:
            outputs, inputs, backward, forward = output_tensors, input_tensors, backward_function, forward_function
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if not self.is_ours() or not caller.endswith("ops.custom_gradient") or not all(isinstance(t, private.EagerTensorBase) for t in outputs):
                return original(op_type, outputs, inputs, backward, forward)
            if not private.should_record(list(inputs)):  # then the function's own ops stay on the tapes
                return original(op_type, outputs, inputs, backward, forward)
            refs = tuple(self.ref_or_leaf(t) for t in inputs)
            # The function's own results come first, so that what they were computed from is seen as a path, though a closed one.
            own = tuple(self.ref_or_leaf(t) for t in outputs)
            op = EagerOp(CUSTOM_GRADIENT, (*own, *refs), tuple(spec_of(t) for t in outputs), stack=private.tf_stack.extract_stack())
            op.made_by_call = self.call
            op.backward = backward if self.asks_again else None

            def observed(*grads: Any) -> Any:
                try:
                    result = backward(*grads)
                except Exception:
                    self.raised_in.append((CUSTOM_GRADIENT, list(outputs)))
                    raise
                if op.answer is None:
                    flat = list(result) if isinstance(result, list | tuple) else [result]
                    everything = (1 << len(op.outputs)) - 1
                    returned = [None if g is None else everything for g in flat]
                    op.answer = tuple((ask_backward(backward, grads) if self.asks_again else None) or returned)
                    op.backward = None
                return result

            answer = original(op_type, outputs, inputs, observed, forward)
            self._add(op, outputs)
            return answer

        return record_operation

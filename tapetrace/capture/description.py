"""Gradient calls as they happened, in the words of the model. The same for a traced and for an eager step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.before import Before
from tapetrace.capture.labels import Labels
from tapetrace.capture.living import living
from tapetrace.capture.recorder import CallRecord
from tapetrace.capture.replicas import parts_of
from tapetrace.capture.values import is_tensor, name_of, tensor_of
from tapetrace.capture.variables import VariableNames, describe_variable, is_variable, spec_of
from tapetrace.model.trace import GradientCall, Ref, Source, Tape, TensorSpec
from tapetrace.model.words import Returned

RefOf = Callable[[Any], Ref | None]
"""Where a tensor or variable stands in the body of a call."""


def describe_call(call: CallRecord, body: str, tape: Tape, ref_of: RefOf, before: Before, labels: Labels) -> GradientCall:
    """One call with all it asked, of what, and what it got."""
    watched = None
    if call.watched is not None:
        found = [(ref_of(tensor_of(t)), order) for t, order in call.watched if is_tensor(t)]
        watched = tuple((ref, order) for ref, order in found if ref is not None)
    gradients = call.gradients or [None] * len(call.sources)
    tensors = Labels()
    return GradientCall(
        kind=call.kind,
        body=body,
        order=call.order,
        targets=tuple(ref_of(tensor_of(t)) if is_tensor(t) else None for t in call.targets),
        target_names=tuple(name_of(t) for t in call.targets),
        sources=tuple(
            _source(call, ref_of, before, labels if is_variable(s) else tensors, s, g) for s, g in zip(call.sources, gradients, strict=True)
        ),
        tape=tape,
        float_targets=tuple(is_tensor(t) and bool(private.is_trainable(tensor_of(t))) for t in call.targets),
        watched=watched,
        location=call.location,
        written=call.written,
        error=call.error,
        raised_in=tuple(op_type for op_type, _ in call.raised_in),
        raised_at=next((ref for _, outputs in call.raised_in for t in outputs if (ref := ref_of(t)) is not None), None),
        tape_reused=call.tape_reused,
        unconnected_zero=call.unconnected_zero,
        made=call.made,
        replica=call.replica,
        number=call.index,
    )


def _source(call: CallRecord, ref_of: RefOf, before: Before, labels: Labels, value: Any, gradient: Any) -> Source:
    returned = _returned(call, gradient)
    if not is_tensor(value):
        return Source(name_of(value), "", "tensor", TensorSpec(type(value).__name__, ()), None, False, True, returned)
    if is_variable(value):
        named = describe_variable(value)
        is_float = bool(private.is_trainable(tf.as_dtype(value.dtype)))
        return Source(
            named.name, labels.label(value, named.path), "variable", named.spec, ref_of(value), is_float, named.trainable, returned, named.owner,
            before.made_at(value), before.left_at(value), not isinstance(value, tf.Variable),
        )  # fmt: skip
    tensor, name = tensor_of(value), name_of(value)
    label = labels.label(tensor, name)
    return Source(name, "" if label == name else label, "tensor", spec_of(tensor), ref_of(tensor), bool(private.is_trainable(tensor)), True, returned)


def label_variables(calls: Sequence[CallRecord], labels: Labels) -> dict[str, Any]:
    """The variables that the calls ask for by the path that reports show; those that have none yet are given one, in the order asked."""
    return {labels.label(s, describe_variable(s).path): s for call in calls for s in call.sources if is_variable(s)}


def _returned(call: CallRecord, gradient: Any) -> Returned | None:
    if call.error is not None:
        return Returned.ERROR
    if not call.made:
        return None
    return Returned.NONE if gradient is None else Returned.TENSOR


def name_variables(calls: Sequence[CallRecord], names: VariableNames) -> list[Any]:
    """Learn the names of all variables that the calls mention.

    Returns the trainable ones that a tape watched and no call asked for, as Keras variables where there is one.
    """
    for call in calls:
        names.add(call.sources)
    watched: dict[int, Any] = {}
    for call in calls:
        for value, _ in call.watched or ():
            if is_variable(value) and value.trainable and names.of_handle(value.handle) is None:
                watched[id(value.handle)] = value
    if watched:
        names.add(watched.values())
        names.add(v for v in _keras_variables() if any(id(part.handle) in watched for part in parts_of(v)))
    found = [names.of_handle(v.handle) for v in watched.values()]
    frozen = _frozen_by_tf_keras() if found else frozenset()
    # A frozen Keras layer leaves its tf.Variable trainable.
    return [v for v in found if getattr(v, "trainable", True) and id(v) not in frozen]


def _keras_variables() -> Iterable[Any]:
    """All Keras variables that have a value; Keras keeps no list of them."""
    kind = getattr(sys.modules.get("keras"), "Variable", None)
    if kind is None:
        return []
    return [v for v in living(kind) if getattr(v, "_value", None) is not None]


def _frozen_by_tf_keras() -> frozenset[int]:
    """Identities of the variables of tf_keras layers that are not trainable, which the variables themselves do not know."""
    kind = getattr(getattr(sys.modules.get("tf_keras"), "layers", None), "Layer", None)
    if kind is None:
        return frozenset()
    return frozenset(id(v) for layer in living(kind) if not layer.trainable for v in layer.weights)


def keras_version() -> str:
    """The version of the Keras that the step uses, empty when it uses none. TensorFlow itself imports Keras 3, but never tf_keras."""
    for name in ("tf_keras", "keras"):
        version = getattr(sys.modules.get(name), "__version__", "")
        if version:
            return str(version)
    return ""

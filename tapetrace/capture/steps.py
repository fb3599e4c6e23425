"""What is given to ``check`` becomes a callable and the arguments to trace it with."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.before import Before
from tapetrace.capture.finished import Finished, is_finished
from tapetrace.capture.finished_choice import NOTHING_NAMED, Asked
from tapetrace.capture.finished_files import StoredGraph
from tapetrace.capture.finished_saved_model import is_loaded
from tapetrace.capture.finished_targets import finished_target, stored_model
from tapetrace.capture.finished_trace import trace_finished
from tapetrace.capture.generated import fill_in, has_specs
from tapetrace.capture.history import current_history
from tapetrace.capture.keras_models import is_keras_model, model_step
from tapetrace.capture.locations import Locator
from tapetrace.capture.trace_step import trace_step
from tapetrace.errors import TargetError, UsageError
from tapetrace.model.trace import Trace
from tapetrace.specs import Spec, parse_spec


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step that can be called, and what with. ``model`` is the Keras model that it stands for, if it does; ``notes`` are for the report.

    ``finished`` is the graph in place of a step; ``asked`` are the loss and the variables that the user names, where no gradient call does.
    """

    step: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    name: str
    locator: Locator
    model: Any = None
    notes: tuple[str, ...] = ()
    finished: Finished | None = None
    asked: Asked = NOTHING_NAMED
    keeps_arrays: bool = False
    """Whether an eager run is given arrays as they are, for a step that uses them as such (``state.astype(…)``)."""

    @property
    def has_arrays(self) -> bool:
        """Whether arrays were given to a Python function, which would be called with them as they are outside tapetrace."""
        plain = self.model is None and not isinstance(self.step, private.Function)
        return plain and any(isinstance(v, np.ndarray) for v in tf.nest.flatten((self.args, dict(self.kwargs))))

    @property
    def is_generated(self) -> bool:
        """Whether some argument is known by its spec alone."""
        return has_specs((self.args, dict(self.kwargs)))

    def with_values(self, seed: int = 0) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """The step and its arguments, with values made up where only specs are known. Arrays become tensors, as in a trace, unless they are kept."""
        args, kwargs = fill_in((self.args, dict(self.kwargs)), seed) if self.is_generated else (self.args, self.kwargs)
        if self.keeps_arrays:
            return self.step, tuple(args), dict(kwargs)
        return self.step, tuple(_as_tensors(args)), dict(_as_tensors(kwargs))


def prepare(
    step: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    specs: Sequence[str] | None,
    target: str,
    asked: Asked = NOTHING_NAMED,
    signature: str = "",
) -> Prepared:
    """What ``check`` was given: a function, a ``tf.function``, a compiled Keras model or a finished graph, and its arguments or ``specs`` of them.

    Raises `UsageError` when the arguments do not fit the step, `TargetError` for a file that cannot be loaded.
    """
    name = target or _name(step)
    if isinstance(step, StoredGraph):
        step = stored_model(step) or step
    locator = Locator([] if is_finished(step) or is_loaded(step) or isinstance(step, StoredGraph) else _user_roots(step))
    finished = finished_target(step, name, asked, signature)
    if finished is not None:
        if specs or args or kwargs:
            raise UsageError(f"{name} is a finished graph with inputs of its own: give no arguments, neither --spec nor --args.")
        return Prepared(step, (), {}, name, locator, finished=finished, asked=asked)
    if signature:
        raise UsageError(f"{name} is no SavedModel and has no signature {signature!r}: leave --signature out.")
    if specs:
        positional, named = _from_specs(specs)
        args, kwargs = (*args, *positional), {**kwargs, **named}
    if is_keras_model(step):
        train_step, data = model_step(step, args, kwargs, locator)
        return Prepared(train_step, data, {}, name, locator, step, asked=asked)
    _check_arguments(step, name, args, kwargs)
    return Prepared(step, tuple(args), dict(kwargs), name, locator, asked=asked)


def trace(prepared: Prepared, verify: bool) -> Trace:
    """The facts of one trace of the step, or of a graph that was finished before."""
    if prepared.finished is not None:
        return trace_finished(prepared.finished, prepared.asked, target=prepared.name, locator=prepared.locator, verify=verify)
    found = trace_step(
        prepared.step, prepared.args, prepared.kwargs, target=prepared.name, locator=prepared.locator, verify=verify, asked=prepared.asked
    )
    if prepared.model is not None and all(c.kind == "loss" for c in found.calls) and not prepared.model.trainable_weights:
        told = "set `trainable = True` on the layers to train, then compile"
        raise TargetError(f"{prepared.name} has no trainable weights, so nothing is trained: {told}.")
    return with_model(prepared, found)


def with_model(prepared: Prepared, found: Trace) -> Trace:
    """The trace with what is known of the Keras model whose step it is."""
    if prepared.model is None:
        return found
    before = Before(current_history(), prepared.locator)
    compiled_at = before.compiled_at(prepared.model)
    calls = tuple(replace(c, location=c.location or compiled_at) for c in found.calls)
    return replace(found, compiled_at=compiled_at, building_lines=before.building_lines, calls=calls)


def _as_tensors(values: Any) -> Any:
    return tf.nest.map_structure(lambda v: tf.convert_to_tensor(v) if isinstance(v, np.ndarray) else v, values)


def _name(step: Any) -> str:
    if is_finished(step):
        return str(step.graph.name)
    if is_loaded(step):
        return "the SavedModel"
    own = getattr(step, "__qualname__", "") or getattr(step, "__name__", "") or getattr(step, "name", "")
    return str(own or type(step).__name__)


def _from_specs(specs: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    parsed = [parse_spec(s) if isinstance(s, str) else s for s in specs]
    return [_tensor_spec(s) for s in parsed if not s.name], {s.name: _tensor_spec(s) for s in parsed if s.name}


def _tensor_spec(spec: Spec) -> tf.TensorSpec:
    return tf.TensorSpec(None if spec.shape is None else list(spec.shape), tf.as_dtype(spec.dtype))


def _check_arguments(step: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise `UsageError` when the step cannot be called with these arguments."""
    if isinstance(step, private.Function) and step.input_signature is not None and not args and not kwargs:
        return
    try:
        signature = inspect.signature(getattr(step, "python_function", step))
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        if next(iter(signature.parameters), "") == "self":
            raise UsageError(_without_object(step, name)) from None
        wanted = ", ".join(str(p) for p in signature.parameters.values())
        given = len(args) + len(kwargs)
        raise UsageError(
            f"{name}({wanted}) cannot be called with the {given} argument{'' if given == 1 else 's'} given ({error}): "
            f"give one --spec DTYPE[SHAPE] for each, or --args module:factory."
        ) from None


def _without_object(step: Callable[..., Any], name: str) -> str:
    *_, owner, method = ("", "Model", *str(getattr(step, "python_function", step).__qualname__).split("."))
    return f"{name} is a method without its object: make one, {owner.lower()} = {owner}(…), and name {owner.lower()}.{method} instead."


def _user_roots(step: Any) -> list[str]:
    """Where the user's code lies, although it may be installed: the package, or the file, that the step was defined in."""
    function = getattr(step, "python_function", step)
    module = sys.modules.get(getattr(inspect.unwrap(function) if callable(function) else function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return []
    top = sys.modules.get(module.__name__.partition(".")[0])
    if "." in module.__name__ and getattr(top, "__file__", None):
        return [str(Path(str(top.__file__)).parent)]  # type: ignore[union-attr]
    return [file]

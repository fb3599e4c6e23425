"""A SavedModel from a file: loaded as ``tf.saved_model.load`` does, and nothing in it is run beyond what that does."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from typing import Any

import tensorflow as tf

from tapetrace.capture.finished import Finished, finished_function
from tapetrace.capture.finished_files import StoredGraph
from tapetrace.capture.finished_stacks import saved_stacks
from tapetrace.capture.locations import StackOf
from tapetrace.capture.variables import is_variable
from tapetrace.errors import TargetError, UsageError

SERVING = "serving_default"


def load_saved_model(stored: StoredGraph, signature: str) -> Finished:
    """The function ``signature`` of a SavedModel: one of its signatures, or of its ``tf.function`` attributes.

    Without a name: ``serving_default``, or the only signature. Raises `TargetError` for a folder that cannot be loaded, `UsageError` for a name
    that it does not hold.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = tf.saved_model.load(str(stored.path))
    except Exception as error:  # whatever is wrong with the file
        told = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise TargetError(f"{stored.path} cannot be loaded as a SavedModel ({type(error).__name__}: {told[:200]}), save it again") from error
    return saved_function(loaded, signature or stored.signature, str(stored.path), saved_stacks(stored.path))


def is_loaded(value: Any) -> bool:
    """Whether ``value`` is what ``tf.saved_model.load`` gave."""
    return hasattr(value, "signatures") and hasattr(value, "tensorflow_version")


def saved_function(loaded: Any, signature: str, path: str, stack_of: StackOf | None = None) -> Finished:
    """The function ``signature`` of a SavedModel that is loaded already; ``path`` names it. Raises `UsageError` as `load_saved_model` does."""
    function, notes = _choose(loaded, signature, path)
    return finished_function(function, path, _variables_of(loaded), notes, stack_of)


def _choose(loaded: Any, name: str, path: str) -> tuple[Any, tuple[str, ...]]:
    signatures = dict(getattr(loaded, "signatures", {}))
    functions = _functions_of(loaded)
    if not name:
        if SERVING in signatures or len(signatures) == 1:
            return signatures.get(SERVING) or next(iter(signatures.values())), ()
        what = "has several signatures" if signatures else "has no signature"
        known = list(dict.fromkeys((*signatures, *functions)))
        does = f", name a function of it with --signature: {', '.join(known)}" if known else " and no function, save it with a tf.function"
        raise UsageError(f"{path} {what}{does}")
    if name in signatures:
        return signatures[name], ()
    if name in functions:
        traces = functions[name]
        others = f"{name} was saved with {len(traces)} traces, of which the first was taken: {traces[0].pretty_printed_signature(verbose=False)}"
        return traces[0], (others,) if len(traces) > 1 else ()
    known = list(dict.fromkeys((*signatures, *functions)))
    near = get_close_matches(name, known, n=3) or known
    does = f", did you mean {' or '.join(near)}?" if near else ": it has none at all"
    raise UsageError(f"{path} has no signature or function {name!r}{does}")


def _functions_of(loaded: Any) -> dict[str, list[Any]]:
    """The traces of each function that the object holds, by the name of its attribute."""
    children = tf.train.TrackableView(loaded).children(loaded)
    found = {name: list(getattr(value, "concrete_functions", ())) for name, value in children.items() if name != "signatures"}
    return {name: traces for name, traces in found.items() if traces}


def _variables_of(loaded: Any) -> list[Any]:
    """The trainable variables of the object: those that it lists itself, as Keras models do, or all that it holds."""
    listed = getattr(loaded, "trainable_variables", None)
    if isinstance(listed, (list, tuple)):
        return [v for v in listed if is_variable(v)]
    return [v for v in tf.train.TrackableView(loaded).descendants() if is_variable(v) and v.trainable]

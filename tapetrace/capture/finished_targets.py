"""What is given to ``check`` in place of a step: a concrete function, a loaded SavedModel, or the file of a graph or model."""

from __future__ import annotations

from typing import Any
from zipfile import is_zipfile

import tensorflow as tf

from tapetrace.capture.finished import Finished, finished_function, is_finished
from tapetrace.capture.finished_choice import Asked
from tapetrace.capture.finished_files import Storage, StoredGraph
from tapetrace.capture.finished_graph_def import load_graph_def
from tapetrace.capture.finished_saved_model import is_loaded, load_saved_model, saved_function
from tapetrace.errors import TargetError, UsageError


def finished_target(value: Any, name: str, asked: Asked, signature: str) -> Finished | None:
    """The finished graph that ``value`` is or names; None for a step. Raises `UsageError` and `TargetError` as the loaders do."""
    if is_finished(value):
        if signature:
            raise UsageError(f"{name} is one function, not a SavedModel with a signature {signature!r}: leave --signature out.")
        return finished_function(value, name)
    if is_loaded(value):
        return saved_function(value, signature, name)
    if not isinstance(value, StoredGraph):
        return None
    if value.storage is Storage.SAVED_MODEL:
        return load_saved_model(value, signature)
    if signature:
        raise UsageError(f"{name} is a {value.storage.value} and has no signature {signature!r}: leave --signature out.")
    return load_graph_def(value, asked)


def stored_model(stored: StoredGraph) -> Any:
    """The Keras model in a ``.keras`` file, None for another kind of file. Raises `TargetError` when Keras cannot load it."""
    if stored.storage is not Storage.KERAS:
        return None
    if not is_zipfile(stored.path):
        raise TargetError(f"{stored.text} is no Keras model, or it is cut short: write it again with model.save")
    try:
        return tf.keras.models.load_model(str(stored.path))  # of tf_keras where TF_USE_LEGACY_KERAS says so
    except Exception as error:  # no archive, a class that is not imported, code that safe mode refuses
        told = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise TargetError(
            f"Keras cannot load {stored.text} ({type(error).__name__}: {told[:200]}): name the model in your code instead, pkg.train:model"
        ) from error

"""Targets that are files: a SavedModel, a GraphDef, or a saved Keras model. Pure names and paths; TensorFlow is not imported here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tapetrace.errors import TargetError

_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
_SUFFIXES = (".pb", ".pbtxt", ".keras")


class Storage(str, Enum):
    """How a graph is stored."""

    SAVED_MODEL = "SavedModel"
    """A folder that ``tf.saved_model.save`` or ``model.export`` wrote."""
    GRAPH_DEF = "GraphDef"
    """A file that ``tf.io.write_graph`` wrote, binary or text."""
    KERAS = "Keras model"
    """A file that ``model.save`` wrote."""


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A target that is a file; ``text`` is what was typed, ``signature`` the function of a SavedModel that it names, if any."""

    text: str
    path: Path
    storage: Storage
    signature: str = ""


def stored_graph(text: str) -> StoredGraph | None:
    """What ``text`` (``path/to/saved_model``, ``path/to/saved_model:signature``, ``graph.pb``, ``model.keras``) names; None for any other target.

    Raises `TargetError` for a folder without a SavedModel and for a file of that kind which is not there.
    """
    whole = Path(os.path.expanduser(text.strip()))
    if text.strip() and whole.is_dir():
        if not _holds_saved_model(whole):
            raise TargetError(f"the folder {text} holds no saved_model.pb: give the folder of a SavedModel, or a function, path/train.py:train_step")
        return StoredGraph(text, whole, Storage.SAVED_MODEL)
    if whole.suffix in _SUFFIXES and (whole.is_file() or ":" not in whole.name):
        if not whole.is_file():
            raise TargetError(f"there is no file {text}, the current folder is {Path.cwd()}")
        return _of_file(text, whole)
    before, colon, name = text.strip().rpartition(":")
    named = Path(os.path.expanduser(before))
    if not colon or not before or not name:
        return None
    if named.is_dir() and _holds_saved_model(named):
        return StoredGraph(text, named, Storage.SAVED_MODEL, name)
    if named.suffix in _SUFFIXES and named.is_file():
        found = _of_file(text, named)
        if found.storage is not Storage.SAVED_MODEL:
            raise TargetError(f"{before} is a {found.storage.value}, which has no {name!r}: give {before} alone")
        return StoredGraph(text, found.path, found.storage, name)
    return None


def _holds_saved_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _SAVED_MODEL)


def _of_file(text: str, file: Path) -> StoredGraph:
    if file.name in _SAVED_MODEL:
        return StoredGraph(text, file.parent, Storage.SAVED_MODEL)
    return StoredGraph(text, file, Storage.KERAS if file.suffix == ".keras" else Storage.GRAPH_DEF)

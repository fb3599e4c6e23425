"""Whose code a file is: the user's, tapetrace's own, a library's, or machinery that nobody wants to read about."""

from __future__ import annotations

import os
import sys
import sysconfig
from enum import Enum
from functools import lru_cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Origin(Enum):
    """Whose code a file is."""

    USER = "user"
    """Written by the person who asks, or a package of theirs."""
    TAPETRACE = "tapetrace"
    """tapetrace itself."""
    LIBRARY = "library"
    """An installed package: what a line of the user's called."""
    WRAPPER = "wrapper"
    """Generated one-to-one wrappers of ops in TensorFlow: a library, but the last one to name."""
    MACHINERY = "machinery"
    """The standard library, generated code, and the parts of TensorFlow and Keras that every op passes through."""


_OURS = str(Path(__file__).parents[1]) + os.sep
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras")
_MACHINERY = (
    "tensorflow/python/autograph/",
    "tensorflow/python/eager/",
    "tensorflow/python/framework/",
    "tensorflow/python/util/",
    "tensorflow/python/ops/weak_tensor_ops.py",
    "tensorflow/core/",
    "keras/src/backend/tensorflow/",
    "keras/src/utils/traceback_utils.py",
)
_TYPED_IN = ("<stdin>", "<string>", "<ipython", "<python-input", "<console>", "<input>", "<doctest", "<cell")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Origins:
    """Answers whose code a file is, looking at each file once.

    ``user_roots`` are folders and files that count as the user's although they are installed, such as the package of the step.
    TensorFlow, Keras and tapetrace never count as the user's.
    """

    def __init__(self, user_roots: Iterable[str | Path] = ()) -> None:
        self._roots = tuple(path for root in user_roots for path in _spellings(str(root)))
        self._known: dict[str, Origin] = {}

    def origin(self, file: str) -> Origin:
        """Whose code ``file`` is; ``file`` is what Python names in a stack, a pseudo file such as ``<stdin>`` included."""
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = self._look(file)
        return known

    def _look(self, file: str) -> Origin:
        if file.startswith("<"):
            return Origin.USER if file.startswith(_TYPED_IN) else Origin.MACHINERY
        if "__autograph_generated_file" in file:
            return Origin.MACHINERY
        paths = _spellings(file)
        if any(p.startswith(_OURS) for p in paths):
            return Origin.TAPETRACE
        for name, folder in framework_folders():
            for path in paths:
                if path.startswith(folder):
                    return _inside_framework(f"{name}/{path[len(folder) :].replace(os.sep, '/')}")
        for root in self._roots:
            for path in paths:
                # An environment that lies inside the user's folder is still not the user's.
                if path == root or (path.startswith(root + os.sep) and not _is_installed(path, below=root)):
                    return Origin.USER
        if any(_is_installed(p) for p in paths):
            return Origin.LIBRARY
        if any(p.startswith(_standard_library()) for p in paths):
            return Origin.MACHINERY
        return Origin.USER


def _inside_framework(path: str) -> Origin:
    if path.startswith(_MACHINERY):
        return Origin.MACHINERY
    return Origin.WRAPPER if "/gen_" in path else Origin.LIBRARY


def _is_installed(path: str, below: str = "") -> bool:
    """Whether a package was installed in some folder below ``below`` and ``path`` belongs to it."""
    return not _INSTALLED.isdisjoint(Path(path[len(below) :]).parts) or len(_recorded(path)) > len(below)


def _recorded(path: str) -> str:
    """The package or module that ``path`` belongs to, when ``pip install --target`` put it in a folder on ``sys.path``; otherwise empty."""
    for entry in sys.path:
        for folder in _spellings(entry):
            if path.startswith(folder + os.sep) and (name := path[len(folder) + 1 :].partition(os.sep)[0]) in _recorded_in(folder):
                return os.path.join(folder, name)
    return ""


@lru_cache(maxsize=256)
def _recorded_in(folder: str) -> frozenset[str]:
    """Names in ``folder`` that the ``RECORD`` of a distribution there lists (packaging.python.org, "Recording installed projects")."""
    records = [distribution.read_text("RECORD") or "" for distribution in distributions(path=[folder])]
    return frozenset(os.path.normcase(line.partition("/")[0].partition(",")[0]) for record in records for line in record.splitlines())


def _spellings(path: str) -> tuple[str, ...]:
    """The absolute path as it is written and with links followed, in the case that the system compares."""
    absolute = os.path.normcase(os.path.abspath(path))  # Path.resolve would follow links
    real = os.path.normcase(os.path.realpath(path))
    return (absolute,) if absolute == real else (absolute, real)


@lru_cache(maxsize=1)
def _standard_library() -> tuple[str, ...]:
    """Folders of the standard library and of the scripts that start programs (``bin/pytest``)."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "scripts")}
    return tuple(path + os.sep for folder in sorted(folders) for path in _spellings(folder))


@lru_cache(maxsize=1)
def framework_folders() -> tuple[tuple[str, str], ...]:
    """(name, folder with a separator at its end) of TensorFlow and the Kerases installed here, without importing them."""
    found = []
    for name in _FRAMEWORKS:
        try:
            spec = find_spec(name)
        except ValueError:  # a module without a spec was put in its place
            continue
        for folder in (spec and spec.submodule_search_locations) or ():
            found += [(name, path + os.sep) for path in _spellings(folder)]
    return tuple(found)

"""Whether tapetrace can work with the TensorFlow and Keras that are installed here."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tapetrace.errors import InstallationError

OLDEST = (2, 16)
"""The oldest TensorFlow that tapetrace was tried with."""

_MISSING = 'TensorFlow is not installed for this Python ({python}), install it with: pip install "tapetrace[tensorflow]"'


def quiet_tensorflow() -> None:
    """Keep TensorFlow's start-up messages off the terminal, unless the user chose a level. Must run before TensorFlow is imported."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def require_installed() -> None:
    """Raise `InstallationError` when TensorFlow is missing, without importing it.

    The user's module is imported after this and may still set what TensorFlow and Keras read from the environment.
    """
    try:
        found = "tensorflow" in sys.modules or find_spec("tensorflow") is not None
    except ValueError:  # an entry in sys.modules without a spec
        found = True
    if not found:
        raise InstallationError(_MISSING.format(python=sys.executable))


def require_tensorflow() -> str:
    """The version of TensorFlow, imported now.

    Raises `InstallationError` when it is missing, cannot be imported, is older than 2.16, or when Keras runs on another backend.
    """
    require_installed()
    try:
        tensorflow = import_module("tensorflow")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
            raise InstallationError(_MISSING.format(python=sys.executable)) from error
        reason = str(error).strip().split("\n")[0]
        raise InstallationError(f"TensorFlow is installed but cannot be imported ({reason}), see: {sys.executable} -c 'import tensorflow'") from error
    version = _version(tensorflow)
    _require_tensorflow_backend()
    return version


def keras_version() -> str:
    """The version of the Keras that was imported, ``tf_keras`` only if it is the only one; empty when there is none."""
    for name in ("keras", "tf_keras"):
        version = getattr(sys.modules.get(name), "__version__", "")
        if version:
            return str(version)
    return ""


def _version(tensorflow: Any) -> str:
    version = getattr(tensorflow, "__version__", None)
    if not isinstance(version, str):
        where = getattr(tensorflow, "__file__", None) or ", ".join(getattr(tensorflow, "__path__", ()))
        raise InstallationError(f"{where} is imported in place of TensorFlow, rename it or run from another folder")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise InstallationError(f'TensorFlow {version} is too old, tapetrace needs 2.16 or newer: pip install -U "tensorflow>=2.16"')
    return version


def _require_tensorflow_backend() -> None:
    keras = sys.modules.get("keras")
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    if keras is not None and hasattr(keras, "backend"):
        backend = str(keras.backend.backend())
    if backend != "tensorflow":
        source = "KERAS_BACKEND is set to it" if os.environ.get("KERAS_BACKEND") == backend else "as keras.json says"
        raise InstallationError(f"Keras runs on {backend} here ({source}) and GradientTape sees nothing of it, set KERAS_BACKEND=tensorflow")

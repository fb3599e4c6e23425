"""What a report that is handed to others need not tell: lines of code, and where on a disk the project lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_LIBRARIES = ("site-packages", "dist-packages")


def short_path(file: str) -> str:
    """A path as short as it can be: relative when it lies below the working directory, from ``site-packages`` on when a library owns it.

    >>> short_path("/home/me/.venv/lib/python3.11/site-packages/keras/src/layers/layer.py")
    'keras/src/layers/layer.py'
    """
    for mark in _LIBRARIES:
        head, found, tail = file.replace("\\", "/").rpartition(f"/{mark}/")
        if found and head:
            return tail
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


def short_target(target: str) -> str:
    """A target such as ``/home/me/train.py:step`` with its path shortened; ``pkg.module:function`` stays."""
    file, colon, function = target.rpartition(":")
    return f"{short_path(file)}:{function}" if colon and file.endswith(".py") else target


def without_source(data: Any) -> Any:
    """Plain data with every ``code`` empty and every ``file`` and ``target`` short."""
    if isinstance(data, dict):
        return {key: _hidden(key, value) for key, value in data.items()}
    return [without_source(item) for item in data] if isinstance(data, list) else data


def _hidden(key: str, value: Any) -> Any:
    if isinstance(value, str):
        hide = {"code": lambda text: "", "file": short_path, "target": short_target}.get(key)
        return hide(value) if hide else value
    return without_source(value)

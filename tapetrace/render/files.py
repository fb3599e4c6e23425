"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tapetrace.errors import OutputError


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``; a file that is there is replaced only when the new one is complete.

    Links are followed and the permissions of the old file are kept; a device or pipe (``/dev/stdout``) is written to directly. Raises `OutputError`.
    """
    try:
        real = Path(os.path.realpath(path))
        if real.exists() and not real.is_file() and not real.is_dir():
            real.write_bytes(data)
            return
        if real.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        _replace(real, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(
            f"cannot write {str(path)!r} ({reason}): give the path of a file in a folder that exists and that you may write to"
        ) from error


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=".tapetrace-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, or those that a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

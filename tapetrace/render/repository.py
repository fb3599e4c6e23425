"""Paths as a code host wants them: relative to the root of the repository, with forward slashes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote


def current_folder() -> Path:
    """The working directory; when it was deleted an empty path, below which nothing lies that has a whole path."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def repository_root() -> Path:
    """The folder at or above the working directory that holds ``.git``; the working directory itself if there is none."""
    here = current_folder()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def path_in_repository(file: str, root: Path) -> str | None:
    """The path of ``file`` from ``root``; None when it lies elsewhere, or is no file at all (``<stdin>``, a notebook cell)."""
    if file.startswith("<") or not file:
        return None
    path = Path(file)
    whole = path if path.is_absolute() else current_folder() / path
    try:
        return whole.relative_to(root).as_posix()
    except ValueError:
        return None


def uri_of(file: str, root: Path) -> tuple[str, bool]:
    """The URI of ``file`` and whether it is relative to ``root``. What is no file becomes a relative URI of its name."""
    inside = path_in_repository(file, root)
    if inside is not None:
        return _quoted(inside), True
    path = Path(file)
    return (path.as_uri(), False) if path.is_absolute() else (_quoted(file), True)


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogatepass"), safe="/~!$&'()*+,;=@-._")

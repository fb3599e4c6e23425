"""Where reports are to be written, looked at before the minutes of work that come first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from tapetrace.errors import OutputError

SUFFIXES = (".svg", ".pdf", ".png", ".dot", ".html", ".json", ".sarif", ".md", ".txt", ".graphml", ".gexf")
"""Suffixes that name a format of a report."""


def check_destinations(files: Iterable[Path]) -> None:
    """Raise `OutputError` for the first of ``files`` whose suffix names no format or that cannot be written; creates nothing."""
    for file in files:
        _check_suffix(file)
        check_folder(file)


def check_folder(file: Path) -> None:
    """Raise `OutputError` when ``file`` cannot be written, whatever its suffix; creates nothing."""
    try:
        _check_folder(file)
    except OSError as error:  # a name that is too long, for one
        raise OutputError(f"{str(file)[:80]!r} cannot be written ({error.strerror}): give another name") from None


def _check_folder(file: Path) -> None:
    folder = file.parent
    if not folder.is_dir():
        raise OutputError(f"{file} cannot be written, there is no folder {folder}: mkdir -p {folder}")
    if file.is_dir():
        raise OutputError(f"{file} cannot be written, it is a folder: give another name")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise OutputError(f"{file} cannot be written, you have no permission for {file if file.exists() else folder}: choose another folder")


def companions(file: Path) -> list[Path]:
    """The files that are written beside ``file``: a graph for Model Explorer comes with its node data."""
    from tapetrace.render.graph_files import is_graph_file, status_file

    return [status_file(file)] if is_graph_file(file) and file.suffix.lower() == ".json" else []


def _check_suffix(file: Path) -> None:
    suffix = file.suffix.lower()
    if suffix in SUFFIXES:
        return
    near = get_close_matches(suffix, SUFFIXES, n=1) if suffix else []
    advice = f"did you mean {file.with_suffix(near[0])}?" if near else f"end it in one of {' '.join(SUFFIXES)}"
    raise OutputError(f"the suffix of {str(file)!r} names no format, {advice}")

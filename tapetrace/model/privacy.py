"""What a report that is handed to others need not tell: lines of code, and where on a disk the project lies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

_WRITTEN = ("code", "written")
"""Keys under which the user's own words stand."""

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


def last_parts(files: Iterable[str]) -> dict[str, str]:
    """For each file as few of the last parts of its path as tell it from the others.

    >>> last_parts(["/x/a/model.py", "/x/b/model.py", "/x/b/loss.py"])
    {'/x/a/model.py': 'a/model.py', '/x/b/model.py': 'b/model.py', '/x/b/loss.py': 'loss.py'}
    """
    parts = {file: [p for p in file.replace("\\", "/").split("/") if p] for file in files}
    tails = Counter("/".join(path[-n:]) for path in parts.values() for n in range(1, len(path) + 1))
    return {file: next((t for n in range(1, len(path)) if tails[t := "/".join(path[-n:])] == 1), "/".join(path)) for file, path in parts.items()}


def without_source(data: Any) -> Any:
    """Plain data with nothing of the user's code and no whole path (see `with_short_paths`)."""
    return _without_code(with_short_paths(data))


def with_short_paths(data: Any) -> Any:
    """Plain data with no whole path: files are named from the working directory, or from the folder of the target."""
    strings = list(_strings("", data))
    folders = _folders(text for key, text in strings if key == "target")
    files = {text: _below(text, folders) for key, text in strings if key == "file"}
    elsewhere = last_parts(file for file, name in files.items() if _is_whole(name))
    names = {**files, **elsewhere}
    spots = sorted({file: name for file, name in names.items() if _is_whole(file)}.items(), key=lambda spot: -len(spot[0]))
    return _hidden("", data, names, [*spots, *((f"{folder}{os.sep}", "") for folder in folders), *_home()])


def _strings(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """All strings of plain data with the key that each stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _strings(inner, item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(key, item)


def _folders(targets: Iterable[str]) -> list[Path]:
    """The folders that paths may be told from: the working directory and those of the targets that are files."""
    try:
        here = Path.cwd()
    except OSError:
        here = Path()
    files = [file for target in targets for file in (target, target.rpartition(":")[0]) if "/" in file or file.endswith(".py")]
    found = [here, *(Path(os.path.normpath(here / file)).parent for file in files)]
    return [folder for folder in dict.fromkeys(found) if len(folder.parts) > 1]


def _below(file: str, folders: Iterable[Path]) -> str:
    short = short_path(file)
    return next((str(PurePath(short).relative_to(f)) for f in folders if PurePath(short).is_relative_to(f)), short)


def _is_whole(file: str) -> bool:
    return PurePath(file).is_absolute() or file[1:3] in (":\\", ":/")


def _home() -> list[tuple[str, str]]:
    home = os.path.expanduser("~")
    return [(f"{home}{os.sep}", f"~{os.sep}")] if len(Path(home).parts) > 1 else []


def _hidden(key: str, value: Any, names: Mapping[str, str], spots: list[tuple[str, str]]) -> Any:
    if isinstance(value, dict):
        return {inner: _hidden(inner, item, names, spots) for inner, item in value.items()}
    if isinstance(value, list):
        return [_hidden(key, item, names, spots) for item in value]
    if not isinstance(value, str):
        return value
    if key == "file":
        return names[value]
    if os.sep not in value:
        return value
    for whole, short in spots:
        value = value.replace(whole, short)
    return PurePath(value).name if key == "target" and _is_whole(value) else value


def _without_code(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "" if key in _WRITTEN else _without_code(item) for key, item in value.items()}
    return [_without_code(item) for item in value] if isinstance(value, list) else value

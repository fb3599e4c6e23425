"""Settings of the command line: what is typed wins over the environment (``TAPETRACE_*``), and that over ``[tool.tapetrace]`` in pyproject.toml."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any

from tapetrace.errors import UsageError

PREFIX = "TAPETRACE_"


class Format(str, Enum):
    """What is printed on standard output."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    MARKDOWN = "markdown"
    GITHUB = "github"


class Mode(str, Enum):
    """How the step is run: traced as a graph, run eagerly, or the first and, if that fails, the second."""

    AUTO = "auto"
    GRAPH = "graph"
    EAGER = "eager"


class Detail(str, Enum):
    """What a box of the picture stands for."""

    LINE = "line"
    OPS = "ops"
    LAYERS = "layers"


class Color(str, Enum):
    """When the text is coloured; ``auto``: on a terminal, unless ``NO_COLOR`` is set."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Settings:
    """One value for each setting.

    ``quick`` does not build the backward pass, ``numeric`` also runs it, ``source`` lets lines of the user's code into the report.
    """

    format: Format = Format.TEXT
    mode: Mode = Mode.AUTO
    detail: Detail = Detail.LINE
    color: Color = Color.AUTO
    quick: bool = False
    numeric: bool = False
    source: bool = True


_KINDS: Mapping[str, type[Enum] | type[bool]] = {f.name: type(f.default) for f in fields(Settings)}
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def resolve(typed: Mapping[str, Any], environment: Mapping[str, str], folder: Path) -> Settings:
    """The settings that apply in ``folder``. ``typed`` holds what the command line gives, None for what it does not.

    Raises `UsageError`, which names the place of the value, for a setting that does not exist and a value that it cannot have.
    """
    values = read_pyproject(folder)
    for name in _KINDS:
        text = environment.get(PREFIX + name.upper(), "").strip()
        if text:
            values[name] = _from_text(name, text)
    values |= {name: value for name, value in typed.items() if value is not None}
    return Settings(**values)


def read_pyproject(folder: Path) -> dict[str, Any]:
    """What ``[tool.tapetrace]`` says in the nearest pyproject.toml that has such a table, ``folder`` and the folders around it searched."""
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        table = _table(file) if file.is_file() else None
        if table is not None:
            return {name: _from_file(file, name, value) for name, value in table.items()}
    return {}


def is_true(text: str) -> bool:
    """Whether the value of an environment variable switches something on."""
    return text.strip().lower() in _TRUE


def _table(file: Path) -> dict[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("tapetrace")
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{file} cannot be read as TOML ({error}), correct it") from None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"tool.tapetrace in {file} is not a table, write [tool.tapetrace] on a line of its own")
    return table


def _from_file(file: Path, name: str, value: Any) -> Any:
    place = f"{name!r} in [tool.tapetrace] of {file}"
    kind = _KINDS.get(name)
    if kind is None:
        near = get_close_matches(name, _KINDS, n=1)
        raise UsageError(f"{place} is not a setting, " + (f"did you mean {near[0]}?" if near else f"the settings are {', '.join(_KINDS)}"))
    if kind is bool:
        if not isinstance(value, bool):
            raise UsageError(f"{place} is {value!r}, write true or false")
        return value
    return _choice(place, kind, value)


def _from_text(name: str, text: str) -> Any:
    place = PREFIX + name.upper()
    kind = _KINDS[name]
    if kind is bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise UsageError(f"the environment variable {place} is {text!r}, set it to 1 or 0")
        return text.lower() in _TRUE
    return _choice(f"the environment variable {place}", kind, text)


def _choice(place: str, kind: Any, value: Any) -> Any:
    allowed = [member.value for member in kind]
    if value not in allowed:
        raise UsageError(f"{place} is {value!r}, it can be {', '.join(allowed)}")
    return kind(value)

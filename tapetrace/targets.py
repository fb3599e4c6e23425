"""Targets, ``pkg.module:function`` or ``path/file.py:function``, and the arguments that a step is called with.

TensorFlow is not imported here; the user's module may do so.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from tapetrace.capture.finished_files import stored_graph
from tapetrace.errors import TargetError, UsageError
from tapetrace.importing import import_file, import_name, user_code

EXAMPLE = "pkg.train:train_step or path/train.py:train_step"

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of one call of the step."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a target names.

    ``attribute`` is the dotted name inside the module, ``file`` is None for a module without a file, ``value`` is the function or model itself.
    """

    text: str
    module_name: str
    file: str | None
    attribute: str
    value: Any

    @property
    def user_root(self) -> str | None:
        """The folder of the top-level package that the module lies in, or the file of a module that is in no package: what is the user's own."""
        if self.file is None:
            return None
        root = Path(self.file)
        depth = self.module_name.count(".") + (root.name == "__init__.py")
        return str(root.parents[depth - 1] if depth else root)


def load_target(text: str) -> Target:
    """The function, ``tf.function`` or Keras model that ``text`` names, its module imported; for a file of a graph a `StoredGraph`.

    The current directory is importable as with ``python -m``; for a file its own folder is, as when it is run. Raises `UsageError` when ``text``
    cannot be understood and `TargetError` when there is no such thing or importing it fails.
    """
    stored = stored_graph(text)
    if stored is not None:
        return Target(text, "", str(stored.path), "", stored)
    target = _load(text, "target")
    if not callable(target.value) or isinstance(target.value, type):
        functions = _functions_of(sys.modules.get(target.module_name))
        example = f", for example {text.rpartition(':')[0]}:{functions[0]}" if functions else ""
        raise TargetError(f"{text} is {_kind(target.value)}, name a function or a compiled Keras model instead{example}")
    return target


def load_arguments(text: str) -> Arguments:
    """The first set of arguments that ``text``, written like a target, gives; see `argument_sets`."""
    for arguments in argument_sets(text):
        return arguments
    raise TargetError(f"{text} gives no arguments: it is empty, let it hold at least one batch")


def argument_sets(text: str) -> Iterator[Arguments]:
    """The sets of arguments, one after the other, that the value named by ``text`` gives.

    A tuple or list holds the positional arguments, a dict the keyword arguments, anything else is the only argument. A ``tf.data.Dataset``, a
    generator or another iterator gives a set with each element (a tuple holds positional arguments, anything else is the only one, as in
    ``for x, y in dataset: step(x, y)``). A function is called without arguments and gives any of these. Raises as `load_target` does.
    """
    value = _load(text, "--args").value
    if isinstance(value, type):
        raise TargetError(f"{text} is {_kind(value)}, name a function or a value that gives the arguments of the step")
    if callable(value):
        value = _call(text, value)
    if value is None:
        raise TargetError(f"{text} gives None, let it return the arguments of the step as a tuple or a dict")
    if not _is_stream(value):
        yield _arguments_of(value)
        return
    elements = iter(value)
    while True:
        with user_code(f"{text} failed when it was asked for a batch: {{error}}"):
            batch = list(islice(elements, 1))
        if not batch:
            return
        yield tuple(batch[0]) if isinstance(batch[0], tuple) else (batch[0],), {}


def _arguments_of(value: Any) -> Arguments:
    if isinstance(value, (tuple, list)):
        return tuple(value), {}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return (), dict(value)
    return (value,), {}


def _is_stream(value: Any) -> bool:
    # A dataset iterates over its elements, as a tensor does over its rows; only the former knows the spec of an element.
    return isinstance(value, Iterator) or (hasattr(value, "element_spec") and hasattr(value, "__iter__"))


def _call(text: str, function: Any) -> Any:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise TargetError(f"{text} cannot be called without arguments ({error}), let it take none and return those of the step") from None
    except ValueError:  # a built-in without a signature
        pass
    with user_code(f"{text} failed when it was called for the arguments: {{error}}"):
        return function()


def _load(text: str, what: str) -> Target:
    module_text, attribute = _split(text, what)
    is_file = module_text.endswith((".py", ".ipynb")) or "/" in module_text or "\\" in module_text
    module = import_file(module_text, text) if is_file else import_name(module_text, text)
    file = getattr(module, "__file__", None)
    return Target(text, module.__name__, file, attribute, _attribute(text, module, attribute))


def _split(text: str, what: str) -> tuple[str, str]:
    """Module or path, and dotted attribute. The last colon counts, since a Windows path has one after its drive."""
    module, colon, attribute = text.strip().rpartition(":")
    drive_only = len(module) == 1 and attribute[:1] in ("\\", "/")
    if not colon or drive_only:
        whole = text.strip()
        raise UsageError(f"the {what} {whole!r} names no function, write it after a colon: {whole or 'pkg.train'}:train_step")
    if not module:
        raise UsageError(f"the {what} {text!r} names no module, write it before the colon: {EXAMPLE}")
    if module.endswith(":"):
        raise UsageError(f"the {what} {text!r} has two colons, write one: {module.rstrip(':')}:{attribute}")
    if not attribute or not all(part.isidentifier() for part in attribute.split(".")):
        raise UsageError(f"{attribute!r} in the {what} {text!r} is not the name of a function, write for example {module}:train_step")
    return module, attribute


def _attribute(text: str, module: ModuleType, attribute: str) -> Any:
    value: Any = module
    path = module.__name__
    for name in attribute.split("."):
        with user_code(f"reading {path}.{name} failed: {{error}}"):
            try:
                value = getattr(value, name)
            except AttributeError:
                raise TargetError(f"{path}{_elsewhere(value)} has no {name!r}{_near(name, value)}") from None
        path += f".{name}"
    return value


def _elsewhere(owner: Any) -> str:
    """The file of a module that does not lie in the current directory: it may not be the one that the user means."""
    file = getattr(owner, "__file__", None) if isinstance(owner, ModuleType) else None
    return f" ({file})" if file and not Path(file).is_relative_to(Path.cwd()) else ""


def _near(name: str, owner: Any) -> str:
    near = get_close_matches(name, [n for n in dir(owner) if not n.startswith("__")], n=3)
    if near:
        return f", did you mean {' or '.join(near)}?"
    functions = _functions_of(owner)
    return f", its functions are {', '.join(functions)}" if functions else ", look for the name in its source"


def _functions_of(owner: Any) -> list[str]:
    """Names of the functions that a module itself defines, in the order of its file, eight at the most."""
    if not isinstance(owner, ModuleType):
        return []
    own = [n for n, v in vars(owner).items() if callable(v) and not isinstance(v, type) and getattr(v, "__module__", None) == owner.__name__]
    return [n for n in own if not n.startswith("_")][:8]


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"

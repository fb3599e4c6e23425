"""Importing the user's module, by name or by file, and what is said when their code raises."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType, TracebackType

from tapetrace.errors import TargetError

_OURS = str(Path(__file__).parent) + os.sep
_IMPORT_SYSTEM = ("<frozen importlib", str(Path(importlib.__file__).parent) + os.sep)
_SKIPPED_FOLDERS = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__", "venv", "env", "build", "dist"})
_SEARCHED_FILES = 2000


class UserCodeRaised(TargetError):
    """The user's own code raised while it was imported or asked for arguments.

    ``user_traceback`` is Python's text of what happened, without the frames of tapetrace and of the import system.
    """

    def __init__(self, message: str, user_traceback: str) -> None:
        super().__init__(message)
        self.user_traceback = user_traceback


@contextlib.contextmanager
def user_code(sentence: str) -> Iterator[None]:
    """Turn whatever the user's code raises inside, ``sys.exit()`` and Ctrl-C included, into `UserCodeRaised`.

    ``{error}`` in ``sentence`` becomes the error and its line. A `TargetError` goes through.
    """
    try:
        yield
    except TargetError:
        raise
    except BaseException as error:
        raise UserCodeRaised(sentence.replace("{error}", _describe(error)), _text(error)) from error


def import_name(name: str, text: str) -> ModuleType:
    """The module ``name``; the current directory is importable, as with ``python -m``. ``text`` is the whole target, for messages."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise TargetError(f"{name!r} in {text!r} is neither the name of a module nor a .py file{_suggest_module(name, text)}")
    _make_importable(_current_folder())
    return _import(name, name, text)


def import_file(file: str, text: str) -> ModuleType:
    """The module in ``file``; its folder is importable, as when the file is run. A module imported from it before is used again."""
    if not os.path.isabs(file):
        _current_folder()
    path = Path(os.path.abspath(os.path.expanduser(file)))  # not resolved: a link keeps its own folder
    if path.is_dir():
        raise TargetError(f"{file} in {text!r} is a folder, name a .py file in it")
    if not path.is_file():
        raise TargetError(f"there is no file {file}{_suggest_file(path, text)}")
    if path.suffix != ".py":
        hint = "call tapetrace.check(step, ...) in a cell" if path.suffix == ".ipynb" else "name a file that ends in .py"
        raise TargetError(f"{file} in {text!r} is not a Python file, {hint}")
    known = _imported_from(path)
    if known is not None:
        return known
    package = _package_of(path.parent)
    if package:
        # Its relative imports work, and `pkg.module` elsewhere is the same module.
        _make_importable(path.parents[len(package)])
        _make_importable(path.parent, last=True)
        if _finds(package[0], path.parents[len(package) - 1]):
            return _import(".".join(package if path.stem == "__init__" else [*package, path.stem]), file, text)
    _make_importable(path.parent)
    return _execute(path, file)


def _import(name: str, shown: str, text: str) -> ModuleType:
    with _importing(shown):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if not (name == missing or name.startswith(missing + ".")) or _user_frames(error.__traceback__):
                raise
            raise TargetError(f"there is no module {missing!r} here{_suggest_module(name, text)}") from None


def _execute(path: Path, shown: str) -> ModuleType:
    name = re.sub(r"\W", "_", path.stem)
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"_target_{name}"  # a user's random.py must not become the random of everybody
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # the suffix is .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importing(shown):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return sys.modules.get(name, module)


@contextlib.contextmanager
def _importing(shown: str) -> Iterator[None]:
    """A module that reads ``sys.argv`` when it is imported finds what it would find when run without arguments."""
    argv = sys.argv
    sys.argv = [shown]
    try:
        with user_code(f"{shown} cannot be imported: {{error}}; mend that and try again"):
            yield
    finally:
        sys.argv = argv


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise TargetError("the current folder has been deleted, go to one that exists (cd) and try again") from None


def _make_importable(folder: Path, last: bool = False) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(len(sys.path) if last else 0, str(folder))
        importlib.invalidate_caches()


def _imported_from(path: Path) -> ModuleType | None:
    for module in list(sys.modules.values()):
        # Read past `getattr`, which would load the modules that some packages load only when they are used.
        known = module.__dict__.get("__file__") if isinstance(module, ModuleType) else None
        if (
            isinstance(known, str)
            and Path(known).name == path.name
            and module.__name__ != "__main__"
            and os.path.realpath(known) == os.path.realpath(path)
        ):
            return module
    return None


def _finds(package: str, folder: Path) -> bool:
    """Whether importing ``package`` gives the one in ``folder`` and not another of the same name."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:
        return False
    places = spec.submodule_search_locations if spec else None
    return any(os.path.realpath(place) == os.path.realpath(folder) for place in places or ())


def _package_of(folder: Path) -> list[str]:
    """Names of the packages that ``folder`` is, outermost first."""
    names: list[str] = []
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return names


def _describe(error: BaseException) -> str:
    message = str(error).strip().split("\n")[0]
    if isinstance(error, SyntaxError):
        where: str = f" ({error.filename}:{error.lineno})"
        message = error.msg
    else:
        frames = _user_frames(error.__traceback__)
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, SystemExit):
        return f"it calls sys.exit({error.code!r}){where}, put that under `if __name__ == '__main__':`"
    if isinstance(error, KeyboardInterrupt):
        return f"it was interrupted{where}"
    return f"{type(error).__name__}{': ' if message else ''}{message}{where}"


def _user_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    return [f for f in traceback.extract_tb(trace) if not _is_ours(f.filename)]


def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, *_IMPORT_SYSTEM))


def _text(error: BaseException) -> str:
    whole = traceback.TracebackException.from_exception(error)
    chain: list[traceback.TracebackException | None] = [whole]
    while chain:
        part = chain.pop()
        if part is not None:
            part.stack[:] = [f for f in part.stack if not _is_ours(f.filename)]
            chain += [part.__cause__, part.__context__]
    return "".join(whole.format())


def _suggest_file(path: Path, text: str) -> str:
    attribute = text.rpartition(":")[2]
    for file in _python_files():
        if file.name == path.name:
            return f", did you mean {file}:{attribute}?"
    folder = path.parent
    near = get_close_matches(path.name, [p.name for p in folder.glob("*.py")], n=1) if folder.is_dir() else []
    if near:
        return f", did you mean {os.path.relpath(folder / near[0])}:{attribute}?"
    return f", the current folder is {_current_folder()}"


def _suggest_module(name: str, text: str) -> str:
    attribute = text.rpartition(":")[2]
    stem = name.rpartition(".")[2]
    for file in _python_files():
        if file.stem == stem:
            return f", did you mean {file}:{attribute}?"
    parent = name.rpartition(".")[0]
    places = getattr(sys.modules.get(parent), "__path__", None) if parent else [str(_current_folder())]
    names = [module.name for module in pkgutil.iter_modules(places)] if places else []
    near = get_close_matches(stem, names, n=1)
    if near:
        return f", did you mean {parent + '.' if parent else ''}{near[0]}:{attribute}?"
    return f", go to the folder that holds it or give its path: path/{stem}.py:{attribute}"


def _python_files() -> Iterator[Path]:
    """Python files in and under the current directory, nearest first and as seen from there, a bounded number of them."""
    folders = [Path()]
    seen = 0
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > _SEARCHED_FILES:
                return
            if entry.suffix == ".py":
                yield entry
            elif len(entry.parts) <= 3 and entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith(".") and entry.is_dir():
                folders.append(entry)

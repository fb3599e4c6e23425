"""``tapetrace run``: a script or module as Python would run it, with `Watched` looking on from the moment that it imports TensorFlow."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from tapetrace.errors import TapetraceError, TargetError, TraceFailed
from tapetrace.model.report import Report
from tapetrace.watching import Watched

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: what was found, or the ``problem`` why nothing was, and the program's own exit code."""

    report: Report | None
    problem: TapetraceError | None
    exit_code: int


@dataclass(frozen=True, slots=True)
class _Program:
    code: CodeType
    spec: ModuleSpec | None
    file: str
    argv0: str
    first_path: str


def run_program(name: str, arguments: Sequence[str], *, is_module: bool = False, frozen: Sequence[str] = ()) -> Run:
    """Run the script ``name``, or with ``is_module`` the module, with ``arguments`` as its ``sys.argv``, and look on.

    What the program prints, its exit code and its results are its own; what it raises is printed as Python would. The report is made when it has
    ended, in whichever way. Raises `TargetError` when there is no such program.
    """
    program = _module(name) if is_module else _script(name)
    roots = [os.path.dirname(program.file)] if is_module else []
    watched = Watched(f"-m {name}" if is_module else name, frozen, roots)
    error: BaseException | None = None
    is_watching = False

    problem: TapetraceError | None = TraceFailed(f"{name} never imported TensorFlow, so there was no gradient call to see.")

    def begin(module: str) -> None:
        nonlocal is_watching, problem
        if module != "tensorflow" or is_watching:
            return
        try:
            watched.__enter__()
            is_watching, problem = True, None
        except TapetraceError as unable:  # the program goes on
            problem = unable

    from tapetrace.capture.history import watching_imports

    with _as_main(program, arguments) as main, watching_imports(begin):
        try:
            exec(program.code, main.__dict__)
            _wait_for_threads()
        except BaseException as raised:  # whatever ends the program, what was seen is told
            error = raised
            raised.__traceback__ = _of_program(raised.__traceback__)
        exit_code = _exit_code(error)
        if is_watching:
            with redirect_stdout(sys.stderr):  # a gradient function of the user's that is asked once more may print
                watched.__exit__(None if error is None else type(error), error, None)
    if problem is not None:
        return Run(None, problem, exit_code)
    try:
        return Run(watched.report, None, exit_code)
    except TapetraceError as unable:
        return Run(None, unable, exit_code)


def _script(name: str) -> _Program:
    path = os.path.abspath(name)
    if os.path.isdir(path):
        raise TargetError(f"{name} is a folder, name a .py file in it or run it as a module: tapetrace run -m {Path(name).name}")
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        near = get_close_matches(Path(name).name, [p.name for p in Path(path).parent.glob("*.py")], n=1) if Path(path).parent.is_dir() else []
        hint = f", did you mean {Path(name).with_name(near[0])}?" if near else f", the current folder is {Path.cwd()}"
        raise TargetError(f"{name} cannot be read ({error.strerror}){hint}") from None
    return _Program(_compiled(source, path, name), None, path, name, os.path.dirname(os.path.realpath(path)))


def _module(name: str) -> _Program:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
            name = f"{name}.__main__"
    except (ImportError, ValueError) as error:
        raise TargetError(f"the module {name} cannot be found ({error}), go to its folder or name the file: tapetrace run FILE") from None
    get_code = getattr(spec.loader, "get_code", None) if spec is not None else None
    code = get_code(spec.name) if spec is not None and get_code is not None else None
    if spec is None or code is None:
        raise TargetError(f"there is no module {name} here, go to the folder that holds it or name the file: tapetrace run FILE")
    return _Program(code, spec, spec.origin or name, spec.origin or name, os.getcwd())


def _compiled(source: bytes, path: str, name: str) -> CodeType:
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = f" on line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise TargetError(f"{name} is not Python ({error.msg if isinstance(error, SyntaxError) else error}{line}), mend that and run again") from None


@contextmanager
def _as_main(program: _Program, arguments: Sequence[str]) -> Iterator[ModuleType]:
    """Make the process look to the program as Python would: ``__main__``, ``sys.argv`` and ``sys.path[0]``; afterwards as before.

    The module stays, since threads, pickles and what runs at exit may still look for it.
    """
    main = ModuleType("__main__")
    main.__dict__.update(__file__=program.file, __builtins__=__builtins__, __spec__=program.spec, __cached__=None)
    main.__dict__["__package__"] = program.spec.parent if program.spec else None
    main.__loader__ = program.spec.loader if program.spec else None
    before = sys.modules.get("__main__"), sys.argv, list(sys.path)
    sys.modules["__main__"] = main
    sys.argv = [program.argv0, *arguments]
    sys.path[0:1] = [program.first_path]
    try:
        yield main
    finally:
        sys.argv, sys.path[:] = before[1], before[2]
        if before[0] is not None:
            sys.modules["__main__"] = before[0]
        _kept.append(main)


_kept: list[ModuleType] = []


def _wait_for_threads() -> None:
    """As Python does before it ends."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _exit_code(error: BaseException | None) -> int:
    """Print what the program ended with as Python would, and give its exit code."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    sys.stdout.flush()
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, error.__traceback__)
    else:
        traceback.print_exception(type(error), error, error.__traceback__)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of tapetrace that called the program."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace

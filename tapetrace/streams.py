"""Standard output belongs to the report; what the user's code prints while it is imported and traced goes to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from tapetrace.errors import OutputError


def open_closed_streams() -> None:
    """Give a stream that was closed before the process began (``>&-``) a place where what is written is lost.

    Otherwise the first file that anybody opens becomes standard output, and Python's own stream is None.
    """
    for descriptor, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(descriptor)
            except OSError:
                null = os.open(os.devnull, os.O_RDWR)
                if null != descriptor:
                    os.dup2(null, descriptor)
                    os.close(null)
            stream = open(descriptor, "r" if descriptor == 0 else "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


@contextlib.contextmanager
def output_to_stderr() -> Iterator[None]:
    """Everything printed inside goes to standard error: by Python, by C++ below it, and by a logger that kept the old ``sys.stdout``."""
    stdout = sys.stdout
    stdout.flush()
    saved = _point_at_stderr()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # the user's code may have closed it
            stdout.flush()
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


def _point_at_stderr() -> int | None:
    """Let file descriptor 1 be standard error; what it was before, None when one of the two is closed."""
    saved = None
    try:
        saved = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        if saved is not None:
            os.close(saved)
        return None
    return saved


@contextlib.contextmanager
def progress(message: str) -> Iterator[None]:
    """A spinner with ``message`` on standard error while something runs, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def put(text: str) -> None:
    """Write ``text`` and a line end to standard output. A reader that went away (``| head``) is no error: the answer stands."""
    try:
        _write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout.fileno())
    except OSError as error:
        drop_output(sys.stdout.fileno())
        raise OutputError(f"standard output cannot be written ({error.strerror}): let it lead to a place with room") from error


def drop_output(descriptor: int = 1) -> None:
    """Lose what is still to be written to a stream that fails: Python flushes once more when it ends, and would end with another exit code."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def complain(text: str) -> None:
    """Write ``text`` and a line end to standard error."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        drop_output(sys.stderr.fileno())


def color_wanted(choice: str, stream: TextIO | None = None) -> bool:
    """Whether to colour ``stream``, standard output by default; ``choice`` is always, never or auto. Honours ``NO_COLOR`` and ``FORCE_COLOR``."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or ((stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb")


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is, None when it is none."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns

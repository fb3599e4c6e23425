"""How a command ends: in an answer, or in one sentence on standard error and exit code 2."""

from __future__ import annotations

import contextlib
import errno
import os
import traceback
from collections.abc import Iterator
from typing import NoReturn

import typer

from tapetrace.config import is_true
from tapetrace.errors import TapetraceError
from tapetrace.streams import complain, drop_output

OK, BROKEN, NO_ANSWER = 0, 1, 2
"""Exit codes: all is connected, something is broken, there is no answer."""


@contextlib.contextmanager
def answering(debug: bool) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence on standard error and exit code 2; with ``debug`` it is raised."""
    try:
        yield
    except typer.Exit:
        raise
    except BaseException as error:
        if debug or is_true(os.environ.get("TAPETRACE_DEBUG", "")):
            if isinstance(error, Exception):
                raise
            traceback.print_exc()  # SystemExit and Ctrl-C would end the process with an exit code that is not ours
        give_up(error)


def give_up(error: BaseException) -> NoReturn:
    if isinstance(error, TapetraceError):
        trace = getattr(error, "user_traceback", "")
        if trace:
            complain(trace)
        complain(f"tapetrace: {error}")
        raise typer.Exit(error.exit_code)
    if isinstance(error, (KeyboardInterrupt, EOFError)):
        complain("tapetrace: interrupted")
    elif isinstance(error, SystemExit):
        complain(f"tapetrace: the step called sys.exit({error.code!r}), so there is no answer")
    elif isinstance(error, FileNotFoundError) and not _is_somewhere():
        complain("tapetrace: the current folder has been deleted, go to one that exists (cd) and try again")
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        drop_output()
        complain("tapetrace: there is no room left to write the answer to: make some, or give another place")
    else:
        message = (str(error).strip() or "no message").split("\n")[0]
        complain(f"tapetrace: this is a fault of tapetrace ({type(error).__name__}: {message}), run again with --debug and report what it shows")
    raise typer.Exit(NO_ANSWER)


def _is_somewhere() -> bool:
    """Whether there is a current folder."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True

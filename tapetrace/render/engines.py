"""Layout: DOT text → SVG, PDF or PNG, by ``dot`` on PATH or else by the Graphviz inside pygraphviz, always in a child process with a time limit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec

from tapetrace.errors import OutputError

TIME_LIMIT = 20.0
"""Seconds. A folded picture takes well under one; what takes longer would take minutes, and nobody could read it."""

_RESOLUTION = {"png": ["-Gdpi=144"]}

# The bundled Graphviz runs inside the process that calls it, and cannot be stopped there. The empty entry of sys.path would let a file of the
# user's folder stand in for a module.
_BUNDLED = """
import sys
sys.path[:] = [p for p in sys.path if p]
from pygraphviz import AGraph
form, *options = sys.argv[1:]
drawn = AGraph(string=sys.stdin.buffer.read().decode("utf-8")).draw(format=form, prog="dot", args=" ".join(options))
sys.stdout.buffer.write(drawn)
"""


class LayoutTimeout(Exception):
    """The engine was stopped at the time limit."""


def lay_out(dot: str, form: str, *, time_limit: float = TIME_LIMIT) -> bytes:
    """The picture in the format ``svg``, ``pdf`` or ``png``, or its measures in ``json0``. Leaves no files behind.

    Raises `LayoutTimeout` when ``time_limit`` seconds are not enough, `OutputError` when there is no engine or it fails.
    """
    command = engine_command(form)
    if command is None:
        raise OutputError("no layout engine was found: install Graphviz (https://graphviz.org/download) or run `pip install 'tapetrace[render]'`")
    try:
        done = subprocess.run(command, input=dot.encode("utf-8"), capture_output=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired:
        raise LayoutTimeout from None
    except OSError as error:
        raise OutputError(f"the layout engine {command[0]!r} could not be started ({error.strerror}): reinstall Graphviz") from error
    if done.returncode or not done.stdout:
        lines = [line for line in done.stderr.decode("utf-8", "replace").strip().splitlines() if "Fontconfig" not in line]
        said = f" and said: {lines[-1]}" if lines else ""
        raise OutputError(f"the layout engine {command[0]!r} failed with exit code {done.returncode}{said}")
    return done.stdout


def engine_command(form: str) -> list[str] | None:
    """The command that reads DOT from its input and writes the format to its output; None when there is none."""
    options = _RESOLUTION.get(form, [])
    dot = shutil.which("dot")
    if dot is not None:
        return [dot, f"-T{form}", *options]
    if sys.executable and find_spec("pygraphviz") is not None:
        return [sys.executable, "-c", _BUNDLED, form, *options]
    return None

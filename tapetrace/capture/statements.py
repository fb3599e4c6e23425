"""The line of a call in a statement over several lines: AutoGraph puts a statement on one line, and then says one of them for all."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

_Calls = dict[frozenset[str], set[int]]
"""By the words of a name the lines on which it is called."""


class Statements:
    """Knows what is called where in the statements of files that were asked for, each file read once."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[int, _Calls]] = {}

    def line_of(self, file: str, line: int, function: str) -> int:
        """The line of the one call of ``function`` in the statement around ``line``; ``line`` itself when none or several may be meant."""
        if file not in self._calls:
            self._calls[file] = _read(file)
        calls = self._calls[file].get(line, {})
        words = _words(function)
        alike = [name for name in calls if name and name <= words]  # `tf.random.normal` is called random_normal, `tf.argmax` argmax_v2
        lines = calls[max(alike, key=len)] if alike else ()
        return next(iter(lines)) if len(lines) == 1 else line


def _read(file: str) -> dict[int, _Calls]:
    """For each line of a file the calls in its statement."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[int, _Calls] = {}
    for statement in ast.walk(tree):  # those inside others come later
        if isinstance(statement, ast.stmt):
            calls: _Calls = {}
            for name, line in _called(statement):
                calls.setdefault(_words(name), set()).add(line)
            found.update(dict.fromkeys(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1), calls))
    return found


def _called(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Name and line of each call that a statement makes, without those of the statements in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and isinstance(child.func, (ast.Attribute, ast.Name)):
            function = child.func
            yield (function.id if isinstance(function, ast.Name) else function.attr), function.end_lineno or function.lineno
        if not isinstance(child, ast.stmt):
            yield from _called(child)


def _words(name: str) -> frozenset[str]:
    return frozenset(word for word in name.lower().split("_") if word)

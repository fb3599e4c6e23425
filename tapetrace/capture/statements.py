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

    def line_of(self, file: str, line: int, function: str, *, exported: bool = False) -> int:
        """The line of the one call of ``function`` in the statement around ``line``; ``line`` itself when none or several may be meant.

        ``exported``: the function may be public under fewer words, as ``random_normal`` is as ``tf.random.normal``.
        """
        if file not in self._calls:
            self._calls[file] = _read(file)
        calls, words = self._calls[file].get(line, {}), _words(function)
        names = [words] if words in calls or not exported else [name for name in calls if name and name < words]
        most = max(map(len, names), default=0)
        lines = {at for name in names if len(name) == most for at in calls.get(name, ())}
        return lines.pop() if len(lines) == 1 else line


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


def _called(statement: ast.stmt) -> Iterator[tuple[str, int]]:
    """Name and line of each call that a statement makes, without those of the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
            function = node.func
            yield (function.id if isinstance(function, ast.Name) else function.attr), function.end_lineno or function.lineno
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _words(name: str) -> frozenset[str]:
    return frozenset(word for word in name.lower().split("_") if word)

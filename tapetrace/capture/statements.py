"""Calls in statements over several lines: AutoGraph puts a statement on one line, and then says one of them for all."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

_Calls = dict[frozenset[str], list[ast.Call]]
"""By the words of a name what calls it."""

_LONGEST = 40
"""An argument of more characters is not worth repeating."""


class Statements:
    """Knows what is called where in the statements of files that were asked for, each file read once."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[int, _Calls]] = {}

    def line_of(self, file: str, line: int, function: str, *, exported: bool = False) -> int:
        """The line of the one call of ``function`` in the statement around ``line``; ``line`` itself when none or several may be meant.

        ``exported``: the function may be public under fewer words, as ``random_normal`` is as ``tf.random.normal``.
        """
        calls, words = self._around(file, line), _words(function)
        names = [words] if words in calls or not exported else [name for name in calls if name and name < words]
        most = max(map(len, names), default=0)
        lines = {_line(call) for name in names if len(name) == most for call in calls.get(name, ())}
        return lines.pop() if len(lines) == 1 else line

    def written(self, file: str, line: int, function: str) -> str:
        """The one call of ``function`` that ``line`` may mean, as far as its first argument: ``tape.gradient(loss, …)``; "" when it is not known."""
        calls = self._around(file, line).get(_words(function), [])
        if len(calls) > 1:
            calls = [call for call in calls if _line(call) == line]
        if len(calls) != 1:
            return ""
        function, given = ast.unparse(calls[0].func), [*calls[0].args, *(k.value for k in calls[0].keywords)]
        target = ast.unparse(given[0]) if given else ""
        return f"{function}({f'{target}, ' if 0 < len(target) <= _LONGEST else ''}…)" if len(function) <= _LONGEST else ""

    def _around(self, file: str, line: int) -> _Calls:
        if file not in self._calls:
            self._calls[file] = _read(file)
        return self._calls[file].get(line, {})


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
            for name, call in _called(statement):
                calls.setdefault(_words(name), []).append(call)
            found.update(dict.fromkeys(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1), calls))
    return found


def _called(statement: ast.stmt) -> Iterator[tuple[str, ast.Call]]:
    """Each call with the name of what is called that a statement makes, without those of the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
            function = node.func
            yield (function.id if isinstance(function, ast.Name) else function.attr), node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _line(call: ast.Call) -> int:
    """The line on which what is called ends: in a chain of methods over several lines that of its own name."""
    return call.func.end_lineno or call.func.lineno


def _words(name: str) -> frozenset[str]:
    return frozenset(word for word in name.lower().split("_") if word)

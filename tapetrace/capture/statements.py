"""Calls and operators in statements over several lines: AutoGraph puts a statement on one line, and then says one of them for all."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from typing import NamedTuple

from tapetrace.capture.operators import operators_in


class _Call(NamedTuple):
    node: ast.expr | ast.stmt
    certain: bool
    """Whether it is made just once whenever its statement runs."""


_Calls = dict[frozenset[str], list[_Call]]
"""By the words of a name, or by an operator, what calls it, in the order in which Python does."""

_MAY_NOT_RUN = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What is in these runs never, later or several times."""

_LONGEST = 40
"""An argument of more characters is not worth repeating."""


class Statements:
    """Knows what is called where in the statements of files that were asked for, each file read once."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[int, _Calls]] = {}

    def line_of(self, file: str, line: int, function: str, *, exported: bool = False) -> int:
        """The line of the one call of ``function`` in the statement around ``line``; ``line`` itself when none or several may be meant.

        ``function`` may be an operator (see `operator_of`). ``exported``: it may be public under fewer words, as ``random_normal`` is as
        ``tf.random.normal``.
        """
        lines = {_line(call.node) for call in self._calls_of(file, line, function, exported)}
        return lines.pop() if len(lines) == 1 else line

    def lines_of(self, file: str, line: int, function: str, *, exported: bool = False) -> tuple[int, ...]:
        """The lines of all its calls in the order in which they are made; none unless each is made just once whenever the statement runs."""
        calls = self._calls_of(file, line, function, exported)
        return tuple(_line(call.node) for call in calls) if all(call.certain for call in calls) else ()

    def _calls_of(self, file: str, line: int, function: str, exported: bool) -> list[_Call]:
        calls, words = self._around(file, line), _words(function)
        names = [words] if words in calls or not exported else [name for name in calls if name and name < words]
        most = max(map(len, names), default=0)
        return [call for name in names if len(name) == most for call in calls.get(name, ())]

    def written(self, file: str, line: int, function: str) -> str:
        """The one call of ``function`` that ``line`` may mean, as far as its first argument: ``tape.gradient(loss, …)``; "" when it is not known."""
        found = self._around(file, line).get(_words(function), [])
        calls = [call.node for call in found if isinstance(call.node, ast.Call)]
        if len(calls) > 1:
            calls = [call for call in calls if _line(call) == line]
        if len(calls) != 1:
            return ""
        function, given = ast.unparse(calls[0].func), [*calls[0].args, *(k.value for k in calls[0].keywords)]
        target = _as_written(file, given[0]) if given else ""
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
            for name, call in sorted(_called(statement), key=lambda named: _ends(named[1].node)):
                calls.setdefault(_words(name), []).append(call)
            found.update(dict.fromkeys(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1), calls))
    return found


def _called(statement: ast.stmt) -> Iterator[tuple[str, _Call]]:
    """What a statement calls, by name or by an operator, without the statements in it."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, True)]
    while waiting:
        node, certain = waiting.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            for name in (*_named_in(node), *operators_in(node)):
                yield name, _Call(node, certain)
        certain = certain and not isinstance(node, _MAY_NOT_RUN)
        waiting += [(child, certain) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _named_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
        yield node.func.id if isinstance(node.func, ast.Name) else node.func.attr


def _ends(node: ast.expr | ast.stmt) -> tuple[int, ...]:
    """Sorts by the order of evaluation: what is inside ends before what is around it, or begins later."""
    return node.end_lineno or 0, node.end_col_offset or 0, -node.lineno, -node.col_offset


def _line(node: ast.expr | ast.stmt) -> int:
    """Of a call the line on which what is called ends: in a chain of methods over several lines that of its name. Else the first, as in Python."""
    if isinstance(node, ast.Call):
        return node.func.end_lineno or node.func.lineno
    return node.lineno


def _as_written(file: str, node: ast.expr) -> str:
    """The code of an expression on one line."""
    return " ".join((ast.get_source_segment("".join(linecache.getlines(file)), node) or "").split())


def _words(name: str) -> frozenset[str]:
    return frozenset(word for word in name.lower().split("_") if word)

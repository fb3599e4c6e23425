"""Lines of the user's that hand tensors to NumPy functions.

NumPy reads a tensor through the buffer protocol, which nothing can watch; but the call can be seen. Slow: for a run that is made to find the place
of an escape that is known to exist.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from tapetrace.capture import private
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.escapes import Escape
from tapetrace.capture.variables import is_variable
from tapetrace.model.trace import Ref

_ARRAY_LIBRARIES = frozenset({"numpy", "scipy", "sklearn", "pandas"})
_CONVERTERS = frozenset({"convert_to_numpy", "py_func_common"})
"""Functions that hand a tensor to NumPy: that of Keras backends, and that behind ``tf.numpy_function``."""
_MOST_ELEMENTS = 100
_UNKNOWN = object()


class NumpyCalls:
    """Calls of NumPy's functions that were seen while `watching`. ``found`` holds an `Escape` for each, its ``ref`` None when the line shows no
    tensor, but could."""

    def __init__(self, log: EagerLog, is_user: Callable[[str], bool]) -> None:
        self.found: list[Escape] = []
        self._log = log
        self._is_user = is_user

    @contextmanager
    def watching(self) -> Iterator[NumpyCalls]:
        """Within this context each call is noted. A debugger's or a coverage tool's own tracing rests meanwhile."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield self
        finally:
            sys.settrace(before)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if self._is_user(code.co_filename):
            return self._in_user_code
        if code.co_name in _CONVERTERS or _library(frame.f_globals.get("__name__")) in _ARRAY_LIBRARIES:
            given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
            self._note(frame, given, certain=True)
        return None

    def _in_user_code(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            for call in calls_at(frame.f_code.co_filename, frame.f_lineno):
                if _is_array_function(_value_of(call.func, frame)):
                    self._note(frame, [_value_of(a, frame) for a in (*call.args, *(k.value for k in call.keywords))], certain=False)
        return self._in_user_code

    def _note(self, frame: FrameType, given: list[Any], certain: bool) -> None:
        tensors = [t for value in given for t in _tensors_in(value)]
        refs: list[Ref | None] = [ref for t in tensors if (ref := self._log.ref(t)) is not None]
        if not refs and not certain and any(value is _UNKNOWN for value in given):
            refs = [None]
        if refs:
            stack = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in _frames(frame)]
            self.found += [Escape(len(self._log.ops), ref, "np", stack) for ref in refs]


def _tensors_in(value: Any) -> list[Any]:
    """Eager tensors that ``value`` is, holds as a list does, or stands for as a variable."""
    if isinstance(value, private.EagerTensorBase):
        return [value]
    if isinstance(value, list | tuple):
        return [t for v in value[:_MOST_ELEMENTS] for t in _tensors_in(v)]
    return [value.handle] if is_variable(value) else []


def _frames(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    stack = []
    while frame is not None:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    return stack[::-1]


def _library(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_array_function(value: Any) -> bool:
    return isinstance(value, np.ufunc) or (callable(value) and _library(getattr(value, "__module__", None)) in _ARRAY_LIBRARIES)


def _value_of(expression: ast.expr, frame: FrameType) -> Any:
    """What a simple expression stands for in a frame, found without running any code of the user's; `_UNKNOWN` for others."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.Name):
        return _named(expression.id, frame.f_locals, frame.f_globals)
    if isinstance(expression, ast.List | ast.Tuple):
        elements = [_value_of(e, frame) for e in expression.elts]
        return _UNKNOWN if any(e is _UNKNOWN for e in elements) else elements
    if isinstance(expression, ast.Attribute):
        owner = _value_of(expression.value, frame)
        if isinstance(owner, ModuleType) and _library(owner.__name__) in _ARRAY_LIBRARIES:
            return getattr(owner, expression.attr, _UNKNOWN)  # modules that load their parts when asked
        return getattr(owner, "__dict__", {}).get(expression.attr, _UNKNOWN)
    return _UNKNOWN


def _named(name: str, *scopes: Mapping[str, Any]) -> Any:
    return next((scope[name] for scope in scopes if name in scope), _UNKNOWN)


def calls_at(file: str, line: int) -> tuple[ast.Call, ...]:
    """The calls with arguments whose text begins on a line of a file."""
    return _calls(file, len(linecache.getlines(file))).get(line, ())


@lru_cache(maxsize=200)
def _calls(file: str, length: int) -> dict[int, tuple[ast.Call, ...]]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    found: dict[int, tuple[ast.Call, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.args or node.keywords):
            found[node.lineno] = (*found.get(node.lineno, ()), node)
    return found

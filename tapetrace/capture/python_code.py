"""Which variables a Python function refers to: read off its closure, its globals, its defaults and the objects that it is bound to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from tapetrace.capture.variables import handle_of, is_variable

_DEPTH = 4
_LIBRARIES = frozenset({"tensorflow", "keras", "numpy", "builtins", "tensorflow_probability"})


def referred_handles(function: Any) -> set[int]:
    """Identities of the handles of all variables that ``function`` can name, directly or through the functions and models that it names."""
    found: set[int] = set()
    seen: set[int] = set()
    stack: list[tuple[Any, int]] = [(function, 0)]
    while stack:
        value, depth = stack.pop()
        if id(value) in seen or depth > _DEPTH:
            continue
        seen.add(id(value))
        if is_variable(value):
            found.add(id(handle_of(value)))
            continue
        stack.extend((v, depth + 1) for v in _mentions(value))
    return found


def _mentions(value: Any) -> Iterator[Any]:
    if isinstance(value, MethodType):
        yield value.__func__
        yield value.__self__
    elif isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, list | tuple | set):
        yield from list(value)[:200]
    elif isinstance(value, dict):
        yield from list(value.values())[:200]
    elif hasattr(type(value), "variables"):
        yield from _variables_of(value)
    elif hasattr(value, "__wrapped__"):
        yield value.__wrapped__
    elif hasattr(value, "python_function"):
        yield value.python_function
    elif _is_plain_object(value):
        yield from list(vars(value).values())[:200]


def _variables_of(value: Any) -> Iterable[Any]:
    try:
        return list(value.variables)
    except (AttributeError, TypeError, ValueError, RuntimeError):  # a model that is not built
        return []


def _of_function(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _is_plain_object(value: Any) -> bool:
    """An instance of a class of the user's, whose attributes may hold models."""
    module = type(value).__module__.partition(".")[0]
    return hasattr(value, "__dict__") and module not in _LIBRARIES and not isinstance(value, type)

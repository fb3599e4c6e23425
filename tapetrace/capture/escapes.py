"""Where tensors leave TensorFlow for NumPy or Python during an eager run."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from types import FrameType
from typing import Any

import numpy as np

from tapetrace.capture import private
from tapetrace.capture.eager_log import EagerLog
from tapetrace.capture.patches import Patches
from tapetrace.model.trace import Ref

WAYS_OUT = ("numpy", "__array__", "__float__", "__int__", "__index__", "__complex__")
"""Methods of an eager tensor that hand its value to Python. ``bool`` is not among them: it decides, it carries nothing back."""


@dataclass(frozen=True, slots=True)
class Escape:
    """A value that left: ``order`` ops had run, ``ref`` is the tensor (None: some tensor, by a way that shows none), ``digest`` its value."""

    order: int
    ref: Ref | None
    way: str
    stack: Any
    digest: bytes = b""


class Escapes:
    """The ways out that were taken while `watching`, in order."""

    def __init__(self, log: EagerLog) -> None:
        self.found: list[Escape] = []
        self._log = log
        self._inside = False

    @contextmanager
    def watching(self) -> Iterator[Escapes]:
        """Within this context the methods of eager tensors note each value that leaves."""
        with Patches() as patches:
            for name in WAYS_OUT:
                if hasattr(private.EagerTensorBase, name):
                    patches.wrap(private.EagerTensorBase, name, self._wrap(name))
            yield self

    def _wrap(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
                value = original(tensor, *args, **kwargs)
                if not self._inside:
                    self._inside = True
                    try:
                        self._note(name, tensor, value)
                    finally:
                        self._inside = False
                return value

            return method

        return make

    def _note(self, name: str, tensor: Any, value: Any) -> None:
        ref = self._log.ref(tensor)
        if ref is None or not tensor.dtype.is_floating:
            return
        digest = blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).digest()
        self.found.append(Escape(len(self._log.ops), ref, name, private.tf_stack.extract_stack(), digest))


class NumpyCalls:
    """Lines of the user's that hand values to NumPy functions.

    NumPy reads a tensor through the buffer protocol, which nothing can watch; but the line can be seen to run, and what it calls. Slow: for a run
    that is made to find the place of an escape that is known to exist.
    """

    def __init__(self, log: EagerLog, is_user: Callable[[str], bool]) -> None:
        self.found: list[Escape] = []
        self._log = log
        self._is_user = is_user

    @contextmanager
    def watching(self) -> Iterator[NumpyCalls]:
        """Within this context each line of the user's that calls NumPy is noted."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield self
        finally:
            sys.settrace(before)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            return self._trace if self._is_user(frame.f_code.co_filename) else None
        if event == "line" and self._calls_numpy(frame):
            stack = [(f.f_code.co_filename, n, f.f_code.co_name) for f, n in _frames(frame)]
            self.found.append(Escape(len(self._log.ops), None, "np", stack))
        return self._trace

    def _calls_numpy(self, frame: FrameType) -> bool:
        for name in numpy_like_calls(frame.f_code.co_filename, frame.f_lineno):
            value = frame.f_locals.get(name, frame.f_globals.get(name))
            if getattr(value, "__name__", "") == "numpy" or getattr(value, "__module__", "").partition(".")[0] == "numpy":
                return True
        return False


def _frames(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    stack = []
    while frame is not None:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    return stack[::-1]


@lru_cache(maxsize=10_000)
def numpy_like_calls(file: str, line: int) -> tuple[str, ...]:
    """The first names of all functions that a line calls with arguments: ``np`` for ``np.mean(x)``; empty for a line that cannot be parsed alone."""
    try:
        tree = ast.parse(linecache.getline(file, line).strip().rstrip(":").removeprefix("return ").removeprefix("elif ").removeprefix("if "))
    except SyntaxError:
        return ()
    return tuple(_first_name(c.func) for c in ast.walk(tree) if isinstance(c, ast.Call) and c.args)


def _first_name(expression: ast.expr) -> str:
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""

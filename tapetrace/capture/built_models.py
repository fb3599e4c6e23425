"""The lines that built a functional or sequential Keras model, for a step that runs it by Keras's own code alone.

``fit`` calls each operation of such a model from within Keras: no frame of the user's stands on the stack, and an op would have no place. So each
operation is called from a frame that bears the line on which it was put into the model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FunctionType
from typing import Any

from tapetrace.capture.history import History
from tapetrace.capture.locations import Locator
from tapetrace.capture.patches import Patches
from tapetrace.model.locations import Frame


def steps_by_keras(model: Any) -> bool:
    """Whether the model is one of Keras 3, and what trains it is Keras's own ``train_step``."""
    return bool(type(model).train_step.__module__.startswith("keras."))


@contextmanager
def building_lines(history: History | None, locator: Locator) -> Iterator[None]:
    """Within this context, operations are called from the lines that put them into their models, as far as ``history`` saw these.

    An exception that is raised inside has these lines in its traceback.
    """
    if history is None or not history.built:
        yield
        return

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(operation: Any, *args: Any, **kwargs: Any) -> Any:
            stack = history.built.get(operation)
            place = None if stack is None else locator.locate(stack)
            if place is None:
                return original(operation, *args, **kwargs)
            return _on_line(place.frame)(original, (operation, *args), kwargs)

        return __call__

    with Patches() as patches:
        patches.wrap(sys.modules["keras"].Operation, "__call__", wrap)
        yield


@lru_cache(maxsize=4096)
def _on_line(frame: Frame) -> Callable[..., Any]:
    """A function that calls what it is given, and whose frame bears this file, line and name."""
    call = lambda function, args, kwargs: function(*args, **kwargs)  # noqa: E731  (all of it on its first line, which is replaced)
    return FunctionType(call.__code__.replace(co_filename=frame.file, co_firstlineno=frame.line, co_name=frame.function), {})

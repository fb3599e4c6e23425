"""Where Python values became eager tensors: the lines at which a number from outside enters TensorFlow."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.patches import Patches


class Constants:
    """The stacks at which constants of one thread were made, for as long as these live."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._thread = threading.get_ident()

    def install(self, patches: Patches) -> None:
        """Note each constant that is made until ``patches`` are undone."""
        patches.wrap(private.constant_op, "convert_to_eager_tensor", self._wrap)

    def made_at(self, tensor: Any) -> Any:
        """The stack at which a constant was made; None if that was not seen."""
        found = self._made.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def convert_to_eager_tensor(value: Any, ctx: Any, dtype: Any = None) -> Any:
            tensor = original(value, ctx, dtype)
            # Only numbers that can stand for something computed: not axes and shapes, and not what is a tensor already.
            if tensor is not value and threading.get_ident() == self._thread and private.is_trainable(tensor):
                self._made[id(tensor)] = (weakref.ref(tensor), private.tf_stack.extract_stack())
            return tensor

        return convert_to_eager_tensor

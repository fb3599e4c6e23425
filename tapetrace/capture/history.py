"""What happened before the step: where each variable was made, where a model was compiled, and from which variables each eager tensor was computed.

While tapetrace imports the user's module it watches TensorFlow from the moment the module imports it. TensorFlow itself is not imported here: the
user's module may first choose devices, backends and seeds.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOST_TENSORS = 200_000
"""Tensors remembered at a time; past that, no new ones."""


@dataclass(frozen=True, slots=True)
class Past:
    """How an eager tensor came about: the handles (by identity) of the variables it was computed from, and the stack of the last op."""

    tensor: weakref.ref[Any]
    handles: frozenset[int]
    stack: Any


class History:
    """A record of eager work in one thread, light enough to leave on: nothing is kept for a tensor that is gone."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        """Stack of the making of each variable, by identity of its handle."""
        self.compiled: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """Stack of the last ``compile`` of each Keras model."""
        self._past: dict[int, Past] = {}
        self._undo: list[Callable[[], None]] = []
        self._costly: list[Callable[[], None]] = []
        self._thread = 0

    def past_of(self, tensor: Any) -> Past | None:
        """How ``tensor`` was computed from variables, None if it was not or nobody saw it."""
        found = self._past.get(id(tensor))
        return found if found is not None and found.tensor() is tensor else None

    def install(self, module: str) -> None:
        """Begin to watch, now that ``module`` (tensorflow or keras) has been imported."""
        from tapetrace.capture import private
        from tapetrace.capture.patches import Patches
        from tapetrace.capture.visible_reads import make_reads_visible

        patches = Patches()
        if module == "tensorflow":
            patches.wrap(private.BaseResourceVariable, "__init__", self._wrap_variable)
            reads = Patches()
            make_reads_visible(reads)
            private.add_op_callback(self._saw)
            self._costly += [reads.undo, lambda: private.remove_op_callback(self._saw)]
            self._thread = threading.get_ident()
        elif hasattr(sys.modules[module], "Model"):
            patches.wrap(sys.modules[module].Model, "compile", self._wrap_compile)
        self._undo.append(patches.undo)

    def rest(self) -> None:
        """Take off what every eager op pays for, when called in the thread that pays; making and compiling are still noted."""
        while self._costly and threading.get_ident() == self._thread:
            self._costly.pop()()

    def stop(self) -> None:
        """Take the instruments off; what was recorded stays."""
        self.rest()
        while self._undo:
            self._undo.pop()()

    def _forget(self, key: int, gone: Any) -> None:
        self._past.pop(key, None)

    def _wrap_variable(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from tapetrace.capture import private

        def __init__(variable: Any, *args: Any, **kwargs: Any) -> None:
            original(variable, *args, **kwargs)
            handle = getattr(variable, "_handle", None)
            if handle is not None:
                self.made[id(handle)] = private.tf_stack.extract_stack()

        return __init__

    def _wrap_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from tapetrace.capture import private

        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            self.compiled[model] = private.tf_stack.extract_stack()
            return result

        return compile

    def _saw(self, op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        """Called by TensorFlow after each eager op of this thread."""
        if graph is not None or not outputs:
            return
        handles: set[int] = set()
        for t in inputs:
            if id(t) in self.made:
                handles.add(id(t))
            else:
                past = self.past_of(t)
                if past is not None:
                    handles |= past.handles
        if not handles or len(self._past) > MOST_TENSORS:
            return
        from tapetrace.capture import private

        stack = private.tf_stack.extract_stack()
        for t in outputs:
            key = id(t)
            self._past[key] = Past(weakref.ref(t, partial(self._forget, key)), frozenset(handles), stack)


class _Finder(MetaPathFinder):
    """Finds nothing itself; lets ``then`` run once the modules it waits for have been executed."""

    def __init__(self, names: tuple[str, ...], then: Callable[[str], None]) -> None:
        self._waiting = set(names)
        self._then = then

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self._waiting:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find else None
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, lambda: self._executed(fullname))
                return spec  # type: ignore[no-any-return]
        return None

    def _executed(self, fullname: str) -> None:
        if fullname in self._waiting:
            self._waiting.discard(fullname)
            self._then(fullname)


class _Loader(Loader):
    """The real loader, and what is to be done after it."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:  # the module must not notice
            spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


_current: History | None = None


def current_history() -> History | None:
    """What was seen while the module of the step was imported; None when tapetrace did not import it."""
    return _current


@contextmanager
def watching_imports(then: Callable[[str], None] = lambda module: None) -> Iterator[History]:
    """Watch TensorFlow and Keras while the user's module is imported in this context. ``then`` is called with the name of each when it is there."""
    global _current
    history = _current = _current or History()
    wanted = ("tensorflow", "keras")

    def begin(name: str) -> None:
        history.install(name)
        then(name)

    for name in wanted:
        if name in sys.modules:
            begin(name)
    finder = _Finder(tuple(n for n in wanted if n not in sys.modules), begin)
    sys.meta_path.insert(0, finder)
    try:
        yield history
    finally:
        sys.meta_path.remove(finder)
        history.stop()

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

from tapetrace.capture.early_escapes import EarlyEscapes

MOST_TENSORS = 200_000
"""Tensors remembered at a time; past that, no new ones."""


@dataclass(frozen=True, slots=True)
class Past:
    """How a value came about: the variables it was computed from, each by the number that it got when it was made, and the stack of the last op."""

    variables: frozenset[int]
    stack: Any


class History:
    """A record of eager work in one thread, light enough to leave on: nothing is kept for a tensor that is gone."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Any], int, Any]] = {}
        self._handles: dict[int, weakref.ref[Any]] = {}
        self._early = EarlyEscapes(self._variables_behind)
        self.compiled: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """Stack of the last ``compile`` of each Keras model."""
        self.built: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """For each Keras operation, layers among them, the stack that first put it into a functional or sequential model."""
        self._past: dict[int, tuple[weakref.ref[Any], Past]] = {}
        self._undo: list[Callable[[], None]] = []
        self._costly: list[Callable[[], None]] = []
        self._thread = 0
        self._numbers = 0

    def made(self, handle: Any) -> Any:
        """The stack of the making of the variable behind ``handle``, None if nobody saw it."""
        found = self._made.get(id(handle))
        return found[2] if found is not None and found[0]() is handle else None

    def past_of(self, tensor: Any) -> Past | None:
        """How ``tensor`` was computed from variables, None if it was not or nobody saw it."""
        found = self._past.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def past_of_value(self, digest: bytes) -> Past | None:
        """How a value came about that was computed from variables, left TensorFlow, and came back."""
        alive = [(v, stack) for v, stack in self._early.by_value.get(digest, ()) if not v.isdisjoint(self._handles)]
        return Past(frozenset[int]().union(*(v for v, _ in alive)), alive[0][1]) if alive else None

    @property
    def remembered(self) -> int:
        """How many tensors are remembered now."""
        return len(self._past)

    @property
    def has_values(self) -> bool:
        """Whether `past_of_value` knows any."""
        return bool(self._early.by_value)

    def left(self, handle: Any) -> Any:
        """The stack where something computed from the variable behind ``handle`` last left TensorFlow before the step, None if nothing did."""
        found = self._made.get(id(handle))
        return self._early.last.get(found[1]) if found is not None and found[0]() is handle else None

    def handles(self, past: Past) -> list[Any]:
        """The handles of the variables of ``past`` that are still there."""
        found = (self._handles[number]() for number in sorted(past.variables) if number in self._handles)
        return [handle for handle in found if handle is not None]

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
            self._early.install(reads)
            private.add_op_callback(self._saw)
            self._costly += [reads.undo, lambda: private.remove_op_callback(self._saw)]
            self._thread = threading.get_ident()
        elif hasattr(sys.modules[module], "Model"):
            patches.wrap(sys.modules[module].Model, "compile", self._wrap_compile)
            node = private.keras_node() if module == "keras" else None
            if node is not None:
                patches.wrap(node, "__init__", self._wrap_node)
                patches.wrap(sys.modules[module].Model, "train_step", self._wrap_train_step)
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
            if handle is not None and not isinstance(variable, private.UnreadVariable):
                self._note_variable(handle, private.tf_stack.extract_stack())

        return __init__

    def _note_variable(self, handle: Any, stack: Any) -> None:
        number = self._numbers = self._numbers + 1
        key = id(handle)

        def forget(_: Any) -> None:
            self._made.pop(key, None)
            self._handles.pop(number, None)
            self._early.last.pop(number, None)

        reference = weakref.ref(handle, forget)
        self._made[key] = (reference, number, stack)
        self._handles[number] = reference

    def _variables_behind(self, tensor: Any) -> frozenset[int]:
        """The numbers of the variables that a tensor was computed from, a handle's own."""
        made = self._made.get(id(tensor))
        if made is not None and made[0]() is tensor:
            return frozenset({made[1]})
        past = self.past_of(tensor)
        return past.variables if past is not None else frozenset()

    def _wrap_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from tapetrace.capture import private

        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            self.compiled[model] = private.tf_stack.extract_stack()
            return result

        return compile

    def _wrap_node(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from tapetrace.capture import private

        def __init__(node: Any, operation: Any, *args: Any, **kwargs: Any) -> None:
            original(node, operation, *args, **kwargs)
            if operation not in self.built:
                self.built[operation] = private.tf_stack.extract_stack()

        return __init__

    def _wrap_train_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from tapetrace.capture.built_models import building_lines
        from tapetrace.capture.locations import Locator

        locator = Locator()

        def train_step(model: Any, *args: Any, **kwargs: Any) -> Any:
            with building_lines(self, locator):
                return original(model, *args, **kwargs)

        return train_step

    def _saw(self, op_type: str, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        """Called by TensorFlow after each eager op of this thread."""
        if graph is not None or not outputs:
            return
        variables = frozenset[int]().union(*map(self._variables_behind, inputs))
        if not variables or len(self._past) > MOST_TENSORS:
            return
        from tapetrace.capture import private

        stack = private.tf_stack.extract_stack()
        for t in outputs:
            key = id(t)
            self._past[key] = (weakref.ref(t, partial(self._forget, key)), Past(variables, stack))


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


_WATCHED = ("tensorflow", "keras", "tf_keras")

_current: History | None = None


def current_history() -> History | None:
    """What was seen while the module of the step was imported; None when tapetrace did not import it."""
    return _current


@contextmanager
def watching_imports(then: Callable[[str], None] = lambda module: None) -> Iterator[History]:
    """Watch TensorFlow and Keras while the user's module is imported in this context. ``then`` is called with the name of each when it is there.

    Contexts may overlap, also those of several threads: the instruments are put on once, and taken off with the last.
    """
    history = _begin(then)
    try:
        yield history
    finally:
        _end(history)


_open: list[int] = []
"""The thread of each context that is open."""
_finder: _Finder | None = None
_lock = threading.RLock()


def _begin(then: Callable[[str], None]) -> History:
    global _current, _finder
    with _lock:
        history = _current = _current or History()
        is_first = not _open
        _open.append(threading.get_ident())

        def begin(name: str) -> None:
            if is_first:
                history.install(name)
            then(name)

        try:
            for name in _WATCHED:
                if name in sys.modules:
                    begin(name)
        except BaseException:
            _end(history)
            raise
        if is_first:
            _finder = _Finder(tuple(n for n in _WATCHED if n not in sys.modules), begin)
            sys.meta_path.insert(0, _finder)
        return history


def _end(history: History) -> None:
    with _lock:
        _open.remove(threading.get_ident() if threading.get_ident() in _open else _open[-1])
        if threading.get_ident() not in _open:
            history.rest()
        if not _open:
            if _finder in sys.meta_path:
                sys.meta_path.remove(_finder)
            history.stop()

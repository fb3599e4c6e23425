"""Which line of the user's code a stack belongs to.

TensorFlow keeps the whole Python stack of every op, outermost frame first, AutoGraph's lines already mapped back to the user's file. Most of it is
TensorFlow, Keras, the launcher and tapetrace; what a person can act on is the innermost frame of their own.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tapetrace.capture.operators import operator_of
from tapetrace.capture.origins import Origin, Origins
from tapetrace.capture.statements import Statements
from tapetrace.model.locations import Frame, Location

RawFrame = tuple[str, int, str]
"""File, line and function of one frame."""


class StackFrame(Protocol):
    """What TensorFlow's ``op.traceback`` and Python's ``traceback.FrameSummary`` have in common."""

    @property
    def filename(self) -> str: ...
    @property
    def lineno(self) -> int | None: ...
    @property
    def name(self) -> str: ...


StackOf = Callable[[Any], Sequence[RawFrame]]
"""For an op, the stack that made it, innermost frame last; empty when it is not known."""


class Calls(NamedTuple):
    """Several calls of one function in the user's innermost statement: any of them may have made an op."""

    outer: tuple[RawFrame, ...]
    at: RawFrame
    function: str
    lines: tuple[int, ...]
    """Where each stands, in the order in which they are made."""

    def on(self, line: int) -> Calls:
        """The same, seen from another line of the statement."""
        return self._replace(at=(self.at[0], line, self.at[2]))


Frames = Iterable[RawFrame] | Iterable[StackFrame]
"""A stack, innermost frame last."""

_CAPTURE = str(Path(__file__).parent)
_AUTOGRAPH_PREFIX = "tf__"
_ON_THE_WAY = frozenset(str(Path(__file__).with_name(name)) for name in ("built_models.py", "history.py"))
"""Wrappers that stand between ``fit`` and the layers of a model: there is user code on both sides."""
_TOP = 8
"""So many frames below the first of a thread is the one that runs a replica."""


def raw_frames(frames: Frames) -> tuple[RawFrame, ...]:
    """``frames`` as plain tuples, which outlive the op that they were read from."""
    return tuple(f if isinstance(f, tuple) else (f.filename, f.lineno or 0, f.name or "") for f in frames)


def here() -> list[RawFrame]:
    """The stack of the caller with AutoGraph's lines mapped back; tapetrace's own frames at its end do no harm."""
    from tapetrace.capture import private

    return list(raw_frames(private.tf_stack.extract_stack()))


class Locator:
    """Turns stacks into locations, and remembers each frame and each stack, since thousands of ops share them.

    ``user_roots`` are folders and files that count as the user's although they are installed (see `Origins`).
    """

    def __init__(self, user_roots: Iterable[str | Path] = ()) -> None:
        self._origins = Origins(user_roots)
        self._generated: dict[tuple[str, int], RawFrame] = {}
        self._runs: set[tuple[RawFrame, ...]] = set()
        self._statements = Statements()
        self._frames: dict[RawFrame, Frame] = {}
        self._stacks: dict[tuple[RawFrame, ...], Location | None] = {}
        self._calls: dict[tuple[RawFrame, ...], Calls] = {}
        self._in_function: dict[tuple[tuple[RawFrame, ...], str, str], Location | None] = {}

    def learn(self, run: Sequence[RawFrame], generated: Mapping[tuple[str, int], RawFrame]) -> None:
        """What stacks in the threads of replicas lack: that of the ``strategy.run`` which started them, and where generated lines came from."""
        self._runs.add(tuple(run[: 1 + max((i for i, f in enumerate(run) if _runs_replicas(f)), default=-1)]))
        self._generated.update(generated)

    def locate(self, frames: Frames, turn: Callable[[Calls], int] | None = None) -> Location | None:
        """The innermost user frame, those it was called from, and the library frame that it led to; None if no frame is the user's.

        ``turn`` is asked for the line where several calls of one statement may have made the op.
        """
        stack = raw_frames(frames)
        if stack not in self._stacks:
            self._stacks[stack] = self._locate(stack)
        location, calls = self._stacks[stack], self._calls.get(stack)
        if turn is None or location is None or calls is None:
            return location
        return replace(location, frame=self._frame(calls.on(turn(calls)).at))

    def calls(self, frames: Frames) -> Calls | None:
        """The calls that may have made an op with this stack, None when there are not several."""
        stack = raw_frames(frames)
        self.locate(stack)
        return self._calls.get(stack)

    def locate_function(self, frames: Frames, file: str, function: str) -> Location | None:
        """The location whose own frame is the innermost one in exactly ``function`` of ``file``; if there is none, that of `locate`.

        Answers which line of the function that opened the tape led to an op, however deep in other user code the op was made.
        """
        key = (raw_frames(frames), file, _original_name(function))
        if key not in self._in_function:
            self._in_function[key] = self._locate_function(*key)
        return self._in_function[key]

    def locate_exception(self, error: BaseException) -> Location | None:
        """Where in the user's code ``error`` was raised, or came through; looks behind exceptions that were re-raised from others.

        Inside a tf.function the stack of an exception runs through generated files; AutoGraph attaches the lines that they came from.
        """
        seen: set[int] = set()
        current: BaseException | None = error
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            location = self._syntax_error(current) or self.locate(_exception_frames(current))
            if location is not None:
                return location
            current = current.__cause__ or current.__context__
        return None

    def _locate(self, stack: tuple[RawFrame, ...]) -> Location | None:
        step = self._step(stack)
        for i in reversed(range(len(step))):
            if self._is_user(step[i]):
                called = self._entered(step[i + 1 :])
                lines = self._statements.lines_of(step[i][0], step[i][1], called, exported=True)
                if len(set(lines)) > 1:
                    self._calls[stack] = Calls(tuple(step[:i]), step[i], called, lines)
                return self._location(step, i)
        return None

    def _locate_function(self, stack: tuple[RawFrame, ...], file: str, function: str) -> Location | None:
        step = self._step(stack)
        for i in reversed(range(len(step))):
            if step[i][0] == file and _original_name(step[i][2]) == function and self._is_user(step[i]):
                return self._location(step, i)
        return self.locate(stack)

    def _step(self, stack: Sequence[RawFrame]) -> Sequence[RawFrame]:
        """The part of ``stack`` that belongs to the step: what lies inside tapetrace's outermost frame.

        Under ``watch()`` there is no such frame around the step; the only ones are wrappers in ``capture`` that the user's own code called.
        """
        origin = self._origins.origin
        if len(self._runs) == 1 and any(map(_runs_replicas, stack[:_TOP])):  # of several it is not known which
            stack = [*next(iter(self._runs)), *stack]
        if self._generated:
            stack = [self._generated.get(frame[:2], frame) for frame in stack]
        for i, frame in enumerate(stack):
            if origin(frame[0]) is Origin.TAPETRACE and frame[0] not in _ON_THE_WAY:
                inside = stack[i + 1 :]
                if not frame[0].startswith(_CAPTURE) or any(map(self._is_user, inside)):
                    return inside
                break
        return stack

    def _location(self, step: Sequence[RawFrame], at: int) -> Location:
        inner, *callers = self._users(step, at)
        deeper = step[at + 1 :]
        inside = tuple(function for file, _, function in deeper if self._origins.origin(file) is Origin.LIBRARY)
        return Location(inner, tuple(callers), self._library(deeper), inside)

    def _users(self, step: Sequence[RawFrame], at: int) -> Iterator[Frame]:
        """The user's frames from ``at`` outwards, each with the line of what it called."""
        last, called, exported = None, self._entered(step[at + 1 :]), True
        for raw in reversed(step[: at + 1]):
            if not self._is_user(raw):
                called, exported = self._entered([raw]) or called, True
                continue
            file, line, function = raw
            name = _original_name(function)
            if (file, line, name) != last:  # AutoGraph maps a comprehension and the function around it to the same line
                yield self._frame((file, self._statements.line_of(file, line, called, exported=exported), function))
            last, called, exported = (file, line, name), name, False

    def _entered(self, deeper: Iterable[RawFrame]) -> str:
        """The name of the first function in a stack that is no machinery, or the operator that led to it."""
        entered = [(raw[0], raw[2]) for raw in deeper if self._origins.origin(raw[0]) is not Origin.MACHINERY]
        return operator_of(entered) or next((function for _, function in entered), "")

    def _library(self, deeper: Sequence[RawFrame]) -> Frame | None:
        """The innermost library frame worth naming: not a generated wrapper and not machinery, unless there is nothing else."""
        by_origin = {self._origins.origin(raw[0]): raw for raw in deeper}  # the innermost of each, since it comes last
        found = by_origin.get(Origin.LIBRARY) or by_origin.get(Origin.WRAPPER)
        return self._frame(found) if found else None

    def written(self, location: Location | None, *functions: str) -> str:
        """The call of the first of ``functions`` that the statement at ``location`` calls once, in the user's words; "" if there is none."""
        found = (self._statements.written(location.file, location.line, f) for f in functions) if location else ()
        return next(filter(None, found), "")

    def is_user_file(self, file: str) -> bool:
        """Whether ``file`` is the user's own code."""
        return self._origins.origin(file) is Origin.USER

    def _is_user(self, raw: RawFrame) -> bool:
        return self._origins.origin(raw[0]) is Origin.USER

    def _frame(self, raw: RawFrame) -> Frame:
        frame = self._frames.get(raw)
        if frame is None:
            file, line, function = raw
            frame = self._frames[raw] = Frame(file, line, _original_name(function), linecache.getline(file, line).strip())
        return frame

    def _syntax_error(self, error: BaseException) -> Location | None:
        """A SyntaxError happens in the file that it names, which has no frame yet."""
        if not isinstance(error, SyntaxError) or not error.filename or not error.lineno:
            return None
        raw = (error.filename, error.lineno, "<module>")
        return Location(self._frame(raw)) if self._is_user(raw) else None


def _runs_replicas(frame: RawFrame) -> bool:
    return frame[0].endswith("mirrored_run.py")


def _original_name(function: str) -> str:
    return function.removeprefix(_AUTOGRAPH_PREFIX)


def _exception_frames(error: BaseException) -> list[RawFrame]:
    frames = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in traceback.walk_tb(error.__traceback__)]
    metadata = getattr(error, "ag_error_metadata", None)
    if metadata is None:
        return frames
    converted = [(f.filename, f.lineno, f.function_name or "<lambda>") for f in reversed(metadata.translated_stack)]
    generated = next((i for i, f in enumerate(frames) if "__autograph_generated_file" in f[0]), len(frames))
    return frames[:generated] + converted

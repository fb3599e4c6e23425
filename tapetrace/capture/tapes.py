"""When each tape recorded, told in the op counts of the graphs that were being built at the time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tapetrace.capture import private
from tapetrace.model.locations import Frame, Location
from tapetrace.model.trace import Tape, Window


@dataclass(slots=True)
class TapeRecord:
    """One GradientTape: the open and finished windows for each graph, and what it was told to watch.

    ``watched`` holds (tensor or variable, {graph key: op count when watched}).
    """

    tape: Any
    persistent: bool
    watches_variables: bool
    opened_at: Location | None = None
    opened_frame: Frame | None = None
    windows: dict[str, list[Window]] = field(default_factory=dict)
    open_since: dict[str, int] = field(default_factory=dict)
    is_open: bool = False
    is_stopping: bool = False
    stopped_since: dict[str, int] = field(default_factory=dict)
    was_reset: bool = False
    watched: list[tuple[Any, dict[str, int]]] = field(default_factory=list)
    thread: int = field(default_factory=threading.get_ident)
    """The thread that the tape records; what others do, it does not see."""

    def push(self, counts: dict[str, int]) -> None:
        for key, start in self.stopped_since.items():
            if counts.get(key, start) > start:
                self.windows.setdefault(key, []).append(Window(start, counts[key], stopped=True))
        self.stopped_since = {}
        self.open_since = counts
        self.is_open = True

    def pop(self, counts: dict[str, int]) -> None:
        for key, start in self.open_since.items():
            self.windows.setdefault(key, []).append(Window(start, counts.get(key)))
        self.is_open = False
        if self.is_stopping:
            self.stopped_since = counts

    def begin(self) -> None:
        """Nothing recorded or watched so far counts: a tape entered again after it was used starts anew."""
        self.windows = {key: [] for key in self.windows}
        self.watched = []

    def forget(self) -> None:
        """What `GradientTape.reset` does: nothing recorded so far counts."""
        self.begin()
        self.was_reset = True

    def frozen(self, counts: dict[str, int]) -> Tape:
        """The windows up to now; a tape that is still open has recorded everything so far."""
        windows = {key: list(found) for key, found in self.windows.items()}
        if self.is_open:
            for key, start in self.open_since.items():
                windows.setdefault(key, []).append(Window(start, None))
        for key, start in self.stopped_since.items():
            windows.setdefault(key, []).append(Window(start, None, stopped=True))
        return Tape({k: tuple(w) for k, w in windows.items()}, self.opened_frame, self.persistent, self.watches_variables, self.was_reset)


def graph_counts(key_of: Callable[[Any], str]) -> dict[str, int]:
    """How many ops each graph that is being built in this thread has now, the innermost first."""
    counts: dict[str, int] = {}
    graph = private.default_graph()
    while graph is not None and isinstance(graph, private.FuncGraph):
        counts[key_of(graph)] = private.operation_count(graph)
        graph = graph.outer_graph
    return counts

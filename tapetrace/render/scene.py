"""A Scene: what a picture of a report shows, as frozen nodes, edges and groups whose fields have meanings, not colours.

Renderers turn a Scene into DOT or HTML; nothing here knows of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tapetrace.model.graph import Status
from tapetrace.model.words import Cause


class Kind(str, Enum):
    """What a box of the picture stands for."""

    SOURCES = "sources"
    """One source, or several of a layer that share their fate."""
    LINE = "line"
    """Ops of one line of the user's code."""
    OP = "op"
    """One op."""
    LAYER = "layer"
    """Ops of one Keras layer or function."""
    STRETCH = "stretch"
    """Several lines, layers or ops of the same status, folded."""
    BREAK = "break"
    """The ops of one root cause (of several, when the picture had to be folded that far)."""


@dataclass(frozen=True, slots=True)
class SceneNode:
    """One box. Texts are plain and unescaped; an empty one is not shown."""

    key: str
    kind: Kind
    status: Status
    heading: str = ""
    """Layer, op type, names of sources, or the cause of a break."""
    code: str = ""
    place: str = ""
    """``file:line in function``, with the file's last component only."""
    footnote: str = ""
    """Counts, and what TensorFlow returned."""
    tooltip: str = ""
    """Full paths and names, several lines."""
    numbers: tuple[int, ...] = ()
    """Root causes, numbered as in the text report."""
    causes: tuple[Cause, ...] = ()
    is_target: bool = False
    ops: int = 0
    """How many ops of the drawing the box stands for, sources not counted."""
    sources: int = 0
    """How many sources it stands for."""
    group: str | None = None
    """Key of the innermost group around it."""
    members: tuple[str, ...] = ()
    """Names of the nodes of the report's graph that the box stands for."""
    at: tuple[str, int] | None = None
    """File and line, where the box stands for one."""


@dataclass(frozen=True, slots=True)
class SceneEdge:
    """Data flows from ``tail`` to ``head``; ``status`` says what gradient does on the way back. ``count`` is the number of data edges bundled."""

    tail: str
    head: str
    status: Status
    count: int = 1


@dataclass(frozen=True, slots=True)
class SceneGroup:
    """A box around boxes: a gradient call, a Keras layer or a function."""

    key: str
    title: str
    parent: str | None = None
    is_call: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture. ``notes`` say what was folded, or why the picture is empty."""

    title: str
    subtitle: str
    nodes: tuple[SceneNode, ...] = ()
    edges: tuple[SceneEdge, ...] = ()
    groups: tuple[SceneGroup, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that occur, in the order of `Status`: what the legend has to explain."""
        used = {n.status for n in self.nodes} | {e.status for e in self.edges}
        return tuple(s for s in Status if s in used)

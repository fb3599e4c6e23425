"""The small objects of SARIF: rules, locations, fingerprints."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tapetrace.analysis.explanations import EXPLANATIONS
from tapetrace.model.locations import Frame, Location
from tapetrace.model.words import Cause
from tapetrace.render.repository import path_in_repository, uri_of
from tapetrace.render.visible import visible

_OWN_RULES = {
    "unexpected": ("A source that should be frozen gets gradient.", "Leave it out of the sources, or stop the gradient on the way to it."),
    "intermittent": ("A source is connected in one call of a line and not in another.", "Look at what differs: a flag, a shape, a branch."),
    "not_asked": ("A trainable variable is live, but no gradient call asks for it.", "Add it to the sources, or set trainable=False."),
    "not_applied": ("A gradient was computed, but never handed to an optimizer.", "Hand it to apply_gradients, or leave it out of the sources."),
    "unexplained": ("A source is not connected, and tapetrace cannot say why.", "Report it as a fault of tapetrace."),
}


def rule(name: str) -> dict[str, Any]:
    """The rule of a cause or finding, with its explanation as help."""
    if name in _OWN_RULES:
        meaning, mend = _OWN_RULES[name]
    else:
        explanation = EXPLANATIONS[Cause(name)]
        meaning, mend = explanation.meaning, explanation.mend
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("_")),
        "shortDescription": {"text": meaning.split(". ")[0].rstrip(".") + "."},
        "fullDescription": {"text": meaning},
        "help": {"text": f"{meaning} {mend}"},
    }


def fingerprint(name: str, location: Location | None, root: Path) -> str:
    """What stays the same when lines above are added or removed: the rule, the file, the function and the text of the line."""
    parts = [name]
    if location:
        parts += [path_in_repository(location.file, root) or location.file, location.function, location.code or str(location.line)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Makes locations. ``root`` is the root of the repository, ``source`` says whether snippets of code go in."""

    root: Path
    source: bool

    def location(self, location: Location, message: str = "") -> dict[str, Any]:
        return self.frame(location.frame, message)

    def frame(self, frame: Frame, message: str = "", id_: int | None = None) -> dict[str, Any]:
        uri, relative = uri_of(frame.file, self.root)
        artifact: dict[str, Any] = {"uri": uri}
        if relative:
            artifact["uriBaseId"] = "SRCROOT"
        region: dict[str, Any] = {"startLine": max(1, frame.line)}
        if self.source and frame.code:
            region["snippet"] = {"text": visible(frame.code)}
        found: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
        if frame.function:
            found["logicalLocations"] = [{"name": visible(frame.function), "kind": "function"}]
        if message:
            found["message"] = {"text": message}
        if id_ is not None:
            found["id"] = id_
        return found

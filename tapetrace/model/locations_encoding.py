"""Locations as plain data and back."""

from __future__ import annotations

from typing import Any

from tapetrace.model.locations import Frame, Location
from tapetrace.model.reading import Reading


def frame_to_dict(frame: Frame) -> dict[str, Any]:
    return {"file": frame.file, "line": frame.line, "function": frame.function, "code": frame.code}


def location_to_dict(location: Location | None) -> dict[str, Any] | None:
    """``{file, line, function, code, called_from: […]}``; the frame inside the library is not part of it."""
    if location is None:
        return None
    return frame_to_dict(location.frame) | {"called_from": [frame_to_dict(f) for f in location.called_from]}


def placed(location: Location | None) -> dict[str, Any]:
    """The keys that say where something is: ``location``, and ``library_location`` if there is one."""
    keys: dict[str, Any] = {"location": location_to_dict(location)}
    if location is not None and location.library is not None:
        keys["library_location"] = frame_to_dict(location.library)
    return keys


def read_frame(data: Reading) -> Frame:
    return Frame(data.field("file").text(), data.field("line").integer(), data.field("function").text(), data.field("code").text())


def read_placed(data: Reading, key: str = "location") -> Location | None:
    """The location of an object that `placed` wrote; under another ``key``, one that `location_to_dict` made."""
    found = data.nullable(key)
    if found is None:
        return None
    library = data.optional("library_location") if key == "location" else None
    called_from = tuple(read_frame(f) for f in found.field("called_from").items())
    return Location(read_frame(found), called_from, read_frame(library) if library else None)

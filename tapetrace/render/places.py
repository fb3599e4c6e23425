"""What a picture calls the lines and functions of a program, so that those of one name are told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tapetrace.model.locations import Location
from tapetrace.model.privacy import last_parts
from tapetrace.model.report import Report
from tapetrace.render.captions import NAME_WIDTH, clip


@dataclass(frozen=True, slots=True)
class Places:
    """``files`` holds for each file as few of the last parts of its path as tell it from the others; of a function that several files have, its
    name is ``shared``."""

    files: Mapping[str, str]
    shared: frozenset[str]

    @classmethod
    def of(cls, report: Report) -> Places:
        """Those of a report and its drawing."""
        breaks = (b for c in report.calls for s in c.sources for b in s.breaks)
        found = [n.location for n in report.drawing.nodes]
        found += [at for told in (report.calls, report.root_causes, breaks) for at in (t.location for t in told)]
        return cls.new(location for location in found if location is not None)

    @classmethod
    def new(cls, locations: Iterable[Location]) -> Places:
        functions = list(dict.fromkeys((at.function, at.file) for at in locations))
        homes = Counter(name for name, _ in functions)
        return cls(last_parts(dict.fromkeys(file for _, file in functions)), frozenset(name for name, number in homes.items() if number > 1))

    def place(self, location: Location | None) -> str:
        """``vae.py:33 in train_step``; the rest of the path is left to the hover title."""
        if location is None:
            return ""
        where = self.line(location)
        return clip(f"{where} in {location.function}" if location.function else where, NAME_WIDTH)

    def line(self, location: Location, width: int = NAME_WIDTH // 2) -> str:
        """``vae.py:33``, with a path of at most ``width`` columns."""
        return f"{self._file(location, width)}:{location.line}"

    def function(self, location: Location | None, brackets: str = "()") -> str:
        """``loss()``, or ``loss() in a/model.py`` where another file has such a function too; empty outside of functions."""
        if location is None or location.function in ("", "<module>"):
            return ""
        where = f" in {self._file(location)}" if location.function in self.shared else ""
        return f"{location.function}{brackets}{where}"

    def _file(self, location: Location, width: int = NAME_WIDTH // 2) -> str:
        found = self.files.get(location.file, location.file)
        return clip(found, width, keep_end=True) if "/" in found or width < NAME_WIDTH // 2 else found

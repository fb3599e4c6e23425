"""Typed access to data that came from outside, for files that may be broken or hostile. Every complaint names the key it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from tapetrace.errors import ReportError

E = TypeVar("E", bound=Enum)

MAX_ITEMS = 1_000_000
MAX_NUMBER = 2**53

_SURROGATES = re.compile("[\ud800-\udfff]")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of parsed JSON, and the keys that lead to it (``calls[0].sources[2]``), which every error names."""

    value: object
    path: str = ""

    def complain(self, problem: str) -> ReportError:
        """The error to raise about this value."""
        where = f"`{self.path[:120]}`" if self.path else "the top level"
        return ReportError(f"this is not a report that tapetrace can read: {where} {problem}; write it again with `tapetrace check … -o report.json`")

    def _expected(self, wanted: str) -> ReportError:
        if self.value is _ABSENT:
            return self.complain(f"is missing, it should be {wanted}")
        return self.complain(f"should be {wanted}, not {self._shown()}")

    def _shown(self) -> str:
        if isinstance(self.value, str):
            return repr(self.value[:40])
        if self.value is None or isinstance(self.value, (bool, float)):
            return repr(self.value)
        if isinstance(self.value, int):
            return str(self.value) if abs(self.value) <= MAX_NUMBER else "a number of that size"
        return f"a {type(self.value).__name__}"

    def field(self, key: str) -> Reading:
        """The value under ``key`` of an object; an absent key fails when it is used."""
        if not isinstance(self.value, dict):
            raise self._expected("an object")
        return Reading(self.value.get(key, _ABSENT), f"{self.path}.{key}" if self.path else key)

    def optional(self, key: str) -> Reading | None:
        """The value under ``key``, None when it is absent or null."""
        found = self.field(key)
        return None if found.value is None or found.value is _ABSENT else found

    def nullable(self, key: str) -> Reading | None:
        """The value under ``key``, which must be there; None when it is null."""
        found = self.field(key)
        if found.value is _ABSENT:
            raise found._expected("there, null at least")
        return None if found.value is None else found

    def items(self) -> Iterator[Reading]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self._expected("a list")
        if len(self.value) > MAX_ITEMS:
            raise self.complain(f"has {len(self.value)} elements, more than {MAX_ITEMS}")
        return (Reading(v, f"{self.path}[{i}]") for i, v in enumerate(self.value))

    def text(self) -> str:
        """A string; lone surrogates, which no encoding can write, become U+FFFD."""
        if not isinstance(self.value, str):
            raise self._expected("a string")
        return _SURROGATES.sub("\ufffd", self.value)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self._expected("true or false")
        return self.value

    def integer(self) -> int:
        """A whole number from 0 to 2**53."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not 0 <= self.value <= MAX_NUMBER:
            raise self._expected("a whole number, 0 or more")
        return self.value

    def number(self) -> float:
        """A number, or one of the strings NaN, Infinity and -Infinity, which JSON has no number for."""
        if self.value in ("NaN", "Infinity", "-Infinity") or isinstance(self.value, float):
            return float(self.value)
        if isinstance(self.value, int) and not isinstance(self.value, bool) and abs(self.value) <= MAX_NUMBER:
            return float(self.value)
        raise self._expected('a number, "NaN", "Infinity" or "-Infinity"')

    def one_of(self, kind: type[E]) -> E:
        """A member of an enum, by its value."""
        if isinstance(self.value, str):
            for member in kind:
                if member.value == self.value:
                    return member
        raise self._expected(f"one of {', '.join(str(m.value) for m in kind)}")

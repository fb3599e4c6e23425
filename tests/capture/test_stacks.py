"""Locations from stacks that are written by hand, from notebook cells, and of the line that asks."""

from __future__ import annotations

import linecache
import sys

import pytest

from tapetrace.capture.locations import Locator, RawFrame, here
from tapetrace.capture.origins import Origins
from tapetrace.model.locations import Frame, Location
from tests.capture.stack_files import API, CAPTURE, INSTALLED, MATH, OPS, TEST, USER


@pytest.mark.parametrize(
    ("stack", "lines"),
    [
        ([(USER, 3, "f"), (MATH, 1, "exp"), (OPS, 2, "from_node_def")], [3]),
        ([(USER, 9, "<module>"), (USER, 3, "f"), (MATH, 1, "exp")], [3, 9]),
        ([(USER, 9, "f"), (INSTALLED + "/lib/x.py", 4, "apply"), (USER, 3, "g"), (MATH, 1, "exp")], [3, 9]),
        ([(TEST, 9, "test"), (API, 1, "check"), (USER, 3, "f"), (CAPTURE, 1, "gradient"), (MATH, 1, "exp")], [3]),
        ([(TEST, 9, "test"), (API, 1, "check"), (MATH, 1, "exp")], []),
        ([(TEST, 9, "test"), (API, 1, "check"), (USER, 5, "tf__f"), (USER, 3, "tf__g")], [3, 5]),
        ([(USER, 9, "<module>"), (USER, 3, "f"), (CAPTURE, 1, "gradient"), (MATH, 1, "exp")], [3, 9]),
        ([(USER, 3, "f"), (USER, 3, "<listcomp>"), (MATH, 1, "exp")], [3, 3]),
        ([(USER, 3, "f"), (USER, 3, "f"), (MATH, 1, "exp")], [3]),
        ([], []),
    ],
)
def test_stacks(stack: list[RawFrame], lines: list[int]) -> None:
    location = Locator().locate(stack)
    assert ([] if location is None else [f.line for f in (location.frame, *location.called_from)]) == lines


def test_names_lose_what_autograph_put_before_them() -> None:
    locator = Locator()
    stack = [(USER, 5, "tf__f"), (USER, 3, "tf__g"), (MATH, 1, "exp")]
    assert locator.locate(stack) == Location(Frame(USER, 3, "g"), (Frame(USER, 5, "f"),), Frame(MATH, 1, "exp", linecache.getline(MATH, 1).strip()))
    outer = locator.locate_function(stack, USER, "tf__f")
    assert outer is not None
    assert outer.frame == Frame(USER, 5, "f")


def test_the_innermost_call_of_a_function_that_calls_itself() -> None:
    stack = [(USER, 5, "f"), (USER, 7, "f"), (USER, 3, "g"), (MATH, 1, "exp")]
    location = Locator().locate_function(stack, USER, "f")
    assert location is not None
    assert (location.line, [f.line for f in location.called_from]) == (7, [5])


def test_each_file_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    look = Origins._look
    monkeypatch.setattr(Origins, "_look", lambda self, file: (looked.append(file), look(self, file))[1])
    locator = Locator()
    for line in range(50):
        locator.locate([(USER, line, "f"), (MATH, line, "exp")])
    assert sorted(looked) == sorted([USER, MATH])


def test_the_source_of_a_notebook_cell_comes_from_linecache(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = "<ipython-input-7-0123456789ab>"
    monkeypatch.setitem(linecache.cache, cell, (20, None, ["a = 1\n", "    b = tf.round(a)\n"], cell))
    location = Locator().locate([(cell, 2, "<module>"), (MATH, 1, "round")])
    assert location is not None
    assert location.code == "b = tf.round(a)"


def test_here_is_the_callers_own_line() -> None:
    line = sys._getframe().f_lineno + 1
    stack = here()
    location = Locator().locate(stack)
    assert location is not None
    assert (location.file, location.line, location.function) == (__file__, line, "test_here_is_the_callers_own_line")

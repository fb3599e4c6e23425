"""Filters and the search: what they leave, and how many."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from selenium.webdriver.support.ui import Select

from tapetrace.model.locations import Location
from tapetrace.model.words import Cause
from tests.unit import reports

from .conftest import Browser
from .pages import PAGES, Write


@pytest.mark.parametrize(
    ("typed", "verdicts", "layer", "call", "sources", "causes"),
    [
        ("", "connected none", "", "", 11, 2),
        ("conv1", "connected none", "", "", 2, 1),
        ("numpy.() gan.py:47", "connected none", "", "", 0, 0),
        ("NUMPY_escape gan.py:47", "connected none", "", "", 6, 1),
        ("never_read", "connected none", "", "", 1, 1),
        ("", "connected", "", "", 4, 0),
        ("", "none", "generator/conv2", "", 2, 1),
        ("", "connected none", "critic", "", 4, 0),
        ("", "connected none", "", "1", 7, 2),
        ("kernel", "connected none", "", "0", 2, 0),
    ],
)
def test_filters(browser: Browser, page: Write, typed: str, verdicts: str, layer: str, call: str, sources: int, causes: int) -> None:
    browser.open(page("gan", PAGES["gan"]()))
    for box in browser.all("#filters input[name='verdict']"):
        if box.get_attribute("value") not in verdicts.split():
            box.click()
    Select(browser.find("#layer")).select_by_value(layer)
    Select(browser.find("#call")).select_by_value(call)
    browser.keys("#search", typed)
    assert browser.find("#shown").text == f"{sources} of 11 sources and {causes} of 2 causes shown"
    assert len(browser.texts("tr[data-source]")) == sources
    assert len(browser.texts("[data-place]")) == causes
    assert ("No source fits this search and these filters." in browser.find("#sources").text) is (sources == 0)
    assert browser.find(".sources").is_displayed() is (sources > 0)


def test_a_search_finds_a_cause_and_what_it_blocks_by_its_op_and_not_by_the_lines_around(browser: Browser, page: Write, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("a = sideways(x)\nb = tf.stop_gradient(a)\n", encoding="utf-8")
    at = Location.new(str(program), 2, "train_step", "b = tf.stop_gradient(a)")
    browser.open(page("searched", reports.one_cause(Cause.STOP_GRADIENT, at, "enc/kernel", op="inner/halt", type_="StopGradient")))
    for typed, sources, causes in (("sideways", 0, 0), ("(StopGradient)", 1, 1), ("enc/kernel", 1, 1)):
        browser.find("#search").clear()
        browser.keys("#search", typed)
        assert browser.find("#shown").text == f"{sources} of 3 sources and {causes} of 1 causes shown", typed


def test_a_page_without_a_break_speaks_of_none(browser: Browser, page: Write) -> None:
    browser.open(page("report_connected", PAGES["report_connected"]()))
    assert re.fullmatch(r"(\d+) of \1 sources shown", browser.find("#shown").text)
    assert browser.texts(".sources thead th") == ["Verdict", "Source"]

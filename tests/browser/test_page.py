"""The page in a browser: nothing is fetched, nothing complains, and all is there to read, without JavaScript and on paper too."""

from __future__ import annotations

import base64

import pytest
from selenium.webdriver.common.keys import Keys

from tapetrace.model.locations import Location
from tapetrace.model.words import Cause
from tests.unit import reports

from .conftest import Browser
from .pages import PAGES, Write


@pytest.mark.parametrize("name", PAGES)
def test_each_page_opens_without_a_request_or_a_complaint(browser: Browser, page: Write, name: str) -> None:
    browser.open(page(name, PAGES[name]()))
    for link in [a.get_attribute("href") or "" for a in browser.all("main a[href^='#']")][:6]:
        browser.driver.get(link)
        browser.settle()
        assert browser.find("#chosen").is_displayed()
    assert browser.complaints() == []
    assert browser.requests() == []


def test_without_javascript_all_is_there_to_read(browser: Browser, page: Write) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    path = page("gan", PAGES["gan"]())
    browser.driver.get("about:blank")
    browser.driver.get(path.as_uri())
    assert len(browser.texts("tr[data-source]")) == 11
    assert browser.texts(".place h3") == ["1 numpy_escape", "2 never_read"]
    assert all(svg.is_displayed() for svg in browser.all("svg"))
    assert len(browser.all("svg")) == 2
    assert not any(e.is_displayed() for e in browser.all(".only-js"))
    assert all(e.is_displayed() for e in browser.all(".no-js"))
    assert browser.texts(".sources thead th") == ["Verdict", "Source", "Call", "Stopped at"]
    assert browser.texts("tr[data-source] .in-call") == ["1: gan.py:51"] * 4 + ["2: gan.py:52"] * 7
    frame = browser.find(".view")
    for _ in range(60):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        if browser.driver.switch_to.active_element == frame:
            return
    pytest.fail("the Tab key does not reach the frame of the picture")


def test_print_has_every_picture_and_no_controls(browser: Browser, page: Write) -> None:
    browser.open(page("gan", PAGES["gan"]()), "#cause=1")
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF-")
    browser.media(media="print", prefers_color_scheme="dark")
    assert [svg.is_displayed() for svg in browser.all("svg")] == [True, True]
    assert not any(e.is_displayed() for e in browser.all("#filters, #chosen, .controls, #tabs, .knob"))
    assert browser.style("body", "color") == "rgba(0, 0, 0, 1)"


def test_a_line_without_a_space_is_printed_whole(browser: Browser, page: Write) -> None:
    at = Location.new("nowhere.py", 3, "train_step", f"x = '{'a' * 300}'")
    browser.open(page("unbroken", reports.one_cause(Cause.STOP_GRADIENT, at, "", "enc/kernel")))
    browser.media(media="print")
    browser.driver.execute_script("document.documentElement.style.width = '180mm'")
    widths = browser.driver.execute_script("const p = document.querySelector('.place pre'); return [p.scrollWidth, p.clientWidth]")
    assert widths[0] <= widths[1]


def test_hostile_names_are_shown_as_they_are(browser: Browser, page: Write) -> None:
    browser.open(page("hostile", PAGES["hostile"]()))
    shown = browser.texts("tr[data-source] .choose")
    assert shown[0] == 'say "hi" \\N \\G <b>&amp;</b> {a|b}/0'
    assert shown[1] == "a\\nb\\rc\\td\\x00\\x1b/1"
    assert shown[2] == "層/重み/カーネル/2"
    for row in browser.all("tr[data-source] .choose"):
        browser.driver.execute_script("arguments[0].click()", row)
        browser.settle()
        assert browser.find("#chosen h3").text == row.text
    assert browser.complaints() == []

"""What the page looks like: dark, without motion, in narrow windows, and with long names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapetrace.model.locations import Location
from tests.unit import drawings

from .conftest import Browser
from .pages import PAGES, Write
from .routes import routed


def test_dark_mode_reaches_page_and_picture(browser: Browser, page: Write) -> None:
    browser.open(page("vae", PAGES["vae"]()))
    seen = {}
    for scheme in ("light", "dark"):
        browser.media(prefers_color_scheme=scheme)
        seen[scheme] = [browser.style("body", "background-color"), browser.style(".node .f-live-fill", "fill"), browser.style(".node .f-ink", "fill")]
    assert seen["light"] == ["rgba(255, 255, 255, 1)", "rgb(230, 245, 240)", "rgb(26, 26, 26)"]
    assert seen["dark"] == ["rgba(22, 24, 29, 1)", "rgb(16, 49, 42)", "rgb(233, 233, 236)"]


def test_motion_is_left_out_when_it_is_not_wanted(browser: Browser, page: Write) -> None:
    browser.open(page("vae", PAGES["vae"]()))
    browser.media(prefers_reduced_motion="reduce")
    assert browser.style(".node", "transition-duration") == "0s"
    browser.media(prefers_reduced_motion="no-preference")
    assert browser.style(".node", "transition-duration") == "0.15s"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_call_of_a_source_fits_its_column_on_one_line(browser: Browser, page: Write, width: int) -> None:
    made = drawings.gan()
    folder = "/home/ann/experiments/adversarial/a_folder_of_this_name"
    files = [f"{folder}/the_training_step_of_both.py", f"{folder}/loss.py"]
    places = [Location.new(file, 1041, "train_step", "tape.gradient(loss, weights)") for file in files]
    calls = tuple(replace(call, location=place) for call, place in zip(made.calls, places, strict=True))
    path = page("far", routed(replace(made, calls=calls)))
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    try:
        browser.open(path)
        cells = browser.all("tr[data-source] .in-call")
        assert {(c.text, c.get_attribute("title")) for c in cells} == {
            ("1: the_tra…_both.py:1041", f"1: {files[0]}:1041"),
            ("2: loss.py:1041", f"2: {files[1]}:1041"),
        }
        lines = "const r = document.createRange(); r.selectNodeContents(arguments[0]); return r.getClientRects().length"
        assert {browser.driver.execute_script(lines, cell) for cell in cells} == {1}
        assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("name", ["gan", "hostile", "report_in_series"])
def test_a_narrow_window_scrolls_in_one_direction(browser: Browser, page: Write, name: str) -> None:
    browser.driver.set_window_size(500, 800)
    browser.open(page(name, PAGES[name]()))
    widths = browser.driver.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1]


def test_long_names_leave_the_heads_of_the_columns_whole(browser: Browser, page: Write) -> None:
    browser.open(page("hostile", PAGES["hostile"]()))
    heights = {h.text: h.size["height"] for h in browser.all(".sources thead th")}
    assert heights["Stopped at"] < 40

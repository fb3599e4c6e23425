"""Boxes are opened without an engine in Python, without motion, with fingers, and not at all where nothing can be unpacked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.render import engines
from tapetrace.render.html import write_html
from tests.unit import drawings

from .conftest import Browser
from .opened_boxes import KL, LOSS, box_texts, fragment, handle, is_quiet, node, press, vae, ways
from .pages import Write
from .routes import routed


@pytest.mark.parametrize("name", ["vae", "gan", "branches", "resnet", "hostile"])
def test_without_an_engine_in_python_the_page_lays_out_all_of_it(
    browser: Browser, page: Write, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = routed(getattr(drawings, name)()) if name != "hostile" else drawings.hostile()
    browser.open(page(name, report))
    texts = box_texts(browser)
    between = ways(browser)
    monkeypatch.setattr(engines, "engine_command", lambda form: None)
    browser.open(write_html(report, tmp_path / "plain.html"))
    browser.wait_for(".picture:not(.off) .laid")
    browser.wait_for(".plainer", gone=True)
    drawn = box_texts(browser)
    assert drawn.keys() == texts.keys()
    # Python writes what cannot be seen in two ways: the page always as an escape, pictures for Graphviz as a replacement sign.
    assert name == "hostile" or drawn == texts
    assert ways(browser) == between
    assert is_quiet(browser)


def test_motion_is_left_out_of_opening_too(browser: Browser, page: Write) -> None:
    browser.media(prefers_reduced_motion="reduce")
    browser.open(page("vae", vae()))
    count = "window.frames = 0; const ask = requestAnimationFrame; window.requestAnimationFrame = (f) => { window.frames += 1; return ask(f); }"
    browser.driver.execute_script(count)
    press(browser, node(LOSS))
    browser.driver.execute_async_script("const done = arguments[0]; setTimeout(done, 1500);")
    assert browser.all(handle(LOSS))
    assert browser.driver.execute_script("return window.frames") == 0


def test_fingers_move_zoom_and_open(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()))
    frame = browser.driver.execute_script("const r = document.querySelector('.view').getBoundingClientRect(); return [r.left, r.top]")

    def touch(kind: str, *points: tuple[float, float]) -> None:
        placed = [{"x": frame[0] + x, "y": frame[1] + y, "id": i} for i, (x, y) in enumerate(points)]
        browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": placed})

    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        before = browser.view_box()
        touch("touchStart", (60, 60))
        for step in range(1, 6):
            touch("touchMove", (60 + 10 * step, 60 + 6 * step))
        touch("touchEnd")
        browser.settle()
        moved = browser.view_box()
        assert moved[0] < before[0]
        assert moved[1] < before[1]
        assert moved[2:] == pytest.approx(before[2:])
        touch("touchStart", (200, 200), (260, 200))
        for step in range(1, 6):
            touch("touchMove", (200 - 10 * step, 200), (260 + 10 * step, 200))
        touch("touchEnd")
        browser.settle()
        near = browser.view_box()
        assert near[2] == pytest.approx(moved[2] * 60 / 160, rel=0.15)
        assert not browser.all(".laid")
        browser.click("[aria-label='Show the whole picture']")
        box = browser.find(node(LOSS)).rect
        at = (box["x"] + box["width"] / 2 - frame[0], box["y"] + box["height"] / 2 - frame[1])
        touch("touchStart", at)
        touch("touchEnd")
        browser.wait_for(handle(LOSS))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_a_browser_that_cannot_unpack_still_chooses(browser: Browser, page: Write) -> None:
    browser.driver.get("about:blank")
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.DecompressionStream"})
    try:
        browser.open(page("vae", vae()), f"#open=0.{KL}")
        assert not browser.find(".node .knob").is_displayed() if browser.all(".node .knob") else True
        browser.click(node(KL))
        assert fragment(browser) == f"box=0.{KL}"
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": added["identifier"]})

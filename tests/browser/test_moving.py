"""Moving about with mouse and keyboard, and what is seen of the picture first."""

from __future__ import annotations

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.keys import Keys

from tapetrace.model.graph import Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report, RootCause
from tapetrace.model.words import Cause
from tests.unit import drawings

from .conftest import Browser
from .pages import PAGES, Write
from .routes import routed


def wide() -> Report:
    """Root causes side by side, the first of them last in the drawing, too many to be read at once."""
    d = drawings.Drawing()
    causes = []
    for number in range(12, 0, -1):
        at = Location.new("train.py", number, "train_step", f"h{number} = tf.round(weight * x) * scale_of_the_output_{number}")
        d.source(f"l{number}/w", Status.DEAD)
        d.op(f"round{number}", "Round", [f"l{number}/w"], Status.BREAK, at, cause=Cause.GRADIENT_IS_NONE, number=number)
        d.op(f"sum{number}", "Sum", [f"round{number}"], Status.LIVE, Location.new("train.py", 20 + number, "train_step", f"loss += h{number}"))
        causes.append(RootCause(number, Cause.GRADIENT_IS_NONE, at, ((f"round{number}", "Round"),), (f"l{number}/w",), (f"l{number}/w",)))
    d.op("loss", "AddN", [f"sum{number}" for number in range(1, 13)], Status.LIVE, None, role=Role.TARGET)
    return routed(drawings.report_of(d, causes=causes[::-1]))


@pytest.mark.parametrize("size", [(1440, 900), (500, 800)])
def test_the_first_root_cause_and_its_way_on_are_what_is_seen_first(browser: Browser, page: Write, size: tuple[int, int]) -> None:
    browser.driver.set_window_size(*size)
    browser.open(page("wide", wide()))
    seen = """const f = document.querySelector('.view').getBoundingClientRect();
    return [...document.querySelectorAll('.node')].filter((n) => {
      const r = n.getBoundingClientRect();
      return r.left >= f.left && r.right <= f.right && r.top >= f.top && r.bottom <= f.bottom;
    }).map((n) => n.getAttribute('aria-label'))"""
    labels = browser.driver.execute_script(seen)
    assert {"break 1", "live"} <= {label.partition(":")[0] for label in labels}
    assert any("loss += h1" in label for label in labels)


def test_mouse_pans_and_zooms_about_the_pointer(browser: Browser, page: Write) -> None:
    browser.open(page("vae", PAGES["vae"]()))
    before = browser.view_box()
    frame = browser.find(".view")
    ActionChains(browser.driver).scroll_from_origin(ScrollOrigin.from_element(frame, 150, 80), 0, -200).perform()
    browser.settle()
    zoomed = browser.view_box()
    assert zoomed[2] < before[2] * 0.8
    under_pointer = [
        [box[at] + box[at + 2] / 2 + offset * box[2] / frame.size["width"] for at, offset in ((0, 150), (1, 80))] for box in (before, zoomed)
    ]
    assert under_pointer[0] == pytest.approx(under_pointer[1], abs=1)
    ActionChains(browser.driver).move_to_element(frame).click_and_hold().move_by_offset(60, 40).release().perform()
    browser.settle()
    moved = browser.view_box()
    assert moved[0] < zoomed[0]
    assert moved[1] < zoomed[1]
    assert moved[2:] == pytest.approx(zoomed[2:])
    assert not browser.find("#chosen").is_displayed()
    browser.click("[aria-label='Show the whole picture']")
    assert browser.view_box() == pytest.approx(before)


def test_keyboard_pans_zooms_chooses_and_leaves(browser: Browser, page: Write) -> None:
    browser.open(page("vae", PAGES["vae"]()))
    whole = browser.view_box()
    browser.keys(".view", "+", "+")
    near = browser.view_box()
    assert near[2] == pytest.approx(whole[2] / 1.25**2)
    browser.keys(".view", Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert browser.view_box()[0] > near[0]
    assert browser.view_box()[1] > near[1]
    browser.keys(".view", "-")
    assert browser.view_box()[2] == pytest.approx(whole[2] / 1.25)
    browser.keys(".view", "0")
    assert browser.view_box() == pytest.approx(whole)
    browser.keys(".node.break", Keys.ENTER)
    assert browser.driver.current_url.endswith("#cause=1")
    browser.keys("body", Keys.ESCAPE)
    assert not browser.find("#chosen").is_displayed()
    browser.keys("body", "/")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "search"


def test_the_tab_key_reaches_everything_in_reading_order_and_shows_where_it_is(browser: Browser, page: Write) -> None:
    browser.open(page("gan", PAGES["gan"]()))
    seen = []
    for _ in range(100):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.driver.switch_to.active_element
        if active.tag_name == "body":
            break
        seen.append(next((found for name in ("class", "id", "name") if (found := active.get_dom_attribute(name))), active.tag_name))
        style = browser.driver.execute_script("const s = getComputedStyle(arguments[0]); return s.outlineStyle + s.outlineWidth", active)
        ring = browser.driver.execute_script("const r = arguments[0].querySelector('.ring'); return r && getComputedStyle(r).stroke", active)
        assert style == "solid3px" or (ring and ring != "none"), seen[-1]
    order = [seen.index(thing) for thing in ("skip", "search", "verdict", "layer", "call", "choose", "view", "node dead")]
    assert order == sorted(order)
    assert sum(thing == "choose" for thing in seen) == 2 + 11

"""The page in a browser: nothing is fetched, nothing complains, and a choice shows what it should."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tapetrace.model.graph import Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report, RootCause
from tapetrace.model.words import Cause
from tests.unit import drawings, reports

from .conftest import Browser
from .routes import routed

Write = Callable[[str, Report], Path]

PAGES: dict[str, Callable[[], Report]] = {
    **{name: lambda name=name: routed(getattr(drawings, name)()) for name in ("vae", "gan", "branches", "resnet")},
    **{f"report_{name}": make for name, make in reports.EXAMPLES.items()},
    "hostile": drawings.hostile,
}


@pytest.mark.parametrize("name", PAGES)
def test_each_page_opens_without_a_request_or_a_complaint(browser: Browser, page: Write, name: str) -> None:
    browser.open(page(name, PAGES[name]()))
    for link in [a.get_attribute("href") or "" for a in browser.all("main a[href^='#']")][:6]:
        browser.driver.get(link)
        browser.settle()
        assert browser.find("#chosen").is_displayed()
    assert browser.complaints() == []
    assert browser.requests() == []


def test_a_source_lights_its_path_and_its_break(browser: Browser, page: Write) -> None:
    browser.open(page("gan", PAGES["gan"]()))
    browser.click("tr[data-source='4'] .choose")
    assert browser.driver.current_url.endswith("#source=generator/dense/kernel&call=2")
    assert browser.texts("#chosen h3") == ["generator/dense/kernel"]
    assert browser.texts("#chosen ol li") == ["1 numpy_escape gan.py:47 moments = np.mean(generated.numpy(), axis=0)"]
    lit = [e.get_attribute("aria-label") or "" for e in browser.all(".choosing .node.lit")]
    assert [text.split(": ")[0] for text in lit] == ["dead", "dead", "dead", "dead", "break 1", "live", "target, live"]
    assert [e.get_attribute("data-numbers") for e in browser.all(".node.stop")] == ["1"]
    assert len(browser.all(".choosing .edge.lit")) == 6
    assert float(browser.style(".choosing .node:not(.lit)", "opacity")) < 0.5
    assert browser.find("tr[data-source='4']").get_attribute("aria-current") == "true"


@pytest.mark.parametrize(("name", "start"), [("vae", "vae/mu/bias → ✂ "), ("resnet", "resnet/block1/conv1/kernel → ")])
def test_a_path_begins_with_the_source_and_not_with_its_neighbours(browser: Browser, page: Write, name: str, start: str) -> None:
    browser.open(page(name, PAGES[name]()), f"#source={start.partition(' ')[0]}")
    path = next(p.text for p in browser.all("#chosen p") if p.text.startswith("path: "))
    assert path.startswith(f"path: {start}")
    assert path.count(start.partition(" ")[0]) == 1


def test_a_path_calls_a_line_by_its_code_whatever_is_around_it(browser: Browser, page: Write) -> None:
    browser.open(page("branches", PAGES["branches"]()), "#source=router/kernel")
    path = next(p.text for p in browser.all("#chosen p") if p.text.startswith("path: "))
    assert path == "path: router/kernel → logits = router(x) → ✂ non_float → row = tf.gather(table, index) → loss = tf.reduce_sum(row + odd)"


def test_a_break_lists_what_it_blocks_and_shows_what_comes_alive(browser: Browser, page: Write) -> None:
    browser.open(page("gan", PAGES["gan"]()))
    browser.click(".node.break[data-numbers='1']")
    assert browser.driver.current_url.endswith("#cause=1")
    names = [f"generator/{layer}/{part}" for layer in ("dense", "conv1", "conv2") for part in ("kernel", "bias")]
    assert browser.texts("#chosen .names li") == names
    assert "reopening it reconnects 6" in browser.find("#chosen").text
    assert len(browser.all("tr.behind.revived")) == 6
    assert {e.get_attribute("class") for e in browser.all(".node.revived")} == {"node dead revived", "node break revived lit stop"}
    assert [e.get_attribute("class") for e in browser.all(".node.live.lit")] == ["node live lit"] * 2
    assert browser.find("[data-place][aria-current='true'] h3").text == "1 numpy_escape"


def test_a_break_that_reconnects_nothing_says_so(browser: Browser, page: Write) -> None:
    browser.open(page("gan", PAGES["gan"]()), "#cause=2")
    assert "blocks 1; reopening it alone reconnects none" in browser.find("#chosen").text
    assert browser.all(".revived") == []


def test_a_link_opens_the_state_and_back_leaves_it(browser: Browser, page: Write) -> None:
    path = page("gan", PAGES["gan"]())
    browser.open(path, "#source=critic/hidden/kernel&call=1")
    assert browser.texts("#tabs [aria-pressed='true']") == ["Call 1"]
    browser.click("tr[data-source='5'] .choose")
    assert browser.texts("#tabs [aria-pressed='true']") == ["Call 2"]
    browser.driver.back()
    browser.settle()
    assert browser.texts("#chosen h3") == ["critic/hidden/kernel"]
    browser.open(path, "#call=1&source=critic/hidden/kernel")
    assert browser.texts("#chosen h3") == ["critic/hidden/kernel"]
    browser.open(path, "#source=nobody")
    assert not browser.find("#chosen").is_displayed()
    assert browser.complaints() == []


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


@pytest.mark.parametrize("name", ["gan", "hostile", "report_in_series"])
def test_a_narrow_window_scrolls_in_one_direction(browser: Browser, page: Write, name: str) -> None:
    browser.driver.set_window_size(500, 800)
    browser.open(page(name, PAGES[name]()))
    widths = browser.driver.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1]


def test_a_choice_on_a_phone_leads_to_the_picture(browser: Browser, page: Write) -> None:
    browser.open(page("gan", PAGES["gan"]()), "#cause=1")
    assert not browser.find(".to-picture").is_displayed(), "text and picture stand side by side"
    browser.driver.set_window_size(500, 800)
    browser.open(page("gan", PAGES["gan"]()), "#cause=1")
    where = "return document.querySelector('.node.stop').getBoundingClientRect().top / innerHeight"
    assert browser.driver.execute_script(where) > 1
    browser.find(".to-picture").click()
    browser.settle()
    assert 0 <= browser.driver.execute_script(where) < 0.6
    assert browser.driver.current_url.endswith("#cause=1")


def test_long_names_leave_the_heads_of_the_columns_whole(browser: Browser, page: Write) -> None:
    browser.open(page("hostile", PAGES["hostile"]()))
    heights = {h.text: h.size["height"] for h in browser.all(".sources thead th")}
    assert heights["Stopped at"] < 40


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

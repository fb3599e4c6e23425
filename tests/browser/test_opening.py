"""Boxes that open and close in the browser: what is seen then, and that the first picture comes back."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.unit import drawings

from .conftest import Browser
from .opened_boxes import BREAK, FRAME, KL, LOSS, box_texts, boxes, drawing, fragment, handle, is_quiet, node, press, resnet, vae
from .pages import Write
from .routes import routed


def test_a_click_opens_a_box_and_its_title_gives_the_first_picture_back(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()))
    before, seen = drawing(browser), browser.view_box()
    assert browser.driver.execute_script("return typeof Viz") == "undefined"  # started when it is needed
    browser.click(node(LOSS))
    browser.wait_for(handle(LOSS))
    assert boxes(browser) == ["p0_0", BREAK, KL, *(f"{LOSS}.{k}" for k in range(3))]
    assert browser.texts(f"{node(f'{LOSS}.0')} text") == ["Square float32[?,8]", "Square"]
    assert browser.texts(f"{node(f'{LOSS}.2')} text") == ["TARGET", "loss float32[?,8]", "AddV2"]
    assert browser.find(handle(LOSS)).text == "return tf.reduce_mean(tf.square(x - rec)) + kl"
    assert browser.find(f"{node(f'{LOSS}.0')} title").get_attribute("textContent").splitlines()[0].endswith("vae.py:28")
    assert fragment(browser) == f"open=0.{LOSS}"
    assert browser.texts(".says") == ["return tf.reduce_mean(tf.square(x - rec)) + kl opened: 3 boxes"]
    browser.click(handle(LOSS))
    browser.wait_for(".laid", gone=True)
    assert drawing(browser) == before
    assert browser.view_box() == pytest.approx(seen)
    assert fragment(browser) == ""
    assert is_quiet(browser)


def test_one_level_at_a_time_with_a_way_back(browser: Browser, page: Write) -> None:
    browser.open(page("resnet", resnet()))
    stretch = "p0_0"
    before = boxes(browser)
    press(browser, node(stretch))
    browser.wait_for(handle(stretch))
    assert ["block0" in box_texts(browser)[f"{stretch}.0"], "block18" in box_texts(browser)[f"{stretch}.18"]] == [True, True]
    press(browser, node(f"{stretch}.0"))
    browser.wait_for(handle(f"{stretch}.0"))
    press(browser, node(f"{stretch}.0.0"))
    browser.wait_for(handle(f"{stretch}.0.0"))
    assert box_texts(browser)[f"{stretch}.0.0.2"] == ["Conv2D", "Conv2D", "float32[?,8]"]
    assert browser.texts(".crumbs button") == ["Whole picture", "block0/conv1 … block18/conv2", "block0", "conv1"]
    browser.click(".crumbs button:nth-of-type(3)")
    browser.wait_for(handle(f"{stretch}.0.0"), gone=True)
    assert fragment(browser) == f"open=0.{stretch},0.{stretch}.0"
    browser.click(".crumbs button:nth-of-type(1)")
    browser.wait_for(".laid", gone=True)
    assert (boxes(browser), fragment(browser), browser.texts(".crumbs button")) == (before, "", [])
    assert is_quiet(browser)


def test_the_keyboard_opens_closes_and_keeps_its_place(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()))

    def focused() -> str:
        script = "const a = document.activeElement; return a.dataset.box || (a.closest('.cluster') || {dataset: {}}).dataset.group"
        return browser.driver.execute_script(script)

    browser.keys(node(KL), Keys.ENTER)
    browser.wait_for(handle(KL))
    assert focused() == KL
    assert browser.find(handle(KL)).get_attribute("aria-expanded") == "true"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait_for(".laid", gone=True)
    assert focused() == KL
    assert browser.find(node(KL)).get_attribute("aria-expanded") == "false"
    browser.keys(node(BREAK), Keys.ENTER)  # a break is chosen by Enter, and opened by O
    assert fragment(browser) == "cause=1"
    browser.keys(node(BREAK), "o")
    browser.wait_for(handle(BREAK))
    assert fragment(browser) == f"cause=1&open=0.{BREAK}"
    browser.keys(node(KL), Keys.SPACE)
    assert fragment(browser) == f"box=0.{KL}&open=0.{BREAK}"
    browser.keys("body", Keys.ESCAPE)
    assert fragment(browser) == f"open=0.{BREAK}"
    browser.keys("body", Keys.ESCAPE)
    browser.wait_for(".laid", gone=True)
    assert fragment(browser) == ""
    assert is_quiet(browser)


def test_a_frame_closes_to_one_box_and_opens_again(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()))
    before = drawing(browser)
    browser.click(handle(FRAME))
    browser.wait_for(node(FRAME))
    assert boxes(browser) == ["p0_0", BREAK, FRAME]
    assert browser.texts(f"{node(FRAME)} text") == ["TARGET", "total_loss()", "2 boxes · 5 ops"]
    assert fragment(browser) == f"open=-0.{FRAME}"
    assert (browser.texts(".crumbs button"), browser.texts(".crumbs span")) == (["Whole picture"], ["1 frame closed"])
    seen, whole = browser.view_box(), [float(n) for n in (browser.find(".view svg").get_dom_attribute("data-whole") or "").split()]
    assert [seen[i] + seen[i + 2] / 2 for i in (0, 1)] == pytest.approx([whole[i] + whole[i + 2] / 2 for i in (0, 1)])
    browser.click(node(FRAME))
    browser.wait_for(".laid", gone=True)
    assert drawing(browser) == before


def test_too_many_open_boxes_close_the_oldest_and_say_so(browser: Browser, page: Write) -> None:
    lines = ["p0_2", "p0_3", "p0_6", "p0_7", "p0_9", "p0_10"]  # 37 boxes in each
    browser.open(page("resnet", resnet()), "#open=" + ",".join(f"0.{key}" for key in lines))
    browser.wait_for(handle("p0_9"))
    assert [bool(browser.all(handle(key))) for key in lines] == [True] * 5 + [False]
    assert len(boxes(browser)) == 15 - 5 + 5 * 37
    press(browser, node("p0_10"))
    browser.wait_for(handle("p0_10"))
    assert [bool(browser.all(handle(key))) for key in lines] == [False] + [True] * 5
    assert browser.find(".says").text.endswith("opened: 37 boxes; closed conv1, since a picture holds 220 boxes")


def test_another_picture_keeps_what_is_open_in_it(browser: Browser, page: Write) -> None:
    browser.open(page("gan", routed(drawings.gan())))
    browser.click("#tabs button:nth-of-type(1)")
    key = next(k for k in boxes(browser) if browser.find(node(k)).get_attribute("data-opens") == "click")
    browser.click(f".picture:not(.off) {node(key)}")
    browser.wait_for(f".picture:not(.off) {handle(key)}")
    browser.click("tr[data-source='5'] .choose")
    assert browser.texts("#tabs [aria-pressed='true']") == ["Call 2"]
    assert not browser.all(".picture:not(.off) .laid")
    assert fragment(browser).endswith(f"&call=2&open=0.{key}")
    assert is_quiet(browser)


def test_a_picture_behind_another_opens_too(browser: Browser, page: Write) -> None:
    path = page("gan", routed(drawings.gan()))
    browser.open(path)
    browser.click("#tabs button:nth-of-type(1)")
    key = next(k for k in boxes(browser) if browser.find(node(k)).get_attribute("data-opens") == "click")
    browser.open(path, f"#cause=1&open=0.{key}")
    browser.wait_for(handle(key))
    browser.click("#tabs button:nth-of-type(1)")
    assert browser.find(f"{handle(key)} text").is_displayed()
    ring, title = (
        browser.driver.execute_script("return arguments[0].getBBox().width", browser.find(f"{handle(key)} {tag}")) for tag in (".ring", "text")
    )
    assert ring > title > 0
    script = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]"
    wanted, seen = (browser.driver.execute_script(script, at) for at in (handle(key), ".picture:not(.off) .view"))
    assert seen[0] <= wanted[0]
    assert seen[1] <= wanted[1]
    assert wanted[2] <= seen[2]
    assert wanted[3] <= seen[3]


def test_texts_fit_their_boxes(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()), f"#open=0.{LOSS}")
    browser.wait_for(handle(LOSS))
    script = """return [...document.querySelectorAll('.laid .node')].flatMap(n => {
        const b = n.querySelector('rect:not(.ring)').getBBox(), texts = [...n.querySelectorAll('text')].map(t => t.getBBox());
        return texts.filter(t => t.x < b.x || t.x + t.width > b.x + b.width).map(t => n.dataset.box);
    })"""
    assert browser.driver.execute_script(script) == []

"""A source or a break that is chosen: what is lit, what is listed, and the link to it."""

from __future__ import annotations

import pytest

from .conftest import Browser
from .pages import PAGES, Write


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

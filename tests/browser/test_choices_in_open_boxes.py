"""What a choice lights inside open boxes, and the address that says what is chosen and what is open."""

from __future__ import annotations

import pytest

from .conftest import Browser
from .opened_boxes import BREAK, KL, LOSS, fragment, handle, is_quiet, node, resnet, vae
from .pages import Write


def test_the_path_of_a_source_and_its_break_are_lit_inside_open_boxes(browser: Browser, page: Write) -> None:
    path = page("vae", vae())
    browser.open(path, f"#source=vae/enc/kernel&open=0.{BREAK},0.{BREAK}.0")
    browser.wait_for(handle(f"{BREAK}.0"))
    lit = [n.get_attribute("data-box") for n in browser.all(".node.lit")]
    assert lit == ["p0_0", *(f"{BREAK}.0.{k}" for k in range(3)), f"{BREAK}.2", KL, LOSS]
    assert [n.get_attribute("data-box") for n in browser.all(".node.stop")] == lit[1:5]
    way = [e.get_attribute("data-tail") for e in browser.all(".edge.lit")]
    assert way.count("p0_0") == 1
    browser.click("tr[data-source='2'] .choose")  # a link in the text leaves open what is open
    assert fragment(browser) == f"source=vae/mu/kernel&open=0.{BREAK},0.{BREAK}.0"
    assert f"{BREAK}.1" in [n.get_attribute("data-box") for n in browser.all(".node.stop")]
    assert not browser.all(f"{node(f'{BREAK}.0.0')}.lit")
    assert is_quiet(browser)


@pytest.mark.parametrize("address", [f"open=0.{BREAK}&source=vae/mu/kernel", f"source=vae/mu/kernel&open=0.{BREAK}"])
def test_an_address_means_the_same_in_any_order(browser: Browser, page: Write, address: str) -> None:
    browser.open(page("vae", vae()), f"#{address}")
    browser.wait_for(f"[data-group='{BREAK}']")
    assert browser.texts("#chosen h3") == ["vae/mu/kernel"]


def test_what_comes_alive_is_shown_inside_open_boxes(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()), f"#cause=1&open=0.{BREAK}")
    browser.wait_for(handle(BREAK))
    revived = {n.get_attribute("data-box") for n in browser.all(".node.revived")}
    assert revived == {"p0_0", *(f"{BREAK}.{k}" for k in range(5))}
    assert {n.get_attribute("data-box") for n in browser.all(".node.stop")} == {f"{BREAK}.{k}" for k in range(5)}
    assert ("p0_0", f"{BREAK}.4") in {(e.get_attribute("data-tail"), e.get_attribute("data-head")) for e in browser.all(".edge.revived")}


def test_a_choice_lights_the_same_whether_something_else_is_open_or_not(browser: Browser, page: Write) -> None:
    path = page("resnet", resnet())
    browser.open(path)
    anchors = [s["anchor"] for s in browser.driver.execute_script("return JSON.parse(document.getElementById('data').textContent).sources")][::23]
    anchors += ["cause=1"]
    beside = "p0_12"  # blocks 22 to 39, all of them live

    def lit() -> tuple[set[str], set[str]]:
        named = lambda selector: {n.get_attribute("data-box") or "" for n in browser.all(selector)}  # noqa: E731
        return {key for key in named(".node.lit") if not key.startswith(beside)}, named(".node.revived")

    for anchor in anchors:
        browser.open(path, f"#{anchor}")
        closed = lit()
        browser.open(path, f"#{anchor}&open=0.{beside}")
        browser.wait_for(handle(beside))
        assert lit() == closed
    assert is_quiet(browser)


def test_back_and_forward_follow_what_was_opened(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()))
    browser.click(node(KL))
    browser.wait_for(handle(KL))
    browser.click(node(LOSS))
    browser.wait_for(handle(LOSS))
    browser.driver.back()
    browser.wait_for(handle(LOSS), gone=True)
    assert browser.all(handle(KL))
    browser.driver.back()
    browser.wait_for(".laid", gone=True)
    browser.driver.forward()
    browser.wait_for(handle(KL))
    assert fragment(browser) == f"open=0.{KL}"


@pytest.mark.parametrize("open_", ["0.nobody", "7.p0_1", f"-0.{KL}", "0.p0_3.1", "...,,-", "0.p0_0.9.9"])
def test_a_link_that_opens_what_is_not_there_opens_nothing(browser: Browser, page: Write, open_: str) -> None:
    browser.open(page("vae", vae()), f"#source=vae/mu/bias&open={open_}")
    browser.settle()
    assert not browser.all(".laid")
    assert browser.texts("#chosen h3") == ["vae/mu/bias"]
    assert browser.complaints() == []

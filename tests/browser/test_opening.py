"""Boxes that open and close in the browser: what is seen then, what a choice lights inside, and that the first picture comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tapetrace.model.report import Report
from tapetrace.render import engines
from tapetrace.render.html import write_html
from tests.unit import drawings

from .conftest import Browser
from .routes import routed

Write = Callable[[str, Report], Path]

# Boxes of the variational autoencoder: its variables, the line outside the tape, and the two lines of the loss in their frame.
BREAK, KL, LOSS, FRAME = "p0_1", "p0_2", "p0_3", "g0_0"


def vae() -> Report:
    return routed(drawings.vae())


def resnet() -> Report:
    return routed(drawings.resnet())


def node(key: str) -> str:
    return f".node[data-box='{key}']"


def handle(key: str) -> str:
    return f".cluster[data-group='{key}'] .handle"


def press(browser: Browser, selector: str) -> None:
    """A click on what may lie outside the frame."""
    browser.driver.execute_script("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))", selector)


def boxes(browser: Browser) -> list[str]:
    return [n.get_attribute("data-box") or "" for n in browser.all(".picture:not(.off) .node")]


def ways(browser: Browser) -> list[tuple[str, str, str]]:
    """Tail, head and what the title of each way says."""
    script = "return [...document.querySelectorAll('.picture:not(.off) .edge')].map(e => [e.dataset.tail, e.dataset.head, e.firstChild.textContent])"
    return sorted(tuple(way) for way in browser.driver.execute_script(script))


def drawing(browser: Browser) -> str:
    return browser.driver.execute_script("return document.querySelector('.picture:not(.off) svg').outerHTML")


def fragment(browser: Browser) -> str:
    return browser.driver.current_url.partition("#")[2]


def is_quiet(browser: Browser) -> bool:
    return browser.complaints() == [] and browser.requests() == []


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
    assert ["block0" in _texts(browser)[f"{stretch}.0"], "block18" in _texts(browser)[f"{stretch}.18"]] == [True, True]
    press(browser, node(f"{stretch}.0"))
    browser.wait_for(handle(f"{stretch}.0"))
    press(browser, node(f"{stretch}.0.0"))
    browser.wait_for(handle(f"{stretch}.0.0"))
    assert _texts(browser)[f"{stretch}.0.0.2"] == ["Conv2D", "Conv2D", "float32[?,8]"]
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


@pytest.mark.parametrize("name", ["vae", "gan", "branches", "resnet", "hostile"])
def test_without_an_engine_in_python_the_page_lays_out_all_of_it(
    browser: Browser, page: Write, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = routed(getattr(drawings, name)()) if name != "hostile" else drawings.hostile()
    browser.open(page(name, report))
    texts = _texts(browser)
    between = ways(browser)
    monkeypatch.setattr(engines, "engine_command", lambda form: None)
    browser.open(write_html(report, tmp_path / "plain.html"))
    browser.wait_for(".picture:not(.off) .laid")
    browser.wait_for(".plainer", gone=True)
    drawn = _texts(browser)
    assert drawn.keys() == texts.keys()
    # Python writes what cannot be seen in two ways: the page always as an escape, pictures for Graphviz as a replacement sign.
    assert name == "hostile" or drawn == texts
    assert ways(browser) == between
    assert is_quiet(browser)


def test_texts_fit_their_boxes(browser: Browser, page: Write) -> None:
    browser.open(page("vae", vae()), f"#open=0.{LOSS}")
    browser.wait_for(handle(LOSS))
    script = """return [...document.querySelectorAll('.laid .node')].flatMap(n => {
        const b = n.querySelector('rect:not(.ring)').getBBox(), texts = [...n.querySelectorAll('text')].map(t => t.getBBox());
        return texts.filter(t => t.x < b.x || t.x + t.width > b.x + b.width).map(t => n.dataset.box);
    })"""
    assert browser.driver.execute_script(script) == []


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


def _texts(browser: Browser) -> dict[str, list[str]]:
    """The words on each box; where a line ends, and where the number of a break stands, is left to the engine."""
    script = """const nodes = [...document.querySelectorAll('.picture:not(.off) .node')];
        return nodes.map(n => [n.dataset.box, [...n.querySelectorAll('text')].map(t => t.textContent)])"""
    return {key: sorted(" ".join(texts).split()) for key, texts in browser.driver.execute_script(script)}

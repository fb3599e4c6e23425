"""Boxes that open and close, in the words of the tests."""

from __future__ import annotations

from tapetrace.model.report import Report
from tests.unit import drawings

from .conftest import Browser
from .routes import routed

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


def box_texts(browser: Browser) -> dict[str, list[str]]:
    """The words on each box; where a line ends, and where the number of a break stands, is left to the engine."""
    script = """const nodes = [...document.querySelectorAll('.picture:not(.off) .node')];
        return nodes.map(n => [n.dataset.box, [...n.querySelectorAll('text')].map(t => t.textContent)])"""
    return {key: sorted(" ".join(texts).split()) for key, texts in browser.driver.execute_script(script)}

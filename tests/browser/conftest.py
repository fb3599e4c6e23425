"""A headless Chromium without a network, and pages opened in it from disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tapetrace.model.report import Report
from tapetrace.render.html import write_html

FLAGS = (
    *"--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update".split(),
    *"--disable-sync --disable-dev-shm-usage --window-size=1440,900".split(),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Browser:
    """What the tests say about a page, in their words."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(self, path: Path, fragment: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri() + fragment)
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for has been painted."""
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)));")

    def wait_for(self, selector: str, gone: bool = False) -> None:
        """Wait until there is such an element, or none any more: a picture is laid out in its own time."""
        WebDriverWait(self.driver, 15, 0.05).until(lambda driver: bool(driver.find_elements(By.CSS_SELECTOR, selector)) is not gone)
        self.settle()

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [e.text for e in self.all(selector) if e.is_displayed()]

    def click(self, selector: str) -> None:
        element = self.find(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.settle()

    def keys(self, selector: str, *keys: str) -> None:
        self.find(selector).send_keys(*keys)
        self.settle()

    def view_box(self) -> list[float]:
        """x, y, width and height of what is seen of the picture."""
        return [float(n) for n in (self.find(".picture:not(.off) svg").get_dom_attribute("viewBox") or "").split()]

    def media(self, **features: str) -> None:
        found = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items() if name != "media"]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": features.get("media", ""), "features": found})

    def style(self, selector: str, name: str) -> str:
        return self.find(selector).value_of_css_property(name)

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that the page asked for, itself and what is inside it aside."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        assert asked, "the browser noted no request at all, not even that for the page"
        page = self.driver.current_url.partition("#")[0]
        return [url for url in asked if not url.startswith("data:") and url.partition("#")[0] not in (page, "about:blank")]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium, "tests/browser need Chromium: apt-get install chromium chromium-driver"
    assert chromedriver, "tests/browser need Chromium: apt-get install chromium chromium-driver"
    os.environ["SE_OFFLINE"] = "true"
    options = ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = Chrome(options=options, service=ChromeService(chromedriver))
    yield started
    started.quit()


@pytest.fixture
def browser(driver: Chrome) -> Iterator[Browser]:
    driver.set_window_size(1440, 900)
    browser = Browser(driver)
    yield browser
    browser.media()
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Report], Path]:
    """Writes a report as a page, once."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, report: Report) -> Path:
        path = folder / f"{name}.html"
        return path if path.exists() else write_html(report, path)

    return write

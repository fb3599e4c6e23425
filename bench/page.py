"""How long the page of a large network takes in a headless Chromium, and how large it is. ``python bench/page.py``.

The reports are those of ``bench/pictures.py``. Each round opens the page in an empty tab, opens two boxes and chooses two sources, and waits each
time until the browser has painted what was asked for; the median of ``--rounds`` counts. The first box also starts the layout engine inside the
page. It ends with exit code 1 when the page is larger than `LARGEST`, or something takes longer than `SLOWEST`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pictures import LARGEST, MIDDLE, report_of
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.ui import WebDriverWait

from tapetrace.api import write_report

SLOWEST = 1.0
"""Seconds that one thing may take."""
FLAGS = (
    *"--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update".split(),
    *"--disable-sync --disable-dev-shm-usage --window-size=1440,900".split(),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
COLUMNS = ("page", "first box", "other box", "source", "other source")

PAINTED = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
BOXES = "return document.querySelectorAll('.picture:not(.off) .node').length"
OPEN = """
const nodes = [...document.querySelectorAll('.picture:not(.off) .node[data-opens]')];
const ops = (n) => Number((/([\\d,]+) ops/.exec(n.textContent) || [0, '0'])[1].replaceAll(',', ''));
const largest = nodes.sort((a, b) => ops(b) - ops(a))[0];
(largest.querySelector('.knob') || largest).dispatchEvent(new MouseEvent('click', {bubbles: true}));
"""
"""Opens the box that stands for most ops."""
CHOOSE = "document.querySelectorAll('tr[data-source] .choose')[arguments[0]].click()"
CHOSEN = "return document.querySelectorAll('tr[data-source]')[arguments[0]].getAttribute('aria-current') === 'true'"


def browser(profile: Path) -> Chrome:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        sys.exit("Chromium is needed: apt-get install chromium chromium-driver")
    os.environ["SE_OFFLINE"] = "true"
    options = ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = chromium
    return Chrome(options=options, service=ChromeService(chromedriver))


def one_round(driver: Chrome, page: Path) -> tuple[float, ...]:
    """Seconds for each of `COLUMNS`."""
    driver.get("about:blank")

    def timed(act: Callable[[], object], until: Callable[[Chrome], bool]) -> float:
        begun = time.perf_counter()
        act()
        WebDriverWait(driver, 60, 0.01).until(until)
        driver.execute_async_script(PAINTED)
        return time.perf_counter() - begun

    def more_boxes() -> Callable[[Chrome], bool]:
        before = driver.execute_script(BOXES)
        return lambda d: bool(d.execute_script(BOXES) > before)

    def lights(source: int) -> float:
        return timed(lambda: driver.execute_script(CHOOSE, source), lambda d: bool(d.execute_script(CHOSEN, source)))

    return (
        timed(lambda: driver.get(page.as_uri()), lambda d: bool(d.execute_script(BOXES))),
        timed(lambda: driver.execute_script(OPEN), more_boxes()),
        timed(lambda: driver.execute_script(OPEN), more_boxes()),
        lights(0),
        lights(100),
    )


def measure(driver: Chrome, network: str, kept: Path, rounds: int) -> bool:
    """Print the line of a network; whether all of it is quick and small enough."""
    page = kept / f"{network}.html"
    write_report(report_of(network, kept), page)
    size = page.stat().st_size
    found = [statistics.median(seconds) for seconds in zip(*(one_round(driver, page) for _ in range(rounds)), strict=True)]
    cells = [f"{size / 1e3:8,.0f} kB{' !' if size > LARGEST else ''}", *(f"{s:10.2f} s{' !' if s > SLOWEST else ''}" for s in found)]
    print(f"{network:16}" + " ".join(f"{cell:>13}" for cell in cells), flush=True)
    return size <= LARGEST and max(found) <= SLOWEST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["ResNet50", "EfficientNetB7", "transformer"], choices=[*MIDDLE, "transformer"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="A folder for the reports and the pages; reports that are there are not made again.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        driver = browser(Path(folder) / "profile")
        try:
            print(" " * 16 + " ".join(f"{name:>13}" for name in ("size", *COLUMNS)))
            fine = [measure(driver, name, options.keep or Path(folder), options.rounds) for name in options.networks]
        finally:
            driver.quit()
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()

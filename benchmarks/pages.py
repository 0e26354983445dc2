"""`python -m benchmarks.pages`: the dashboard in a real browser, against its bars, and the screenshots of the docs.

It needs Chromium. The server is a process of its own over the demo's campaigns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.servers import FAST, gainboard
from gainboard import demo
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.main import open_workspace
from gainboard.settings import Settings

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PLAIN_PAGES = (
    "/",
    "/c/demo",
    "/c/demo?metric=Q",
    "/signin",
    "/help/metrics/Q",
    "/c/demo/topics/007",
    "/c/demo/analyses",
)
CHART_PAGES = ("/c/demo/topics", "/c/demo/compare", "/c/demo/runs/otter-1", "/c/demo/pool")
FIRST_PAGES = ("/", "/c/demo", "/c/demo/topics")
SHOTS = {
    "board": ("/c/demo?metric=Q&gains=20:3:1&beta=100", "body"),
    "parameters": ("/c/demo?metric=Q&gains=20:3:1&beta=100", "aside"),
    "compare": ("/c/demo/compare?metric=Q", "body"),
    "topics": ("/c/demo/topics?metric=Q&sort=difficulty", "body"),
}
"""The address and the part of each screenshot."""
TEMPLATES = Path(__file__).parents[1] / "app" / "gainboard" / "dashboard" / "templates"
OF_BOARD = ("base.html", "board.html", "board_effect.html", "board_rows.html", "board_table.html")
SHOWN = {
    "board": OF_BOARD,
    "parameters": OF_BOARD,
    "compare": ("base.html", "compare.html", "figure.html"),
    "topics": ("base.html", "topics.html", "figure.html"),
}
"""The templates that each screenshot shows."""
SLOW_3G = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
"""400 kbit/s with a round trip of 400 ms: milliseconds, and bytes a second."""
PAINTED = """() => new Promise(done => new PerformanceObserver(list => {
    for (const entry of list.getEntriesByName('first-contentful-paint')) done(entry.startTime);
}).observe({type: 'paint', buffered: true}))"""
STEPS = 60
STEP = """async () => {
    const sliders = [...document.querySelectorAll('.slider')];
    const range = sliders.find(each => each.textContent.includes('Beta')).querySelector('[type=range]');
    const label = () => document.querySelector('#board .bar code').textContent;
    const before = label(), began = performance.now();
    range.value = (Number(range.value) + 1) % (Number(range.max) + 1);
    range.dispatchEvent(new Event('input', {bubbles: true}));
    while (label() === before) await new Promise(done => setTimeout(done, 1));
    await new Promise(done => requestAnimationFrame(done));
    return performance.now() - began;
}"""
LARGE = """async () => {
    const place = document.querySelector('figure[data-figure]');
    const data = place.querySelector('script');
    const names = (letter, count) => Array.from({length: count}, (_, i) => letter + i);
    const figure = JSON.parse(data.textContent);
    const values = Array.from({length: 1000}, (_, i) => Array.from({length: 500}, (_, j) => (i * j % 97) / 97));
    figure.panels = [{...figure.panels[0], rows: names('t', 1000), columns: names('r', 500), values}];
    data.textContent = JSON.stringify(figure);
    place.dataset.drawn = '';
    place.style.width = '1000px';
    while (!place.dataset.drawn) await new Promise(done => setTimeout(done, 5));
    return Number(place.dataset.drawn);
}"""


@contextmanager
def _served() -> Iterator[str]:
    with TemporaryDirectory(prefix="gainboard-pages-") as folder:
        token = "a-token-of-the-benchmark"
        settings = Settings.read({}, data=Path(folder), admin_token=token)
        workspace, _ = open_workspace(settings)
        for _line in demo.load(workspace, authenticate(workspace, Sender.of(token))):
            pass
        workspace.database.close()
        with gainboard(Path(folder), FAST) as server:
            yield str(server.client.base_url).rstrip("/")


def _page(browser: Browser) -> Page:
    return browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()


def _bytes(browser: Browser, address: str) -> int:
    page, sizes = _page(browser), list[int]()
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    page.goto(address, wait_until="networkidle")
    page.context.close()
    return sum(sizes)


def _first_paint(browser: Browser, address: str) -> float:
    """Return the milliseconds to the first text or drawing, on a phone whose network is slow."""
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", SLOW_3G)
    page.goto(address, wait_until="load")
    painted = float(page.evaluate(PAINTED))
    page.context.close()
    return painted


def _steps(browser: Browser, url: str) -> list[float]:
    page = _page(browser)
    page.goto(f"{url}/c/demo?metric=Q", wait_until="networkidle")
    found = sorted(float(page.evaluate(STEP)) for _ in range(STEPS))
    page.context.close()
    return found


def _heat_maps(browser: Browser, url: str) -> tuple[float, float]:
    page = _page(browser)
    page.goto(f"{url}/c/demo/topics?metric=Q", wait_until="networkidle")
    small = float(page.locator("figure").get_attribute("data-drawn") or "nan")
    return small, float(page.evaluate(LARGE))


def _say(what: str, figure: float, bar: float, unit: str) -> bool:
    print(f"{what:58} {figure:10,.0f} {unit:5} bar {bar:10,.0f}  {'met' if figure <= bar else 'missed'}")
    return figure <= bar


def _measure(browser: Browser, url: str) -> bool:
    met = [_say(f"transferred: {page}", _bytes(browser, url + page), 60_000, "bytes") for page in PLAIN_PAGES]
    met += [_say(f"transferred: {page}", _bytes(browser, url + page), 230_000, "bytes") for page in CHART_PAGES]
    for page in FIRST_PAGES:
        met.append(_say(f"first paint on slow 3G: {page}", _first_paint(browser, url + page), 3500, "ms"))
    steps = _steps(browser, url)
    print(f"{'slider step to the new order, 45 x 50, median':58} {median(steps):10,.0f} ms")
    met.append(_say("slider step to the new order, 45 x 50, p95", steps[int(0.95 * STEPS)], 100, "ms"))
    small, large = _heat_maps(browser, url)
    met.append(_say("heat map, 45 x 50", small, 250, "ms"))
    met.append(_say("heat map, 500 x 1,000", large, 2500, "ms"))
    return all(met)


def hashes_of_templates() -> dict[str, str]:
    """Return for each screenshot the hash of the templates that it shows, as they are now."""
    return {
        image: hashlib.sha256(b"".join((TEMPLATES / name).read_bytes() for name in names)).hexdigest()[:16]
        for image, names in SHOWN.items()
    }


def _shoot(browser: Browser, url: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    page = _page(browser)
    for name, (path, part) in SHOTS.items():
        page.goto(url + path, wait_until="networkidle")
        image = IMAGES / f"{name}.png"
        page.screenshot(path=image) if part == "body" else page.locator(part).screenshot(path=image)
    (IMAGES / "templates.json").write_text(json.dumps(hashes_of_templates(), indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Measure, or take the screenshots; the exit code is 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--screenshots", action="store_true", help="take the screenshots of the docs instead")
    parsed = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("There is no Chromium. Install Debian's `chromium`.", file=sys.stderr)
        return 1
    with _served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        if parsed.screenshots:
            _shoot(browser, url)
            return 0
        return 0 if _measure(browser, url) else 1


if __name__ == "__main__":
    sys.exit(main())

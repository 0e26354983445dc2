"""A real browser on pages of a real server, and what it has complained about."""

import shutil
from dataclasses import dataclass, field

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

from tests.world.demos import serving_demo

MOST_WAIT = 120_000
"""Milliseconds. Playwright's 5 and 30 s are few where servers compute on two busy cores."""
expect.set_options(timeout=MOST_WAIT)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name has an address: whatever a page loads from elsewhere fails, and says so.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def chromium():
    """The shell without a window needs three quarters of the time of the whole browser."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="package")
def browser():
    """A browser without a window. It ends with this folder: Playwright's event loop would be in the way elsewhere."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: install Debian's `chromium-headless-shell` or `chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page of a browser, and everything that went wrong on it."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def visit(self, path, until="load"):
        """Opens an address of the server, and waits until everything has been loaded. Returns the status."""
        answer = self.page.goto(self.url + path, wait_until=until)
        assert answer is not None
        return answer.status

    def _note(self, route):
        if not route.request.url.startswith((self.url, "data:", "blob:")):
            self.elsewhere.append(route.request.url)
        route.continue_()

    def watch(self):
        """Notes errors of the console, which has violations of the policy too, and requests to other origins."""
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.route("**/*", self._note)

    def broken_rules(self, **rules):
        """What axe says of each rule of accessibility that the page breaks. `rules` are settings of rules."""
        # What axe does not have to write out is quicker, and a page has axe from its first run on.
        options = {"resultTypes": ["violations"], "rules": rules}
        run = "options => window.axe ? axe.run(document, options) : null"
        return (self.page.evaluate(run, options) or Axe().run(self.page, options=options).response)["violations"]

    def sign_in(self, token):
        self.visit("/signin")
        self.page.get_by_label("Token").fill(token)
        with self.page.expect_navigation():
            self.page.locator("main").get_by_role("button", name="Sign in").click()


@pytest.fixture
def open_page(browser):
    """Returns a function that opens a new page, as somebody new, on a server."""
    contexts = []

    def open_one(service, **settings):
        context = browser.new_context(**({"viewport": {"width": 1440, "height": 1000}} | settings))
        context.set_default_timeout(MOST_WAIT)
        contexts.append(context)
        watched = Watched(context.new_page(), service.url)
        watched.watch()
        return watched

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture(scope="package")
def demo_service(tmp_path_factory):
    with serving_demo(tmp_path_factory) as service:
        yield service


@pytest.fixture
def browser_page(open_page, demo_service):
    """A page on the demo's server. What it complains about fails the test, unless the test takes it out."""
    return open_page(demo_service)

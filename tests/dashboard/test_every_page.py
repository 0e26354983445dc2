"""What holds for every page: found from the routers, so that a new page is checked unasked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.conftest import ADMIN, Service
from tests.dashboard.conftest import Watched
from tests.dashboard.every_page import VALUES, addresses, filled
from tests.waiting import over

WIDTHS = (360, 768, 1440)
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def pages(demo_service: Service) -> list[str]:
    """The addresses of all pages on the demo's server, with a job and a report that are done."""
    path, body = "/v1/collections/demo-small/jobs", {"kind": "rank-correlation", "params": {"metrics": ["AP", "Q"]}}
    job = demo_service.organiser.post(path, json=body).json()["id"]
    asked = {"name": "q-measure-appendix", "collections": ["demo-small"], "params": {}}
    report = demo_service.organiser.post("/v1/reports", json=asked).json()["id"]
    over(demo_service.organiser, f"/v1/jobs/{job}")
    over(demo_service.organiser, f"/v1/reports/{report}")
    beside_baselines = "/c/demo-small/compare?baseline=otter-1&baseline=newt-1&margin=0.05"
    return [*(filled(address, {**VALUES, "job": job, "report": report}) for address in addresses()), beside_baselines]


@pytest.fixture
def organiser(open_page: Any, demo_service: Service) -> Watched:
    """A page of an organiser, who may see every page."""
    watched: Watched = open_page(demo_service)
    watched.sign_in(ADMIN)
    return watched


def test_pages_are_found() -> None:
    assert {"/", "/c/{collection}"} <= set(addresses())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault_of_accessibility(organiser: Watched, pages: list[str], scheme: Any) -> None:
    organiser.page.emulate_media(color_scheme=scheme)
    found = []
    for address in pages:
        organiser.visit(address)
        for width in WIDTHS:
            organiser.page.set_viewport_size({"width": width, "height": 900})
            violations = Axe().run(organiser.page).response["violations"]
            found += [
                (address, width, each["id"], each["nodes"][0]["html"][:160])
                for each in violations
                if each["impact"] in SERIOUS
            ]
    assert found == []


def test_no_page_violates_its_policy_or_loads_from_elsewhere(organiser: Watched, pages: list[str]) -> None:
    statuses = {address: organiser.visit(address) for address in pages}
    assert {address: status for address, status in statuses.items() if status != 200} == {}
    assert (organiser.errors, organiser.elsewhere) == ([], [])


def test_no_page_is_wider_than_a_phone(organiser: Watched, pages: list[str]) -> None:
    organiser.page.set_viewport_size({"width": 360, "height": 800})
    wide = []
    for address in pages:
        organiser.visit(address)
        if organiser.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(address)
    assert wide == []


def test_every_control_is_reached_by_the_keyboard_and_shows_its_focus(organiser: Watched, pages: list[str]) -> None:
    wrong = []
    for address in pages:
        organiser.visit(address)
        wanted: int = organiser.page.evaluate(CONTROLS)
        for _ in range(min(wanted, 60)):
            organiser.page.keyboard.press("Tab")
            if problem := organiser.page.evaluate(UNSEEN):
                wrong.append((address, problem))
                break
        reached: int = organiser.page.evaluate("() => window.reached.size")
        if reached < min(wanted, 60) - 1:
            wrong.append((address, f"{reached} of {wanted} controls"))
    assert wrong == []


CONTROLS = """() => {
    window.reached = new Set();
    return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
        .filter(each => each.checkVisibility({visibilityProperty: true}) && !each.disabled).length;
}"""
UNSEEN = """() => {
    const at = document.activeElement;
    if (at === document.body) return null;
    window.reached.add(at);
    const style = getComputedStyle(at);
    return style.outlineStyle === 'none' ? at.outerHTML.slice(0, 120) : null;
}"""


def test_every_page_has_its_headers(demo_service: Service, pages: list[str]) -> None:
    for address in pages:
        headers = demo_service.anonymous.get(address, headers={"Accept": "text/html"}).headers
        policy = headers["content-security-policy"]
        assert re.match(r"default-src 'none'; script-src 'self';", policy), address
        assert "unsafe" not in policy or address == "/docs"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"

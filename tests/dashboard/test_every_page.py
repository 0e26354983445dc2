"""What holds for every page: found from the routers, so that a new page is checked unasked."""

import re

import pytest

from tests.dashboard.every_page import VALUES, addresses, filled
from tests.waiting import over
from tests.world.servers import ADMIN

LOOKS = ((1440, "light"), (390, "dark"))
"""Colours depend on the theme, and what is hidden or scrolls on the width. A look at all pages takes half a minute."""
WIDTHS = (360, 768, 1440)
"""The last is also the one at which pages are loaded."""
WRITTEN_BY_SCRIPTS = {"/docs"}
"""Pages of which nothing is there before their scripts have loaded more; all others are what the server sends."""


@pytest.fixture(scope="module")
def pages(demo_service):
    """The addresses of all pages on the demo's server, with a job and a report that are done."""
    path, body = "/v1/collections/demo-small/jobs", {"kind": "rank-correlation", "params": {"metrics": ["AP", "Q"]}}
    job = demo_service.organiser.post(path, json=body).json()["id"]
    asked = {"name": "q-measure-appendix", "collections": ["demo-small"], "params": {}}
    report = demo_service.organiser.post("/v1/reports", json=asked).json()["id"]
    body = {"kind": "judge-validity", "params": {"judges": ["official", "second"], "resamples": 100}}
    over(demo_service.organiser, f"/v1/jobs/{demo_service.organiser.post(path, json=body).json()['id']}")
    over(demo_service.organiser, f"/v1/jobs/{job}")
    over(demo_service.organiser, f"/v1/reports/{report}")
    demo_service.organiser.post("/v1/collections/demo-small/releases", json={}).raise_for_status()
    beside_baselines = "/c/demo-small/compare?baseline=otter-1&baseline=newt-1&margin=0.05"
    return [*(filled(address, {**VALUES, "job": job, "report": report}) for address in addresses()), beside_baselines]


@pytest.mark.proof  # 40 pages, each looked at in five ways
@pytest.mark.timeout(1200)
def test_every_page_loads_is_read_and_reached_by_everybody(open_page, demo_service, pages):
    watched = open_page(demo_service)
    watched.sign_in(ADMIN)  # organisers may see every page
    wrong = []
    for address in pages:
        watched.page.emulate_media(color_scheme="light")
        if (status := watched.visit(address, "networkidle" if address in WRITTEN_BY_SCRIPTS else "load")) != 200:
            wrong.append((address, status))
        wrong += ((address, fault) for fault in faults_of_the_keyboard(watched))
        wrong += ((address, *fault) for fault in faults_of_accessibility(watched))
        wrong += ((address, "opens elsewhere", menu) for menu in watched.page.evaluate(MENUS_ELSEWHERE))
        wrong += ((address, width, "too wide") for width in WIDTHS if is_wider(watched, width))
    assert wrong == []
    # No page violates its policy, or loads from elsewhere.
    assert (watched.errors, watched.elsewhere) == ([], [])


def faults_of_accessibility(watched):
    """The rules that are broken in a look, with all folds open, each with the first element that breaks it."""
    watched.page.evaluate(UNFOLD)
    for width, theme in LOOKS:
        watched.page.set_viewport_size({"width": width, "height": 1000})
        watched.page.emulate_media(color_scheme=theme)
        # What passes by itself is no fault.
        if _faults(watched):
            yield from ((width, theme, *fault) for fault in _faults(watched))


def _faults(watched):
    watched.page.evaluate(AT_REST)
    is_own = watched.page.locator("#api").count() == 0
    return [
        (each["id"], each["nodes"][0]["html"][:160])
        for each in watched.broken_rules()
        if is_own or not each["id"].startswith(OF_SWAGGER)
    ]


def is_wider(watched, width):
    watched.page.set_viewport_size({"width": width, "height": 900})
    return bool(watched.page.evaluate(IS_WIDER))


def faults_of_the_keyboard(watched):
    wanted, stops = watched.page.evaluate(CONTROLS)
    for _ in range(min(wanted, 60) + stops):
        watched.page.keyboard.press("Tab")
    reached, unseen = watched.page.evaluate("() => [window.reached.size, window.unseen]")
    yield from unseen
    if reached < min(wanted, 60) - 1:
        yield f"{reached} of {wanted} controls"


OF_SWAGGER = ("heading-order", "landmark-")
"""Swagger UI has its own main part, and headings of its own order."""
UNFOLD = """() => { for (const fold of document.querySelectorAll('details')) {
    fold.removeAttribute('name');
    fold.open = true;
} }"""
"""Of folds with a name, only one can be open."""
MENUS_ELSEWHERE = """() => [...document.querySelectorAll('details.menu[open]')].filter(menu => {
    const [button, content] = menu.children;
    return Math.abs(content.getBoundingClientRect().top - button.getBoundingClientRect().bottom) > 60;
}).map(menu => menu.firstElementChild.innerText)"""
"""Content without a place of its own would be at the end of the window, where nobody looks."""
AT_REST = """async () => {
    const frame = () => new Promise(done => requestAnimationFrame(done));
    for (let turn = 0; turn < 2; turn += 1) {
        await frame();
        await frame();
        for (const each of document.getAnimations())
            each.effect.getComputedTiming().endTime === Infinity ? each.cancel() : each.finish();
    }
}"""
"""Colours that are on their way to others have no contrast to be judged. A change of theme begins after a frame.

The sign of /docs that it is loading turns without end, so it has no end to go to."""
IS_WIDER = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
    () => done(document.documentElement.scrollWidth > innerWidth))))"""
"""Charts have the width of a window only after a first frame."""
CONTROLS = """() => {
    window.reached = new Set();
    window.unseen = [];
    document.addEventListener('focusin', ({target}) => {
        window.reached.add(target);
        if (getComputedStyle(target).outlineStyle === 'none') window.unseen.push(target.outerHTML.slice(0, 120));
    });
    const all = 'a[href], button, input:not([type=hidden]), select, textarea, summary';
    const controls = [...document.querySelectorAll(all)].filter(
        each => each.checkVisibility({visibilityProperty: true}) && !each.disabled);
    return [controls.length, 6 * controls.filter(each => each.type === 'datetime-local').length];
}"""
"""The number of controls, and how many more stops those for times have: one for each part of a time."""


def test_every_page_has_its_headers(demo_service, pages):
    for address in pages:
        headers = demo_service.anonymous.get(address, headers={"Accept": "text/html"}).headers
        policy = headers["content-security-policy"]
        assert re.match(r"default-src 'none'; script-src 'self';", policy), address
        assert "unsafe" not in policy or address == "/docs"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"

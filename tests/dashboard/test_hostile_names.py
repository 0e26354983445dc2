"""Names that people choose are text, whatever they look like."""

from urllib.parse import quote

import pytest

from tests.world.campaigns import Campaign, run_text

TOPICS = (
    "<img/src=x/onerror=alert(1)>",
    "t" * 128,
    "שאלה-١",
    "a/b?c#d&e=%3Cb%3E",
    "</script><script>alert(1)</script>",
)
TITLE = "<b onmouseover=alert(1)>Campaign</b> {{ 7 * 7 }}"


@pytest.fixture(scope="module")
def campaign(shared):
    campaign = Campaign(shared, name="web", title=TITLE)
    qrels = "".join(f"{topic} 0 good 2\n{topic} 0 bad 0\n" for topic in TOPICS)
    assert campaign.put_qrels(qrels).status_code == 201
    for name, order in (("one", ["good", "bad"]), ("two", ["bad", "good"])):
        text = run_text(dict.fromkeys(TOPICS, order), "<i>tag</i>")
        assert campaign.submit(text, name=name, description="<script>alert(2)</script>").status_code == 201
    metadata = f"resources: {{ram: {TITLE!r}}}\n<script>alert(3)</script>: {'x' * 500}\n"
    campaign.organiser.put(f"{campaign.path}/runs/one/metadata", content=metadata).raise_for_status()
    campaign.release(public=True)
    return campaign


@pytest.fixture
def watched(open_page, campaign):
    """A page whose dialogs are faults."""
    watched = open_page(campaign.service)
    watched.page.on("dialog", lambda dialog: watched.errors.append(dialog.message))
    return watched


ADDRESSES = [
    "/",
    "/c/web",
    "/c/web/topics",
    "/c/web/compare",
    "/c/web/runs/one",
    "/embed/c/web",
    *(f"/c/web/topics/{quote(topic, safe='')}" for topic in TOPICS),
]


def test_nothing_runs_and_nothing_overflows(watched):
    watched.page.set_viewport_size({"width": 360, "height": 800})
    for address in ADDRESSES:
        assert watched.visit(address) == 200, address
        assert watched.page.locator("main img, main b, main i").count() == 0
        assert not watched.page.evaluate("document.documentElement.scrollWidth > innerWidth"), address
    assert (watched.errors, watched.elsewhere) == ([], [])


def test_names_and_files_of_ir_metadata_are_shown_as_they_are(watched):
    watched.visit("/c/web")
    assert watched.page.locator("h1").inner_text() == TITLE
    for topic in TOPICS:
        watched.visit(f"/c/web/topics/{quote(topic, safe='')}")
        assert watched.page.locator("h1").inner_text() == f"Topic {topic}"
    watched.visit("/c/web/runs/one")
    watched.page.locator("#resources summary").click()
    shown = watched.page.locator("#resources").inner_text()
    assert TITLE in shown
    assert "ir_metadata has no part '<script>alert(3)</script>'" in shown
    assert watched.errors == []

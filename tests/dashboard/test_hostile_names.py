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


HEADINGS = {
    **dict.fromkeys(("/", "/c/web/compare", "/embed/c/web")),
    "/c/web": TITLE,
    **{f"/c/web/topics/{quote(topic, safe='')}": f"Topic {topic}" for topic in TOPICS},
    "/c/web/runs/one": None,
}


def test_nothing_runs_and_nothing_overflows_and_names_are_shown_as_they_are(open_page, campaign):
    watched = open_page(campaign.service)
    watched.page.on("dialog", lambda dialog: watched.errors.append(dialog.message))
    watched.page.set_viewport_size({"width": 360, "height": 800})
    for address, heading in HEADINGS.items():
        assert watched.visit(address) == 200, address
        assert watched.page.locator("main img, main b, main i").count() == 0
        assert not watched.page.evaluate("document.documentElement.scrollWidth > innerWidth"), address
        assert heading is None or watched.page.locator("h1").inner_text() == heading
    watched.page.locator("#resources summary").click()
    shown = watched.page.locator("#resources").inner_text()
    assert TITLE in shown
    assert "ir_metadata has no part '<script>alert(3)</script>'" in shown
    assert (watched.errors, watched.elsewhere) == ([], [])

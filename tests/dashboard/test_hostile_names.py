"""Names that people choose are text, whatever they look like."""

from urllib.parse import quote

import pytest

from tests.dashboard.test_every_page import is_wider
from tests.waiting import over
from tests.world.campaigns import Campaign, run_text
from tests.world.servers import ADMIN

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


LONG = "r" * 97
NUMBERS_OUT_OF_SIGHT = """() => [...document.querySelectorAll('.num')]
    .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth)
    .map(each => each.textContent.slice(0, 40))"""


@pytest.fixture(scope="module")
def long_named(shared):
    campaign = Campaign(shared, name="n" * 100, title="W" * 100, levels=["a" * 32, "B" * 32])
    topics = ["t" * 100, "検索評価" * 20, "שאלה" * 20, "ملائم" * 15, "4", "5"]
    qrels = "".join(f"{topic} 0 d{number} {number % 3}\n" for topic in topics for number in range(6))
    assert campaign.put_qrels(qrels).status_code == 201
    for number, team in enumerate((f"a-{'x' * 98}", "T" * 100, "a-" * 49 + "ab") * 2):
        text = run_text({topic: [f"d{(rank + number) % 6}" for rank in range(6)] for topic in topics}, "g" * 100)
        assert campaign.submit(text, name=f"{LONG}{number}", team=team).status_code == 201
    shared.organiser.put(f"{campaign.path}/topic-groups/{'g' * 64}", json=topics[:3]).raise_for_status()
    campaign.draft(qrels.replace(" 1\n", " 2\n"))
    asked = {"kind": "rank-correlation", "params": {"metrics": ["AP", "Q"]}}
    campaign.job = shared.organiser.post(f"{campaign.path}/jobs", json=asked).json()["id"]
    over(shared.organiser, f"/v1/jobs/{campaign.job}")
    return campaign


def test_no_page_is_wider_than_a_phone_and_numbers_stay_in_sight_beside_long_names(open_page, long_named):
    watched, board = open_page(long_named.service), f"/c/{long_named.name}"
    watched.sign_in(ADMIN)
    pages = ["", "/topics", f"/topics/{'t' * 100}", "/compare", f"/compare?baseline={LONG}1", f"/runs/{LONG}1"]
    pages += ["/submissions", "/teams", "/judgments", "/judgments/2", "/pool", "/analyses", "/settings"]
    columns = "?metric=nDCG@10&metric=AP&metric=Q&base=10&by_group=all"
    for address in ("/", f"/jobs/{long_named.job}", board + columns, *(board + page for page in pages)):
        watched.page.set_viewport_size({"width": 1440, "height": 900})
        assert watched.visit(address) == 200, address
        # Numbers behind a click count, too.
        watched.page.evaluate("for (const each of document.querySelectorAll('figure details')) each.open = true")
        assert watched.page.evaluate(NUMBERS_OUT_OF_SIGHT) == [], address
        assert [width for width in (1440, 768, 390) if is_wider(watched, width)] == [], address
    assert watched.errors == []

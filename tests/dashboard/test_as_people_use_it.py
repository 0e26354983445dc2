"""Journeys: from the demo to which runs are really better, with and without scripts, on paper and in a frame."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from gainboard.analyses.job_kinds import JobKind, every_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.dashboard.schema_forms import fields_of
from tests.world.campaigns import RUN, WORSE, judged
from tests.world.demos import serving_demo
from tests.world.people import Person
from tests.world.servers import ADMIN, new_settings, serving

WITHOUT_CHART, WITH_CHART = 60_000, 230_000
WITH_CHARTS = ("/c/demo/topics", "/c/demo/compare", "/c/demo/runs/otter-1", "/c/demo/pool")


def test_five_clicks_lead_from_the_demo_to_runs_that_really_differ(browser_page):
    page = browser_page.page
    browser_page.visit("/")
    page.get_by_role("link", name="A generated campaign demo", exact=False).first.click()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_label("Second").select_option("gecko-1")
    page.get_by_role("button", name="Compare").click()
    verdict = page.locator(".verdict").first
    expect(verdict).to_contain_text("is better than gecko-1")
    expect(verdict).to_contain_text("significant at 0.05")


def test_letters_and_ranks_are_there_without_asking(open_page, demo_service):
    watched = open_page(demo_service)
    watched.visit("/c/demo-small?metric=AP")
    board = demo_service.anonymous.get("/v1/collections/demo-small/leaderboard", params={"metric": "AP"}).json()
    for width in (390, 768, 1280, 1920):
        watched.page.set_viewport_size({"width": width, "height": 900})
        table = watched.page.locator("table.board")
        shown = table.locator("tbody td.groups").all_inner_texts()
        assert shown == [letters(row["groups"]) for row in board["rows"]]
        ranks = table.locator("tbody td.ranks").all_inner_texts()
        assert ranks == [f"{low}–{high}" for low, high in (row["rank_set"] for row in board["rows"])]
        assert watched.page.evaluate(NOTHING_IS_CUT_OFF)
    expect(watched.page.locator("p.legend")).to_contain_text("Runs that share no letter under Groups are told apart")


NOTHING_IS_CUT_OFF = """() => {
  const box = document.querySelector('.scroll')
  return box.scrollWidth <= box.clientWidth && document.documentElement.scrollWidth <= innerWidth
}"""


def letters(own):
    """The letters of a run as the board writes them: there are fewer than 26 groups here."""
    return f"{own[0]}–{own[-1]}" if len(own) > 2 else " ".join(own)


def test_a_job_from_its_form_to_its_figure(open_page, demo_service):
    watched = open_page(demo_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/demo-small/analyses")
    watched.page.get_by_role("link", name="Stability over topics").click()
    watched.page.get_by_label("Metrics").fill("AP, Q")
    watched.page.get_by_role("button", name="Start").click()
    expect(watched.page.locator("figure svg.plot").first).to_be_visible(timeout=90_000)
    assert watched.errors == []


def test_a_form_says_what_is_wrong_and_keeps_what_was_written(open_page, demo_service):
    watched = open_page(demo_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/demo-small/analyses/job/stability")
    watched.page.get_by_label("Metrics").fill("nDCGG@10")
    watched.page.get_by_role("button", name="Start").click()
    expect(watched.page.get_by_role("alert").first).to_contain_text("nDCGG")
    expect(watched.page.get_by_label("Metrics")).to_have_value("nDCGG@10")


def test_a_job_is_cancelled_by_a_button(open_page, tmp_path):
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        campaign = judged(service, RUN, WORSE, name="web")
        asked = {"kind": "rank-correlation", "params": {"metrics": ["AP", "Q"]}}
        job = service.organiser.post(f"{campaign.path}/jobs", json=asked)
        watched = open_page(service)
        watched.sign_in(ADMIN)
        # A job that waits keeps its stream of events open, so the page is never without a request.
        watched.page.goto(f"{service.url}/jobs/{job.json()['id']}")
        watched.page.get_by_role("button", name="Cancel").click()
        expect(watched.page.locator("main")).to_contain_text("cancelled")
        assert service.organiser.get(job.headers["location"]).json()["state"] == "cancelled"


def test_a_draft_is_looked_at_and_published(open_page, sqlite_service):
    campaign = judged(sqlite_service, RUN, WORSE, name="web")
    campaign.draft()
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/judgments")
    watched.page.get_by_role("link", name="Version 2").click()
    expect(watched.page.locator("main")).to_contain_text("Judgments changed")
    watched.page.get_by_text("Which judgments").click()
    changes = watched.page.get_by_role("region", name="Changed judgments").locator("tbody tr").all_inner_texts()
    assert changes[0].split("\t") == ["1", "bad", "L0", "L1"]
    watched.page.get_by_role("button", name="Publish version 2").click()
    expect(watched.page.locator("tbody tr").first).to_contain_text("in use")
    assert campaign.get("").json()["qrels_version"] == 2


def test_an_organiser_releases_the_judgments(open_page, sqlite_service):
    campaign = judged(sqlite_service, RUN, WORSE, name="web")
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/settings")
    watched.page.get_by_text("Release the judgments …").click()
    watched.page.get_by_role("button", name="Release the judgments now").click()
    expect(watched.page.locator("main")).to_contain_text("The judgments are released")
    assert campaign.get("").json()["policy"]["phase"] == "released"


def test_settings_and_tokens_are_changed_by_forms(open_page, sqlite_service):
    campaign = judged(sqlite_service, name="web")
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/settings")
    watched.page.get_by_label("Presets").fill("nDCG@10, Q(beta=10,gains=2:1)")
    watched.page.get_by_label("Decimals").fill("2")
    watched.page.get_by_role("button", name="Save").click()
    expect(watched.page.get_by_role("status")).to_contain_text("saved")
    policy = campaign.get("").json()["policy"]
    assert (policy["presets"], policy["decimals"]) == (["nDCG@10", "Q(beta=10,gains=2:1)"], 2)
    watched.page.get_by_text("New token …").click()
    expect(watched.page.get_by_label("Role")).to_have_value("participant")
    watched.page.get_by_label("Team", exact=True).fill("the otters")
    watched.page.get_by_role("button", name="Create the token").click()
    expect(watched.page.locator(".faulty")).to_contain_text("Use letters")
    expect(watched.page.get_by_label("Team", exact=True)).to_have_value("the otters")
    watched.page.get_by_label("Team", exact=True).fill("otter")
    watched.page.get_by_role("button", name="Create the token").click()
    token = watched.page.locator("#token").inner_text()
    assert sqlite_service.client(token).get("/v1/me").json()["team"] == "otter"


def test_two_organisers_who_save_an_older_page_keep_each_others_changes(open_page, sqlite_service):
    campaign = judged(sqlite_service, name="web")
    first, second = open_page(sqlite_service), open_page(sqlite_service)
    for watched in (first, second):
        watched.sign_in(ADMIN)
        watched.visit("/c/web/settings")
    second.page.get_by_label("Closes at (UTC)").fill("2099-12-24T18:00")
    second.page.get_by_label("Decimals").fill("2")
    second.page.get_by_role("button", name="Save").click()
    expect(second.page.get_by_role("status")).to_contain_text("saved")
    first.page.get_by_label("Title").fill("Web track")
    first.page.get_by_label("Decimals").fill("1")
    first.page.get_by_role("button", name="Save").click()
    expect(first.page.locator(".faulty")).to_contain_text("Somebody else has set this to 2.")
    expect(first.page.get_by_label("Closes at (UTC)")).to_have_value("2099-12-24T18:00")
    expect(first.page.get_by_label("Title")).to_have_value("Web track")
    assert campaign.get("").json()["title"] == ""
    first.page.get_by_role("button", name="Save").click()
    expect(first.page.get_by_role("status")).to_contain_text("saved")
    now = campaign.get("").json()
    assert (now["title"], now["policy"]["decimals"]) == ("Web track", 1)
    assert now["policy"]["closes_at"] == "2099-12-24T18:00:00Z"
    changes = first.page.locator("#changes + details")
    changes.locator("summary").click()
    expect(changes).to_contain_text("policy.decimals: 2 → 1")


def test_a_wrong_setting_is_marked_and_nothing_is_changed(open_page, sqlite_service):
    campaign = judged(sqlite_service, name="web")
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/settings")
    before = campaign.get("").json()
    watched.page.get_by_label("Decimals").fill("many")
    watched.page.get_by_role("button", name="Save").click()
    expect(watched.page.locator(".faulty label")).to_have_text("Decimals")
    assert campaign.get("").json() == before


def test_an_emptied_setting_is_marked(open_page, sqlite_service):
    campaign = judged(sqlite_service, name="web")
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/settings")
    before = campaign.get("").json()
    watched.page.get_by_label("Coverage").fill("")
    watched.page.get_by_role("button", name="Save").click()
    expect(watched.page.locator(".faulty label")).to_have_text("Coverage")
    assert campaign.get("").json() == before


def test_what_a_setting_changes_is_shown_under_that_setting(browser_page):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q&gains=20:3:1&beta=100")
    page.locator(".pairs a").first.click()
    expect(page.locator("main h2 code").first).to_have_text("Q(beta=100,gains=20:3:1)")
    page.get_by_role("link", name="Topics", exact=True).click()
    expect(page.locator("main code").first).to_have_text("Q(beta=100,gains=20:3:1)")
    page.get_by_role("link", name="Board", exact=True).click()
    page.locator("table.board tbody th a").first.click()
    expect(page.locator("main th code").first).to_have_text("Q(beta=100,gains=20:3:1)")


def test_a_run_is_not_compared_with_itself(browser_page):
    page = browser_page.page
    assert browser_page.visit("/c/demo-small/compare?run=otter-1&run=otter-1") == 200
    expect(page.get_by_label("First")).to_have_value("otter-1")
    expect(page.get_by_label("Second")).not_to_have_value("otter-1")
    expect(page.locator("main")).to_contain_text("cannot be compared with itself")


def test_a_faulty_list_is_told_beside_it(browser_page):
    browser_page.visit("/help/metrics/nDCG")
    browser_page.page.get_by_label("Levels by rank").fill("X Y Z")
    expect(browser_page.page.get_by_role("alert")).to_contain_text("X")


def test_an_analysis_that_is_not_there_is_a_page(open_page, demo_service):
    watched = open_page(demo_service)
    for noun in ("job", "report"):
        assert watched.visit(f"/c/demo-small/analyses/{noun}/nope") == 404
        expect(watched.page.locator("main")).to_contain_text("The page of analyses lists all")


def test_every_analysis_starts_from_its_form_as_it_is(tmp_path_factory):
    with serving_demo(tmp_path_factory, job_slots=0) as service:  # nobody waits for what is started
        refused = refused_forms(Person(service))
    # The order is already that of the collection, a version must be chosen, or a judgment set, the judgments come
    # from no pool, and nobody has said that topics were drawn at random.
    own_choice = {"rejudge", "judge", "judge-agreement", "corrected-means"}
    assert set(refused) <= own_choice | {"leave-one-team-out", "web-track-diversity"}


def refused_forms(person):
    """The analyses whose forms are refused as they are."""
    person.sign_in(ADMIN)
    refused = {}
    for kind in (*every_kind(), *every_report_kind()):
        noun = "job" if isinstance(kind, JobKind) else "report"
        page = person.get(f"/c/demo-small/analyses/{noun}/{kind.name}").text
        fields = fields_of(kind.schema, {"metrics": ["Q", "nDCG@10"]})
        sent = {field.name: field.value for field in fields if field.widget != "check" or field.value == "true"}
        answer = person.post(f"/c/demo-small/analyses/{noun}/{kind.name}", csrf=person.csrf, **sent)
        assert all(f'name="{name}"' in page for name in sent)
        if answer.status_code != 303:
            refused[kind.name] = answer.text
    return refused


def test_back_leads_to_the_metric_before(browser_page):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q&gains=9:2:1")
    box = page.get_by_label("Metric").first
    box.fill("AP")
    box.press("Tab")
    expect(page.locator("#board .bar code").first).to_have_text("AP")
    page.wait_for_load_state("networkidle")
    page.go_back()
    expect(page.locator("#board .bar code").first).to_have_text("Q(beta=1,gains=9:2:1)")


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/c/demo?metric=Q", "otter-3"),
        ("/c/demo/topics", "Mean of runs"),
        ("/c/demo/topics/007", "Ideal ranking"),
        ("/c/demo/compare", "95 % interval"),
        ("/c/demo/runs/otter-1", "0.5105"),
        ("/c/demo/analyses", "stability"),
    ],
)
def test_pages_read_without_scripts(open_page, demo_service, address, text):
    watched = open_page(demo_service, java_script_enabled=False)
    assert watched.visit(address) == 200
    expect(watched.page.locator("main")).to_contain_text(text)


def test_parameters_apply_without_scripts(open_page, demo_service):
    watched = open_page(demo_service, java_script_enabled=False)
    watched.visit("/c/demo?metric=Q")
    watched.page.get_by_label("Beta").fill("100")
    watched.page.get_by_role("button", name="Apply").click()
    expect(watched.page.locator("#board .bar code").first).to_have_text("Q(beta=100,gains=3:2:1)")


@pytest.mark.parametrize("address", ["/", "/c/demo?metric=Q", "/signin", "/help/metrics/Q", *WITH_CHARTS])
def test_a_page_is_light(browser_page, address):
    sizes = []
    browser_page.page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    browser_page.visit(address)
    assert sum(sizes) <= (WITH_CHART if address in WITH_CHARTS else WITHOUT_CHART)


@pytest.mark.parametrize("address", ["/c/demo-small", "/c/demo-small/compare"])
def test_a_page_prints_on_a4(browser_page, address):
    browser_page.visit(address)
    browser_page.page.emulate_media(media="print")
    browser_page.page.set_viewport_size({"width": 794, "height": 1123})
    assert not browser_page.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert 1 <= browser_page.page.pdf(format="A4").count(b"/Type /Page\n") <= 6


def test_a_chart_has_its_numbers_one_key_away(browser_page):
    browser_page.visit("/c/demo-small/pool")
    summary = browser_page.page.locator("figure summary")
    summary.focus()
    summary.press("Enter")
    expect(browser_page.page.locator("figure table")).to_be_visible()


@contextmanager
def other_site(address):
    """A site of another origin that frames an address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe src="{address}" width="900" height="500"></iframe>'.encode())

        def log_message(self, format, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_another_site_frames_the_board_of_a_public_collection(browser_page):
    with other_site(f"{browser_page.url}/embed/c/demo-small?top=3") as site:
        browser_page.page.goto(site)
        frame = browser_page.page.frame_locator("iframe")
        expect(frame.locator("tbody tr")).to_have_count(3)


def test_no_other_site_frames_anything_else(browser_page):
    with other_site(f"{browser_page.url}/c/demo-small") as site:
        browser_page.page.goto(site)
        assert browser_page.page.frame_locator("iframe").locator("tbody tr").count() == 0
    assert any("frame-ancestors" in error for error in browser_page.errors)

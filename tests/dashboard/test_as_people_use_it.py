"""Journeys: from the demo to which runs are really better, with and without scripts, on paper and in a frame."""

import re
from statistics import median

import pytest
from playwright.sync_api import expect

from gainboard.analyses.job_kinds import every_kind, schema_of
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.dashboard.schema_forms import fields_of
from tests.world.demos import serving_demo
from tests.world.people import Person
from tests.world.servers import ADMIN


def test_letters_and_ranks_are_there_without_asking(open_page, demo_service):
    watched = open_page(demo_service)
    watched.visit("/c/demo-small?metric=AP")
    board = demo_service.anonymous.get("/v1/collections/demo-small/leaderboard", params={"metric": "AP"}).json()
    for width in (390, 768, 1280):
        watched.page.set_viewport_size({"width": width, "height": 900})
        table = watched.page.locator("table.board")
        shown = table.locator("tbody td.groups").all_inner_texts()
        groups = [row["groups"] for row in board["rows"]]
        assert shown == [f"{own[0]}–{own[-1]}" if len(own) > 2 else " ".join(own) for own in groups]
        ranks = table.locator("tbody td.ranks").all_inner_texts()
        assert ranks == [f"{low}–{high}" for low, high in (row["rank_set"] for row in board["rows"])]
        assert watched.page.evaluate(NOTHING_IS_CUT_OFF)
        assert watched.page.evaluate(OFF_THE_BASELINE) == []
    expect(watched.page.locator(".key summary")).to_contain_text("runs without a common letter are told apart")


OFF_THE_BASELINE = """() => {
    const foot = (place) => {
        const range = document.createRange();
        range.selectNodeContents(place);
        return range.getClientRects()[0].bottom;
    };
    return [...document.querySelectorAll('table.board tbody tr')].filter(row => [...row.querySelectorAll('td.num')]
        .some(cell => Math.abs(foot(cell) - foot(row.querySelector('th a'))) > 2)).map(row => row.id);
}"""
"""The rows whose numbers are not on a line with their name."""
NOTHING_IS_CUT_OFF = """() => {
  const box = document.querySelector('.scroll')
  return box.scrollWidth <= box.clientWidth && document.documentElement.scrollWidth <= innerWidth
}"""


def test_a_phone_has_one_row_a_strip_of_tabs_and_a_menu_also_without_scripts(open_page, demo_service):
    for has_scripts in (True, False):
        watched = open_page(demo_service, java_script_enabled=has_scripts, viewport={"width": 390, "height": 844})
        page = watched.page
        watched.sign_in(ADMIN)
        watched.visit("/c/demo/settings")
        assert page.evaluate(ROWS_OF_HEADER) == [48, 1]
        current = page.locator("#pages [aria-current]")
        expect(current).to_have_text("Settings")
        expect(current).to_be_in_viewport(ratio=0.9)
        expect(page.locator(".chip")).to_have_text("released")
        expect(page.get_by_role("link", name="Help")).to_be_hidden()
        page.get_by_role("button", name="Menu").click()
        expect(page.get_by_role("link", name="Help")).to_be_in_viewport(ratio=0.9)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{watched.url}/")
        page.get_by_role("button", name="Menu").click()
        expect(page.get_by_role("link", name="Sign in").last).to_be_visible()


ROWS_OF_HEADER = """() => {
    const header = document.querySelector('header'), tabs = document.getElementById('pages'), texts = [];
    const walker = document.createTreeWalker(header, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode());) if (text.data.trim()) {
        const range = document.createRange();
        range.selectNodeContents(text);
        texts.push(new Set([...range.getClientRects()].filter(box => box.width).map(box => box.top)).size);
    }
    return [tabs.getBoundingClientRect().top - header.getBoundingClientRect().top, Math.max(...texts)];
}"""
"""The height of what is above the tabs, and the most lines of a text of the header."""


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


def test_the_page_of_judges_lists_them_before_anybody_compares_them(demo_service):
    page = demo_service.anonymous.get("/c/demo/judges").text
    rows = [re.sub("<[^>]*>", " ", row).split() for row in page.split("<tbody>")[1].split("</tbody>")[0].split("</tr>")]
    assert [(row[0], row[-3:]) for row in rows if row] == [
        ("official", ["50", "of", "50"]),
        ("model", ["50", "of", "50"]),
        ("people", ["20", "of", "50"]),
    ]


def test_every_analysis_starts_from_its_form_as_it_is(tmp_path_factory):
    with serving_demo(tmp_path_factory, job_slots=0) as service:  # nobody waits for what is started
        refused = refused_forms(Person(service))
    # The order is already that of the collection, a version must be chosen, or a judgment set, the judgments come
    # from no pool, and nobody has said that topics were drawn at random. There are no replicates and no judges of
    # answers here, and nobody knows what was reproduced.
    own_choice = {"rejudge", "judge", "judge-agreement", "judge-validity", "corrected-means"}
    own_choice |= {"noise", "answer-agreement", "reproduction"}
    assert set(refused) <= own_choice | {"leave-one-team-out", "web-track-diversity"}


def refused_forms(person):
    person.sign_in(ADMIN)
    refused = {}
    for kind in (*every_kind(), *every_report_kind()):
        noun = "job" if kind in every_kind() else "report"
        page = person.get(f"/c/demo-small/analyses/{noun}/{kind.name}").text
        fields = fields_of(schema_of(kind.params_model), {"metrics": ["Q", "nDCG@10"]})
        sent = {field.name: field.value for field in fields if field.widget != "check" or field.value == "true"}
        answer = person.post(f"/c/demo-small/analyses/{noun}/{kind.name}", csrf=person.csrf, **sent)
        assert all(f'name="{name}"' in page for name in sent)
        if answer.status_code != 303:
            refused[kind.name] = answer.text
    return refused


@pytest.mark.parametrize("width", [390, 1440])
def test_parameters_apply_without_scripts(open_page, demo_service, width):
    watched = open_page(demo_service, java_script_enabled=False, viewport={"width": width, "height": 844})
    watched.visit("/c/demo?metric=Q")
    if width == 390:
        watched.page.get_by_role("button", name="Change").click()
    watched.page.get_by_label("Beta").fill("100")
    watched.page.get_by_role("button", name="Apply").click()
    expect(watched.page.locator("#board .bar code").first).to_have_text("Q(beta=100,gains=3:2:1)")


@pytest.mark.parametrize(("address", "most"), [("/c/demo?metric=Q", 60_000), ("/c/demo/topics", 230_000)])
def test_a_page_is_light(browser_page, address, most):
    sizes = []
    browser_page.page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    browser_page.visit(address)
    assert sum(sizes) <= most
    # No script is in the way of the first paint.
    expect(browser_page.page.locator("script[src]:not([defer], [type=module])")).to_have_count(0)


def test_pages_print_on_a4(browser_page):
    for address in ("/c/demo-small?metric=Q&beta=5", "/c/demo-small/compare", "/c/demo-small/topics"):
        browser_page.visit(address)
        browser_page.page.emulate_media(media="print", color_scheme="dark")
        browser_page.page.set_viewport_size({"width": 794, "height": 1123})
        assert not browser_page.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        controls = browser_page.page.locator("input, select, button, .menu")
        assert [each for each in controls.all() if each.is_visible()] == []
        assert browser_page.page.evaluate(INK_AND_SHADOW) == ["rgb(28, 32, 36)", "none"]
        assert 1 <= browser_page.page.pdf(format="A4").count(b"/Type /Page\n") <= 6


INK_AND_SHADOW = """() => [
    getComputedStyle(document.body).color, getComputedStyle(document.querySelector('.scroll')).backgroundImage]"""


def test_without_scripts_a_figure_says_so_above_its_numbers(open_page, demo_service):
    watched = open_page(demo_service, java_script_enabled=False)
    watched.visit("/c/demo-small/compare")
    expect(watched.page.locator("figure noscript p").first).to_have_text(
        "JavaScript draws this figure. Its numbers are below."
    )
    expect(watched.page.locator("figure td").first).to_be_visible()


def test_a_faulty_list_is_told_beside_it_and_a_chart_has_its_numbers_one_key_away(browser_page):
    browser_page.visit("/help/metrics/nDCG")
    browser_page.page.get_by_label("Levels by rank").fill("X Y Z")
    expect(browser_page.page.get_by_role("alert")).to_contain_text("X")
    browser_page.visit("/c/demo-small/pool")
    summary = browser_page.page.locator("figure summary")
    summary.focus()
    summary.press("Enter")
    expect(browser_page.page.locator("figure table")).to_be_visible()


def test_a_run_leads_to_the_topics_on_which_it_is_furthest_behind(browser_page, demo_service):
    query = {"metric": "nDCG@10", "topics": "all"}
    table = demo_service.anonymous.get("/v1/collections/demo-small/scores", params=query).json()
    scores = {run["name"]: next(iter(run["topics"].values())) for run in table["runs"]}
    name = "otter-1"
    behind = {topic: score - median(of[topic] for of in scores.values()) for topic, score in scores[name].items()}
    browser_page.visit(f"/c/demo-small/runs/{name}?metric=nDCG@10")
    main = browser_page.page.locator("main")
    weakest = main.get_by_text("furthest behind the median").get_by_role("link").all_inner_texts()
    assert weakest == [topic for topic in sorted(behind, key=behind.get)[:5] if behind[topic] < 0]
    main.get_by_role("link", name=weakest[0], exact=True).click()
    expect(main.get_by_role("heading", level=1)).to_have_text(f"Topic {weakest[0]}")

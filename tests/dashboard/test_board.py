"""The board as people use it, on the demo's campaign."""

import re

import pytest
from playwright.sync_api import expect


def shown(watched):
    rows = watched.page.evaluate(
        """() => [...document.querySelectorAll('table.board tbody tr')].map(row =>
            [row.querySelector('th a').textContent, row.querySelector('td.num').textContent])"""
    )
    return [(name, mean) for name, mean in rows]


def ranked(service, **query):
    answer = service.anonymous.get("/v1/collections/demo/leaderboard", params=query).json()
    return [(row["name"], f"{row['mean'][answer['by']]:.4f}") for row in answer["rows"]]


def move(watched, title, steps):
    slider = watched.page.locator(".slider", has_text=title).locator("input[type=range]")
    slider.focus()
    for _ in range(abs(steps)):
        slider.press("ArrowRight" if steps > 0 else "ArrowLeft")


def test_people_correct_the_board_of_a_model(browser_page, demo_service):
    browser_page.visit("/c/demo?metric=nDCG@10")
    browser_page.page.get_by_label("Judged by").select_option("model")
    browser_page.page.wait_for_url("**judgments=model**")
    browser_page.page.get_by_label("Corrected by").select_option("people")
    browser_page.page.wait_for_url("**corrected_by=people**")
    expect(browser_page.page.locator("#board")).to_contain_text("corrected by people on 20 of 50 topics")
    expect(browser_page.page.locator("#board")).to_contain_text("judges: model on 100 %, people on 40 % of the topics")
    query = {"metric": "nDCG@10", "judgments": "model", "corrected_by": "people"}
    assert shown(browser_page) == ranked(demo_service, **query)
    answer = demo_service.anonymous.get("/v1/collections/demo/leaderboard", params=query).json()
    alone = browser_page.page.locator("table.board tbody tr td.num.other").all_text_contents()
    assert alone == [f"{row['uncorrected'][answer['by']]:.4f}" for row in answer["rows"]]
    assert browser_page.page.locator("table.board circle.alone").count() == 45


def test_a_slider_reorders_the_board_as_the_api_does_and_the_address_follows(browser_page, demo_service):
    browser_page.visit("/c/demo?metric=Q")
    move(browser_page, "Beta", 6)
    label = browser_page.page.locator("#board .bar code").first
    expect(label).to_have_text("Q(beta=50,gains=3:2:1)")
    assert shown(browser_page) == ranked(demo_service, metric="Q", beta="50")
    browser_page.page.wait_for_url("**beta=50**")
    browser_page.page.reload()
    assert shown(browser_page) == ranked(demo_service, metric="Q", beta="50")


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        (lambda route: route.abort(), "The server did not answer."),
        (lambda route: route.fulfill(status=429, content_type="text/html", body=BUSY), "Few at once."),
        (lambda route: route.fulfill(status=500, body="oops"), "The server answered with an error (500)."),
        (lambda route: route.fulfill(status=200, body="a page of a proxy"), "The server answered with an error (200)."),
    ],
)
def test_a_step_that_fails_changes_nothing_and_can_be_tried_again(browser_page, fail, said):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q&find=otter")
    address, before = page.url, shown(browser_page)
    page.route("**/c/demo?*beta=*", fail)
    move(browser_page, "Beta", 1)
    expect(page.locator("#fault")).to_contain_text(f"{said} The table still shows Q(beta=1,gains=3:2:1).")
    assert (page.url, shown(browser_page)) == (address, before)
    box, slider = page.get_by_label("Beta").first, page.locator(".slider", has_text="Beta").locator("[type=range]")
    expect(box).to_have_value("")
    expect(slider).to_have_attribute("aria-valuetext", "1")
    page.unroute("**/c/demo?*beta=*")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_url("**beta=2**")
    expect(box).to_have_value("2")
    expect(slider).to_have_attribute("aria-valuetext", "2")
    expect(page.locator("#fault")).to_be_empty()


BUSY = "<p class='lead reason'>Few at once.</p>"


def test_quick_steps_are_asked_one_at_a_time_and_the_last_wins(browser_page):
    page, asked = browser_page.page, []
    browser_page.visit("/c/demo?metric=Q")
    page.route("**/c/demo?*beta=*", lambda route: asked.append(route))  # Playwright marks functions
    move(browser_page, "Beta", 1)
    expect(page.locator("#parameters")).to_have_class("htmx-request")
    move(browser_page, "Beta", 4)
    page.unroute("**/c/demo?*beta=*")
    with page.expect_request("**/c/demo?*beta=20*"):
        asked[0].continue_()
    expect(page.locator("#board .bar code").first).to_have_text("Q(beta=20,gains=3:2:1)")
    assert len(asked) == 1


def test_a_table_that_is_not_refreshed_says_so_until_it_is(browser_page):
    page = browser_page.page
    page.clock.install()
    browser_page.visit("/c/demo-small")
    page.route("**/c/demo-small", lambda route: route.abort())
    page.clock.run_for(31_000)
    expect(page.locator("#board .bar .fault")).to_have_text("Not refreshed: the server did not answer.")
    page.unroute("**/c/demo-small")
    page.clock.run_for(31_000)
    expect(page.locator("#board .bar .fault")).to_have_count(0)


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_wrong_metric_stands_in_the_form_beside_the_fault(open_page, demo_service, has_scripts):
    watched = open_page(demo_service, java_script_enabled=has_scripts)
    page = watched.page
    assert watched.visit("/c/demo?metric=Q&metric=AP&beta=3&find=otter") == 200
    page.get_by_label("Metric").first.fill("nDGC@10")
    page.get_by_label("Metric").first.press("Enter")
    expect(page.locator("#fault")).to_contain_text("Did you mean nDCG")
    # The script leaves the table as it was; without it, the page is a new one, of the official setting.
    label = f"Q(beta={3 if has_scripts else 1},gains=3:2:1)"
    expect(page.locator("#board .bar code").first).to_have_text(label)
    assert watched.visit("/c/demo?metric=nDGC@10&metric=AP&beta=3&find=otter") == 422
    for title, value in {"Metric": "nDGC@10", "Beta": "3", "Find": "otter"}.items():
        expect(page.get_by_label(title).first).to_have_value(value)
    expect(page.locator("[aria-label='Column 1']")).to_have_value("AP")
    expect(page.locator("table.board tbody tr")).to_have_count(3)
    assert "nDGC" not in page.get_by_role("link", name="Topics", exact=True).get_attribute("href")


def test_a_metric_that_is_being_typed_leaves_the_board_until_it_is_one(browser_page):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q")
    box, label = page.get_by_label("Metric").first, page.locator("#board .bar code").first
    box.fill("")
    box.press("Tab")
    expect(box).to_have_value("Q")
    box.fill("nDCGG")
    expect(page.locator("#fault")).to_contain_text("Did you mean nDCG")
    expect(label).to_have_text("Q(beta=1,gains=3:2:1)")
    expect(page.locator("table.board tbody tr")).to_have_count(45)
    browser_page.errors.clear()  # the browser logs each 422
    box.fill("nDCG@10")
    box.press("Tab")
    expect(label).to_have_text("nDCG(base=2,gains=3:2:1)@10")
    expect(page.locator("#fault")).to_be_empty()
    expect(page.locator(".slider", has_text="Log base")).to_be_visible()
    expect(page.locator(".slider", has_text="Beta")).to_have_count(0)
    page.go_back()
    expect(label).to_have_text("Q(beta=1,gains=3:2:1)")


def test_columns_are_added_and_taken_away(browser_page, demo_service):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q&metric=AP")
    page.get_by_text("More columns").click()
    page.get_by_label("Column 2").fill("P@5")
    heads = page.locator("table.board thead .other")
    expect(heads).to_have_text(["AP", "P@5"])
    page.get_by_label("Column 1").fill("")
    expect(heads).to_have_text(["P@5"])
    assert browser_page.errors == []


def test_filters_and_pins_outlive_the_return_to_the_official_setting(browser_page):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q&beta=50&team=otter&pin=otter-3")
    page.get_by_role("link", name="Official setting").click()
    expect(page.locator("table.board tbody tr")).to_have_count(3)
    assert "pin=otter-3" in page.url
    assert "beta" not in page.url


def test_dots_stand_in_the_columns_of_their_letters_beside_a_pinned_run_of_a_group_of_its_own(demo_service):
    answer = demo_service.anonymous.get("/v1/collections/demo/leaderboard", params={"metric": "Q"}).json()
    letters = {row["name"]: row["groups"] for row in answer["rows"]}
    team = next(row["team"] for row in answer["rows"] if "a" not in row["groups"])
    best = answer["rows"][0]["name"]
    page = demo_service.anonymous.get("/c/demo", params={"metric": "Q", "team": team, "pin": best}).text
    dots_by_run = {
        row.split('"')[0]: re.findall(r'class="dots" d="(.*?)"', row) for row in page.split('<tr id="run-')[1:]
    }
    shown = sorted({letter for name in dots_by_run for letter in letters[name]})
    assert "a" in shown
    assert dots_by_run.pop(best) == []
    for name, [dots] in dots_by_run.items():
        assert dots == "".join(f"M{10 * shown.index(letter) + 5} 16h0" for letter in letters[name])


def test_judged_is_the_share_at_the_cut_off_where_the_metric_has_one(browser_page, demo_service):
    heading, cells = (browser_page.page.locator(f"table.board {part}") for part in ("th.judged", "td.judged"))
    browser_page.visit("/c/demo?metric=nDCG@10")
    expect(heading).to_have_text("Judged@10")
    answer = demo_service.anonymous.get("/v1/collections/demo/scores", params={"metric": "Judged@10"}).json()
    count = answer["topics_scored"]["Judged@10"]
    # Of the topics that the run has: one that lacks topics has nothing there that could be judged.
    shares = {run["name"]: run["mean"]["Judged@10"] * count / (count - run["topics_missing"]) for run in answer["runs"]}
    rows = demo_service.anonymous.get("/v1/collections/demo/leaderboard", params={"metric": "nDCG@10"}).json()["rows"]
    expect(cells).to_have_text([f"{100 * shares[row['name']]:.0f} %" for row in rows])
    browser_page.visit("/c/demo?metric=Q")
    expect(heading).to_have_text("Judged")
    runs = demo_service.anonymous.get("/v1/collections/demo/runs", params={"limit": 200}).json()["items"]
    whole = {run["name"]: f"{100 * (1 - run['unjudged_share']):.0f} %" for run in runs}
    rows = demo_service.anonymous.get("/v1/collections/demo/leaderboard", params={"metric": "Q"}).json()["rows"]
    expect(cells).to_have_text([whole[row["name"]] for row in rows])


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768)])
def test_rows_are_seen_to_move_above_the_sheet_of_the_parameters(open_page, demo_service, width, height):
    watched = open_page(demo_service, viewport={"width": width, "height": height})
    page = watched.page
    watched.visit("/c/demo?metric=Q")
    expect(page.locator(".slider").first).to_be_hidden()
    page.get_by_role("button", name="Q, 3:2:1, beta 1 Change").click()
    page.wait_for_function(f"() => {IN_SIGHT}.length >= 7")
    before = page.evaluate(IN_SIGHT)
    move(watched, "Beta", 6)
    expect(page.get_by_role("button", name="Q, 3:2:1, beta 50 Done")).to_be_in_viewport(ratio=1)
    after = page.evaluate(IN_SIGHT)
    assert before == [name for name, _ in ranked(demo_service, metric="Q")[: len(before)]]
    assert after == [name for name, _ in ranked(demo_service, metric="Q", beta="50")[: len(after)]]
    assert (len(after) >= 7, after[:7] != before[:7]) == (True, True)
    page.keyboard.press("Escape")
    expect(page.locator(".slider").first).to_be_hidden()


IN_SIGHT = """[...document.querySelectorAll('table.board tbody tr')].filter(row => {
    const box = row.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= document.getElementById('setting').getBoundingClientRect().top;
}).map(row => row.querySelector('th a').textContent)"""


def test_a_link_to_share_has_the_setting_that_a_slider_has_left(browser_page, demo_service):
    page = browser_page.page
    browser_page.visit("/c/demo?metric=Q&find=otter")
    move(browser_page, "Beta", 6)
    page.wait_for_url("**beta=50**")
    expect(page.locator("#board .bar code").first).to_have_text("Q(beta=50,gains=3:2:1)")
    page.get_by_text("Share", exact=True).click()
    expect(page.get_by_role("button", name="Copy the link")).to_be_visible()
    rows = shown(browser_page)
    page.goto(page.get_by_label("Link to this board").input_value())
    assert shown(browser_page) == rows
    expect(page.get_by_label("Beta").first).to_have_value("50")


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_menus_the_sheet_and_the_cards_have_no_fault_of_accessibility(open_page, demo_service, width, theme):
    page = (watched := open_page(demo_service, viewport={"width": width, "height": 844}, color_scheme=theme)).page
    for address, openers in (("/c/demo?metric=Q&metric=AP&gains=20:3:1&beta=100", OPENERS), ("/", ())):
        watched.visit(address)
        for opener in ("nothing", *openers):
            if opener == "nothing" or page.locator(opener).is_visible():
                page.evaluate(
                    "() => { for (const fold of document.querySelectorAll('.key, .request')) fold.open = true }"
                )
                page.locator("body" if opener == "nothing" else opener).press("Enter")
                assert [(opener, rule["id"], rule["nodes"]) for rule in watched.broken_rules(**SAME_LABELS)] == []
                page.keyboard.press("Escape")


OPENERS = ("[popovertarget=who]", "[popovertarget=setting]", "summary:text-is('Export')", "summary:text-is('Share')")
SAME_LABELS = {"identical-links-same-purpose": {"enabled": True}}
"""Links with one label that lead to different pages: a rule that axe leaves out by itself."""


def test_a_card_shows_the_best_runs_once_it_is_in_sight(open_page, demo_service):
    watched = open_page(demo_service, viewport={"width": 390, "height": 270})
    page, loaded = watched.page, []
    page.on("request", lambda request: loaded.append(request.url) if request.url.endswith("/card") else None)
    watched.visit("/")
    cards = page.locator(".cards > li")
    expect(cards.first.locator("ol li")).to_have_count(3)
    assert loaded == [f"{watched.url}/c/demo/card"]
    cards.last.locator(".best").scroll_into_view_if_needed()
    for card, name in ((cards.first, "demo"), (cards.last, "demo-small")):
        expect(card.locator("ol li")).to_have_count(3)
        board = demo_service.anonymous.get(f"/v1/collections/{name}/leaderboard").json()
        best = [f"{row['name']} {row['mean'][board['by']]:.4f}" for row in board["rows"][:3]]
        assert card.locator("ol li").all_inner_texts() == best
        teams = {row["team"] for row in board["rows"]}
        expect(card).to_contain_text(f"{len(board['rows'])} runs of {len(teams)} teams, the best by Q:")

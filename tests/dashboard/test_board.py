"""The board as people use it, on the demo's campaign."""

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

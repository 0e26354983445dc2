"""The board while judgments are hidden and scores are counted: no step of a slider spends what a team has left."""

from playwright.sync_api import expect

from tests.world.campaigns import RUN, WORSE, judged

PRESETS = ["nDCG@10", "Q(beta=10)"]


def rationed(service, **policy):
    return judged(
        service,
        RUN,
        WORSE,
        name="web",
        topics=["1", "2"],
        policy={"scores": "own-mean", "coverage": 0, "decimals": 2} | policy,
    )


def opened(open_page, campaign, address):
    watched = open_page(campaign.service)
    watched.sign_in(campaign.token("participant", "lemur"))
    assert watched.visit(address) == 200
    return watched


def test_settings_are_chosen_among_the_presets(open_page, sqlite_service):
    campaign = rationed(sqlite_service, presets=PRESETS)
    page = opened(open_page, campaign, "/c/web").page
    expect(page.locator("input[type=range]")).to_have_count(0)
    page.get_by_label("Setting").select_option(PRESETS[1])
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#board .bar code").first).to_have_text("Q(beta=10,gains=linear)")
    own = campaign.client("participant", "lemur")
    board = campaign.get("/leaderboard", own, metric=PRESETS[1]).json()
    expected = [f"{row['mean'][board['by']]:.2f}" for row in board["rows"]]
    assert page.locator("tbody td.num").all_inner_texts() == expected


def test_a_free_setting_is_applied_by_a_button_that_says_what_it_costs_and_runs_are_found_for_nothing(
    open_page, sqlite_service
):
    campaign = rationed(sqlite_service, parameters="free", answers=50)
    page = opened(open_page, campaign, "/c/web?metric=Q").page
    expect(page.locator("input[type=range]")).to_have_count(0)
    expect(page.locator("#effect")).to_contain_text("48 of 50 are left")
    page.get_by_label("Find").fill("worse")
    page.get_by_label("Find").press("Tab")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("#effect")).to_contain_text("48 of 50 are left")
    page.get_by_label("Beta").fill("7")
    expect(page.locator("#board .bar code").first).to_have_text("Q(beta=1,gains=linear)")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#board .bar code").first).to_have_text("Q(beta=7,gains=linear)")
    expect(page.locator("#effect")).to_contain_text("46 of 50 are left")


def test_a_team_sees_what_its_runs_score_where_it_sends_them_and_which_runs_are_its_own(open_page, sqlite_service):
    campaign = rationed(sqlite_service, presets=PRESETS)
    campaign.submit(RUN.replace(" tag\n", " other\n"), team="otter")
    own = campaign.client("participant", "lemur")
    before = own.get("/v1/me/limits").json()
    page = opened(open_page, campaign, "/c/web/submissions").page
    means = {row["name"]: row["mean"] for row in campaign.get("/leaderboard", own, metric=PRESETS[0]).json()["rows"]}
    rows = page.locator("#runs tbody tr").all()
    assert [row.locator("td.num").first.inner_text() for row in rows] == [
        f"{next(iter(means[row.locator('th').inner_text()].values())):.2f}" for row in rows
    ]
    assert own.get("/v1/me/limits").json() == before
    campaign.release()
    page.locator("#runs thead").get_by_role("link").click()
    expect(page.locator("tbody tr", has_text="yours").locator("th a:not(.pin)")).to_have_text(["tag", "worse"])
    expect(page.locator("tbody tr", has_text="other")).not_to_contain_text("yours")

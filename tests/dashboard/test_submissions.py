"""Submissions: what a browser says of files before and after they are sent."""

from playwright.sync_api import expect

from tests.world.campaigns import RUN, WORSE, Campaign
from tests.world.servers import ADMIN


def test_a_team_checks_its_files_and_then_sends_several(open_page, sqlite_service, tmp_path):
    campaign = Campaign(sqlite_service, name="web")
    campaign.put_qrels()
    campaign.submit(RUN, team="otter", name="taken")
    watched = open_page(sqlite_service)
    watched.sign_in(campaign.token("participant", "lemur"))
    watched.visit("/c/web/submissions")
    page, sent, found = watched.page, watched.page.locator("#sent li"), watched.page.locator(".findings")

    def choose(**files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        page.get_by_label("Run files").set_input_files([tmp_path / name for name in files])

    choose(run=RUN.replace(" tag\n", " a/b\n"))
    page.get_by_role("button", name="Check only").click()
    expect(sent.first).to_contain_text("cannot be used as a name")
    choose(run=WORSE)
    page.get_by_label("Name").fill("taken")
    page.get_by_role("button", name="Check only").click()
    expect(sent.first).to_contain_text("exists, of another team")
    assert [run["name"] for run in campaign.get("/runs").json()["items"]] == ["taken"]
    late, twice = "1 Q0 late 4 many tag\n2 Q0 late 4 few tag\n", "1 Q0 good 3 0.1 tag\n"
    third, faulty, worse = RUN.replace(" tag\n", " third\n"), RUN + late, RUN + late + twice
    choose(first=RUN, second=WORSE, third=third, faulty=faulty, worse=worse)
    expect(page.get_by_label("Name")).to_be_disabled()  # several files have the names in their tags
    button = page.get_by_role("button", name="Submit the 3 good ones")
    expect(button).to_be_enabled()
    # The same fault of four lines in two files is said once.
    where = found.locator("tbody td:first-child")
    expect(where).to_have_text(["faulty 5, 6; worse 5, 6", "worse 7"])
    expect(found.locator("tbody tr").first).to_contain_text("(4 times)")
    assert [run["name"] for run in campaign.get("/runs").json()["items"]] == ["taken"]
    button.click()
    expect(page.locator("#sent .fine")).to_contain_text(["is stored"] * 3)
    expect(page.locator("#runs tbody th")).to_have_text(["third", "worse", "tag"])
    assert [run["name"] for run in campaign.get("/runs").json()["items"]] == ["tag", "taken", "third", "worse"]


def test_many_runs_come_by_pages_and_are_found_by_a_part_of_their_names(open_page, sqlite_service):
    campaign = Campaign(sqlite_service, name="web")
    campaign.put_qrels()
    campaign.release()
    for number in range(126):
        team = "most" if number < 101 else f"team-{number}"
        campaign.submit(RUN.replace(" tag\n", f" run-{number}\n"), team=team)
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/submissions")
    page, runs = watched.page, watched.page.locator("#runs tbody tr:not(.team) th")
    expect(page.locator("#runs tr.team")).to_have_count(25)
    page.get_by_role("link", name="Next →").click()
    expect(runs).to_have_text(["run-125"])
    page.get_by_role("link", name="← Before").click()
    page.get_by_role("link", name="All 101 runs of most").click()
    expect(runs).to_have_count(100)
    page.get_by_role("link", name="Next →").click()
    expect(runs).to_have_text(["run-0"])
    page.get_by_role("link", name="Compare").click()
    page.get_by_label("Second").fill("run-125")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("main")).to_contain_text("Both runs have the same mean")
    assert watched.errors == []


def test_a_team_sees_what_is_left_after_each_run_and_what_a_run_lacks(open_page, sqlite_service):
    policy = {"presets": ["AP"], "quotas": {"total": 3}}
    campaign = Campaign(sqlite_service, topics=["1", "2", "10", "9"], policy=policy)
    campaign.put_qrels()
    watched = open_page(sqlite_service)
    watched.sign_in(campaign.token("participant", "lemur"))
    watched.visit(f"/c/{campaign.name}/submissions")
    page, sent = watched.page, watched.page.locator("#sent li")
    page.get_by_label("Run files").set_input_files({"name": "run", "mimeType": "text/plain", "buffer": RUN.encode()})
    page.get_by_role("button", name="Check only").click()
    expect(sent.first).to_contain_text("would be accepted, but gets no score; nothing was stored")
    found = page.locator(".findings")
    expect(found).to_contain_text("The run lacks topics of the collection; these score 0: 10, 9.")
    expect(found).to_contain_text("It covers 2 of 4 declared topics; a score needs 90% of them")
    page.get_by_role("button", name="Submit").click()
    expect(sent.first).to_contain_text("is stored, but gets no score")
    expect(page.locator("#state")).to_contain_text("The 1 run of your team")
    expect(page.locator("#state dd").first).to_have_text("2 of 3")
    assert page.locator("#sent .fine").count() == 0

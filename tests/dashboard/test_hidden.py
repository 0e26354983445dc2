"""Pages of a hidden campaign give its teams none of what the API refuses them, and no choice of it."""

from playwright.sync_api import expect

from gainboard.dashboard.settings import WORDS
from tests.api.test_score_matrices import put, table
from tests.api.test_ties import TIED
from tests.world.campaigns import RUN, WORSE, Campaign
from tests.world.laboratories import Laboratory
from tests.world.people import Person
from tests.world.servers import ADMIN

TIES = "Other orders of ties"


def test_a_team_sees_no_uploaded_scores_topic_groups_or_orders_of_ties_before_the_release(shared):
    lab = Laboratory(shared, name="web")
    assert put(lab, table(), low=0, high=1).status_code == 201
    lab.organiser.put(f"{lab.path}/topic-groups/hard", json=["2", "4"]).raise_for_status()
    assert lab.submit(TIED, team="team-0", name="tied").status_code == 201
    free = {"scores": "all", "parameters": "free", "decimals": 15, "coverage": 0}
    assert lab.change(topics="from-qrels", policy=free).status_code == 200
    person = Person(shared, lab.token("participant", "team-0"))
    board = person.get("/c/web?metric=AP").text
    assert ("run-0" in board, "custom:" in board) == (True, False)
    assert person.get("/c/web?metric=custom:nuggets").status_code == 403
    assert TIES not in person.get("/c/web/runs/tied?metric=AP").text
    lab.change(policy={"scores": "own-mean", "parameters": "preset", "presets": ["AP"]})
    assert 'name="topics"' not in person.get("/c/web").text
    for query in ("topics=hard", "by_group=all"):
        assert person.get(f"/c/web?{query}").status_code == 403, query
    lab.release()
    assert TIES in person.get("/c/web/runs/tied?metric=AP").text
    assert 'name="topics"' in person.get("/c/web?metric=AP").text


def test_the_preview_of_the_settings_says_what_a_team_then_sees(open_page, sqlite_service):
    campaign = Campaign(sqlite_service, name="web", topics=["1", "2"], policy={"presets": ["AP"], "decimals": 2})
    campaign.put_qrels()
    campaign.submit(RUN, team="lemur")
    campaign.submit(WORSE, team="otter")
    team = campaign.client("participant", "lemur")
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    page, seen = watched.page, []
    for card in WORDS["policy.scores"].values():
        watched.visit("/c/web/settings")
        page.get_by_text("Another choice").click()
        before = page.locator("#preview").inner_text()
        page.get_by_role("radio", name=card).check()
        page.wait_for_function("before => document.querySelector('#preview').innerText !== before", arg=before)
        promised = page.locator("#preview").inner_text()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The settings are saved.")).to_be_visible()
        assert page.locator("#preview").inner_text() == promised
        runs = [run["name"] for run in campaign.read("/runs", team)["items"]]
        means, topics = campaign.get("/scores", team), campaign.get("/scores", team, topics="all")
        whose = "its own runs" if runs == ["tag"] else "the runs of all teams"
        what = "means and scores of single topics" if topics.status_code == 200 else "means"
        given = f": {what} under AP, with 2 decimals." if means.status_code == 200 else ", and no score."
        assert promised == f"Team lemur will see {whose}{given}"
        seen.append(promised)
    assert len(set(seen)) == len(seen) == 4
    assert watched.errors == []

"""Submissions: uploads with their faults, and the runs of each team."""

import pytest
from playwright.sync_api import expect

from tests.world.campaigns import RUN, WORSE, Campaign, judged
from tests.world.servers import ADMIN

FAULTY = "1 Q0 good 1 0.9 tag\n1 Q0 good 2 0.8 tag\n2 Q0 bad x\n"


@pytest.fixture
def campaign(sqlite_service):
    """A hidden campaign with judgments."""
    campaign = Campaign(sqlite_service, name="web")
    campaign.put_qrels()
    return campaign


@pytest.fixture
def participant(open_page, campaign):
    """The page of a participant's submissions."""
    watched = open_page(campaign.service)
    watched.sign_in(campaign.token("participant", "lemur"))
    assert watched.visit("/c/web/submissions") == 200
    return watched


def choose(watched, folder, **files):
    """Chooses files to upload."""
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.txt")
        paths[-1].write_text(text)
    watched.page.get_by_label("Run files").set_input_files(paths)


def test_an_upload_appears_in_the_list(participant, campaign, tmp_path):
    choose(participant, tmp_path, first=RUN, second=WORSE)
    participant.page.get_by_role("button", name="Submit").click()
    expect(participant.page.locator("#sent .fine")).to_have_count(2)
    expect(participant.page.locator("#runs tbody th")).to_have_text(["worse", "tag"])
    assert [run["name"] for run in campaign.get("/runs").json()["items"]] == ["tag", "worse"]


def test_faults_are_shown_by_line_as_the_api_has_them(participant, campaign, tmp_path):
    choose(participant, tmp_path, faulty=FAULTY)
    participant.page.get_by_role("button", name="Submit").click()
    expect(participant.page.locator("#sent .bad")).to_have_count(1)
    shown = participant.page.locator("#sent .bad tbody tr").all_inner_texts()
    errors = campaign.submit(FAULTY).json()["errors"]
    assert shown == [f"{each['line']}\t{each['message']} {each['code']}" for each in errors]
    links = participant.page.locator("#sent .bad a").evaluate_all(
        "found => found.map(each => each.getAttribute('href'))"
    )
    assert links == [f"/help/formats.html#{each['code']}" for each in errors]
    assert len(errors) == 2


def test_a_check_stores_nothing(participant, campaign, tmp_path):
    choose(participant, tmp_path, fine=RUN)
    participant.page.get_by_role("button", name="Check only").click()
    expect(participant.page.locator("#sent .fine")).to_contain_text("nothing was stored")
    assert campaign.get("/runs").json()["items"] == []


def test_a_participant_sees_only_its_own_runs(participant, campaign):
    campaign.submit(RUN, team="lemur")
    campaign.submit(WORSE, team="otter")
    participant.visit("/c/web/submissions")
    assert participant.page.locator("#runs tbody th").all_inner_texts() == ["tag"]
    assert "otter" not in participant.page.content()


def test_a_run_is_withdrawn_by_its_team(participant, campaign):
    campaign.submit(RUN, team="lemur")
    participant.visit("/c/web/submissions")
    participant.page.locator("summary", has_text="Withdraw").click()
    participant.page.get_by_role("button", name="Withdraw tag").click()
    expect(participant.page.locator("#runs")).to_contain_text("No run has been sent yet")
    assert campaign.get("/runs").json()["items"] == []


def test_an_organiser_uploads_for_a_team(open_page, campaign, tmp_path):
    watched = open_page(campaign.service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/submissions")
    choose(watched, tmp_path, fine=RUN)
    watched.page.get_by_label("Team").fill("otter")
    watched.page.get_by_role("button", name="Submit").click()
    expect(watched.page.locator("#sent .fine")).to_have_count(1)
    assert campaign.get("/runs").json()["items"][0]["team"] == "otter"


def test_a_closed_campaign_says_why_and_has_no_form(participant, campaign):
    campaign.change(policy={"closes_at": "2020-01-01T00:00:00Z"})
    participant.visit("/c/web/submissions")
    expect(participant.page.locator("main")).to_contain_text("Submissions closed at")
    assert participant.page.locator("#upload").count() == 0


def test_an_upload_needs_the_text_of_its_session(participant, campaign):
    answer = participant.page.request.post(
        f"{participant.url}/c/web/runs", data=RUN, headers={"X-CSRF-Token": "0" * 64, "Sec-Fetch-Site": "same-origin"}
    )
    assert answer.status == 403
    assert campaign.get("/runs").json()["items"] == []


@pytest.mark.parametrize("role", ["reader", None])
def test_others_have_no_submissions(open_page, campaign, role):
    watched = open_page(campaign.service)
    if role:
        watched.sign_in(campaign.token(role))
    assert watched.visit("/c/web/submissions") == (403 if role else 401)


def test_an_organiser_sees_what_each_team_has_left(open_page, sqlite_service):
    campaign = judged(sqlite_service, name="web", policy={"quotas": {"per_day": 3, "total": 5}})
    campaign.submit(WORSE, team="otter")
    assert campaign.submit(RUN, team="otter", name="again").status_code == 201
    watched = open_page(sqlite_service)
    watched.sign_in(ADMIN)
    watched.visit("/c/web/submissions")
    teams = watched.page.locator("tr.team").all_inner_texts()
    assert [(team.split()[0], team.rpartition(", ")[2]) for team in teams] == [("lemur", "2 left"), ("otter", "1 left")]


def test_a_check_finds_what_is_wrong_with_the_name(participant, campaign, tmp_path):
    campaign.submit(RUN, team="otter", name="taken")
    choose(participant, tmp_path, run=RUN.replace(" tag\n", " a/b\n"))
    button = participant.page.get_by_role("button", name="Check only")
    button.click()
    expect(participant.page.locator("#sent li").first).to_contain_text("cannot be used as a name")
    choose(participant, tmp_path, run=WORSE)
    participant.page.get_by_label("Name").fill("taken")
    button.click()
    expect(participant.page.locator("#sent li").first).to_contain_text("exists, of another team")


def test_several_files_have_the_names_in_their_tags(participant, tmp_path):
    participant.page.get_by_label("Name").fill("one-name")
    choose(participant, tmp_path, first=RUN, second=WORSE)
    expect(participant.page.get_by_label("Name")).to_be_disabled()
    participant.page.get_by_role("button", name="Submit").click()
    expect(participant.page.locator("#sent li.fine")).to_have_count(2)

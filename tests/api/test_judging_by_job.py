"""A version of the judgments by which many runs are to be judged is judged and published by a job."""

import pytest

from gainboard.cli import main
from gainboard.evaluation import publication
from tests.waiting import until
from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, WORSE, judged, refused
from tests.world.servers import ADMIN

BETTER = RUN.replace("tag", "newer")


@pytest.fixture
def campaign(on_both, monkeypatch):
    """A collection with two judged runs, of which a request judges no more from now on."""
    found = judged(on_both, RUN, WORSE)
    monkeypatch.setattr(publication, "JUDGED_AT_ONCE", 0)
    return found


def ended(campaign, asked):
    """The job that an answer leads to, once it is over."""
    assert asked.status_code == 202, asked.text
    job = asked.json()["job"]
    assert asked.headers["Location"] == f"/v1/jobs/{job}"
    while (answer := campaign.organiser.get(f"/v1/jobs/{job}", params={"wait": 30}).json())["state"] in (
        "queued",
        "running",
    ):
        pass
    return answer


def test_a_new_version_is_a_draft_until_its_job_has_judged_all_runs(campaign):
    before = campaign.scores("AP")["runs"]
    asked = campaign.put_qrels(OTHER_QRELS)
    shown = asked.json()
    assert (shown["version"], shown["state"], shown["in_use"]) == (2, "draft", False)
    job = ended(campaign, asked)
    assert (job["kind"], job["state"], job["params"]) == ("judge", "succeeded", {"qrels": 2, "publish": True})
    result = campaign.organiser.get(f"/v1/jobs/{job['id']}/result").json()
    assert (result["version"], result["published"], result["judged_runs"]) == (2, True, 2)
    assert campaign.get("/qrels/2").json()["in_use"]
    after = campaign.scores("AP")
    assert after["qrels_version"] == 2
    assert after["runs"] != before
    assert campaign.scores("AP", qrels=1)["runs"] == before


def test_its_scores_are_those_of_a_version_that_a_request_judged(campaign, monkeypatch):
    ended(campaign, campaign.put_qrels(OTHER_QRELS))
    by_job = campaign.scores("AP", "Q", "nDCG@10")["runs"]
    monkeypatch.undo()
    other = judged(campaign.service, RUN, WORSE, qrels=OTHER_QRELS)
    assert other.scores("AP", "Q", "nDCG@10")["runs"] == by_job


def test_a_draft_is_judged_and_not_published(campaign):
    job = ended(campaign, campaign.put_qrels(OTHER_QRELS, draft=True))
    assert job["params"] == {"qrels": 2, "publish": False}
    assert campaign.get("/qrels/2").json()["state"] == "draft"
    assert campaign.get("/qrels/1").json()["in_use"]
    # Nothing is left to judge, so that a request publishes it.
    published = campaign.publish(2)
    assert (published.status_code, published.json()["in_use"]) == (200, True)


def test_the_same_file_makes_no_second_draft(campaign):
    drafted = ended(campaign, campaign.put_qrels(OTHER_QRELS, draft=True))
    asked = campaign.put_qrels(OTHER_QRELS)  # now to be published
    published = ended(campaign, asked)
    assert published["id"] != drafted["id"]
    assert (asked.json()["version"], campaign.get("/qrels/2").json()["in_use"]) == (2, True)
    again = campaign.put_qrels(OTHER_QRELS)
    assert (again.status_code, again.json()["version"], again.json()["job"]) == (200, 2, None)


def test_a_run_that_comes_meanwhile_is_judged_as_well(campaign):
    asked = campaign.put_qrels(OTHER_QRELS)
    assert campaign.submit(BETTER).status_code == 201
    assert ended(campaign, asked)["state"] == "succeeded"
    assert {row["name"] for row in campaign.scores("AP")["runs"]} == {"tag", "worse", "newer"}


def test_an_earlier_version_is_published_again_by_a_job_if_runs_came_since(campaign):
    ended(campaign, campaign.put_qrels(OTHER_QRELS))
    assert campaign.submit(BETTER).status_code == 201  # judged by version 2 alone
    assert ended(campaign, campaign.publish(1))["state"] == "succeeded"
    assert campaign.get("/qrels/1").json()["in_use"]
    assert campaign.scores("AP")["qrels_version"] == 1


def test_a_discarded_draft_is_not_judged(campaign):
    drafted = ended(campaign, campaign.put_qrels(OTHER_QRELS, draft=True))
    assert campaign.discard(2).status_code == 204
    assert campaign.organiser.get(f"/v1/jobs/{drafted['id']}").status_code == 404
    sent = {"kind": "judge", "params": {"qrels": 2}}
    assert refused(campaign.organiser.post(f"{campaign.path}/jobs", json=sent)) == (404, "not-found")


def test_only_organisers_may_ask_for_it(campaign):
    sent = {"kind": "judge", "params": {"qrels": 1}}
    team = campaign.client("participant", "own")
    assert refused(team.post(f"{campaign.path}/jobs", json=sent)) == (403, "forbidden")
    unknown = {"kind": "judge", "params": {"qrels": 7}}
    assert refused(campaign.organiser.post(f"{campaign.path}/jobs", json=unknown)) == (404, "not-found")


def test_a_version_in_use_stays_as_it_is(campaign):
    before = campaign.get("/qrels/1").json()
    sent = {"kind": "judge", "params": {"qrels": 1}}
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json=sent)
    until(lambda: campaign.organiser.get(asked.headers["Location"]).json()["state"] == "succeeded")
    assert campaign.get("/qrels/1").json() == before
    again = campaign.organiser.post(f"{campaign.path}/jobs", json=sent)
    assert (again.status_code, again.json()["id"]) == (200, asked.json()["id"])


def test_the_command_says_how_to_follow_it(campaign, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GAINBOARD_SERVER", campaign.service.url)
    monkeypatch.setenv("GAINBOARD_TOKEN", ADMIN)
    (tmp_path / "qrels.txt").write_text(OTHER_QRELS)
    assert main(["qrels", "put", str(tmp_path / "qrels.txt"), "-c", campaign.name]) == 0
    said = capsys.readouterr()
    assert "version 2 (draft)" in said.out
    assert f"gainboard job list -c {campaign.name} --kind judge" in said.err


def test_a_small_collection_needs_no_job(campaign, monkeypatch):
    monkeypatch.undo()
    answer = campaign.put_qrels(QRELS + "2 0 another 1\n")
    assert (answer.status_code, answer.json()["in_use"], answer.json()["job"]) == (201, True, None)

"""A version of the judgments by which many runs are to be judged is judged and published by a job."""

import pytest

from gainboard.cli import main
from gainboard.evaluation.judgments import publication
from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, WORSE, judged
from tests.world.laboratories import after_work
from tests.world.servers import ADMIN

BETTER = RUN.replace("tag", "newer")


@pytest.fixture
def campaign(on_both, monkeypatch):
    """A collection with two judged runs, of which a request judges no more from now on."""
    found = judged(on_both, RUN, WORSE)
    monkeypatch.setattr(publication, "JUDGED_AT_ONCE", 0)
    return found


def ended(campaign, asked):
    assert asked.status_code == 202, asked.text
    job = asked.json()["job"]
    assert asked.headers["Location"] == f"/v1/jobs/{job}"
    return after_work(campaign, asked.headers["Location"])


def test_a_new_version_is_a_draft_until_its_job_has_judged_all_runs_as_a_request_would(campaign, monkeypatch):
    before = campaign.scores("AP")["runs"]
    asked = campaign.put_qrels(OTHER_QRELS)
    shown = asked.json()
    assert (shown["version"], shown["state"], shown["in_use"]) == (2, "draft", False)
    job = ended(campaign, asked)
    assert (job["kind"], job["state"], job["params"]) == ("judge", "succeeded", {"qrels": 2, "publish": True})
    result = campaign.organiser.get(f"/v1/jobs/{job['id']}/result").json()
    assert (result["version"], result["published"], result["judged_runs"]) == (2, True, 2)
    assert campaign.scores("AP", qrels=1)["runs"] == before
    by_job = campaign.scores("AP", "Q", "nDCG@10")
    assert by_job["qrels_version"] == 2
    monkeypatch.undo()
    other = judged(campaign.service, RUN, WORSE, qrels=OTHER_QRELS)
    assert other.scores("AP", "Q", "nDCG@10")["runs"] == by_job["runs"]


def test_a_draft_is_judged_by_a_job_and_published_by_another_or_discarded(campaign):
    drafted = ended(campaign, campaign.put_qrels(OTHER_QRELS, draft=True))
    assert drafted["params"] == {"qrels": 2, "publish": False}
    assert [campaign.get(f"/qrels/{version}").json()["in_use"] for version in (1, 2)] == [True, False]
    asked = campaign.put_qrels(OTHER_QRELS)  # the same file, now to be published
    assert ended(campaign, asked)["id"] != drafted["id"]
    assert (asked.json()["version"], campaign.get("/qrels/2").json()["in_use"]) == (2, True)
    again = campaign.put_qrels(OTHER_QRELS)
    assert (again.status_code, again.json()["version"], again.json()["job"]) == (200, 2, None)
    other = ended(campaign, campaign.put_qrels(QRELS + "2 0 more 1\n", draft=True))
    assert campaign.discard(3).status_code == 204
    assert campaign.organiser.get(f"/v1/jobs/{other['id']}").status_code == 404


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


def test_a_version_in_use_stays_as_it_is(campaign):
    before = campaign.get("/qrels/1").json()
    sent = {"kind": "judge", "params": {"qrels": 1}}
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json=sent)
    assert after_work(campaign, asked.headers["Location"])["state"] == "succeeded"
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

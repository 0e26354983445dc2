"""Nobody but organisers knows of a draft of qrels: it makes no byte of difference to anybody else."""

import re

import pytest

from tests.world.campaigns import Campaign
from tests.world.laboratories import SHORT, qrels_text, rotated, work


def _answers(campaign, client):
    paths = ["", "/runs", "/runs/tag", "/pool", "/qrels", "/leaderboard", "/scores", "/scores?topics=all"]
    paths += [f"{path}{number}" for path in ("/scores?qrels=", "/leaderboard?qrels=", "/qrels/") for number in (1, 2)]
    paths += ["/qrels/2/impact", "/tokens"]
    everywhere = ["/v1/jobs", f"/v1/jobs?collection={campaign.name}", "/v1/collections", "/v1/me", "/v1/me/limits"]
    answers = [client.get(path) for path in (*(campaign.path + path for path in paths), *everywhere)]
    asked = {"kind": "stability", "params": {**SHORT, "qrels": 2}}
    answers += [
        client.post(f"{campaign.path}/jobs", json=asked),
        campaign.publish(2, client),
        campaign.discard(2, client),
    ]
    for each in answers:
        headers = {name: value for name, value in each.headers.items() if name not in ("date", "x-request-id")}
        yield each.status_code, each.content, headers


@pytest.mark.parametrize("state", ["hidden", "shown", "released", "public"])
def test_a_draft_makes_no_byte_of_difference_to_anybody_else(still, state):
    campaign = Campaign(still, levels=3, policy={"scores": "own-mean", "presets": ["AP"]} if state == "shown" else {})
    campaign.put_qrels(qrels_text())
    own = campaign.client("participant", "own")
    campaign.submit(re.sub("run-0", "tag", rotated(0)), own)
    campaign.submit(rotated(1))
    if state in ("released", "public"):
        campaign.release(public=state == "public")
    clients = [own, campaign.client("participant", "other"), campaign.client("reader"), still.anonymous]
    before = [list(_answers(campaign, client)) for client in clients]
    campaign.draft(qrels_text(shift=1))
    job = {"kind": "stability", "params": {**SHORT, "qrels": 2}}
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json=job)
    assert work(still.application.state.workspace) > 0
    assert campaign.organiser.get(asked.headers["location"]).json()["state"] == "succeeded"
    assert [list(_answers(campaign, client)) for client in clients] == before
    theirs = [client.get(asked.headers["location"]).status_code for client in clients]
    assert theirs == [404, 404, 404, 401]
    campaign.discard(2)
    assert [list(_answers(campaign, client)) for client in clients] == before


def test_a_run_is_taken_as_if_there_were_no_draft(still):
    seen = []
    for has_draft in (False, True):
        campaign = Campaign(still, topics=["1", "2"])
        if has_draft:
            campaign.draft()
        answer = campaign.submit(client=campaign.client("participant", "own"))
        seen.append({**answer.json(), "created_at": "", "receipt": ""})
    assert seen[0] == seen[1]


def test_the_jobs_about_a_draft_are_everybodys_once_it_is_published(still):
    campaign = Campaign(still, levels=3)
    campaign.put_qrels(qrels_text())
    for number in range(3):
        campaign.submit(rotated(number))
    campaign.release()
    campaign.draft(qrels_text(shift=1))
    asked = {"kind": "stability", "params": {**SHORT, "qrels": 2}}
    job = campaign.organiser.post(f"{campaign.path}/jobs", json=asked).json()["id"]
    reader = campaign.client("reader")
    assert reader.get(f"/v1/jobs/{job}").status_code == 404
    campaign.publish(2)
    assert reader.post(f"{campaign.path}/jobs", json=asked).json()["id"] == job
    assert [each["id"] for each in reader.get("/v1/jobs").json()["items"]] == [job]

"""Jobs asked for, waited for, listed and cancelled."""

import httpx
import pytest

from tests.world.campaigns import Campaign, refused
from tests.world.laboratories import LONG, SHORT, Laboratory, qrels_text, rotated


def test_a_token_of_another_collection_has_few_open_jobs_on_a_public_one(still):
    lab, other = Laboratory(still), Campaign(still)
    lab.release(public=True)
    visitor, reader = other.client("organiser"), lab.client("reader")
    asked = [lab.ask(client=visitor, **SHORT, seed=seed) for seed in range(6)]
    assert [each.status_code for each in asked] == [202] * 5 + [429]
    assert refused(asked[5]) == (429, "too-many-jobs")
    said = "may have 5 open jobs on '{}'. This token has 5, and this request needs 1 more."
    assert said.format(lab.name) in asked[5].json()["detail"]
    assert asked[5].headers["retry-after"] == "30"
    assert lab.ask(client=visitor, **SHORT, seed=0).json()["id"] == asked[0].json()["id"]
    assert {lab.ask(client=reader, **SHORT, seed=seed).status_code for seed in range(6, 14)} == {202}
    visitor.delete(asked[0].headers["location"])
    assert lab.ask(client=visitor, **SHORT, seed=20).status_code == 202


def test_other_judgments_or_runs_make_another_job_and_leave_the_old_one(shared):
    lab = Laboratory(shared)
    first = lab.worked(lab.ask())
    lab.submit(rotated(5), team="new")
    with_run = lab.ask().json()
    lab.organiser.delete(f"{lab.path}/runs/run-5")
    assert lab.ask().json()["id"] == first["id"]
    lab.put_qrels(qrels_text(shift=1))
    rejudged = lab.ask().json()
    assert len({first["id"], with_run["id"], rejudged["id"]}) == 3
    assert rejudged["qrels_version"] == 2
    assert lab.ask(**SHORT, qrels=1).json()["id"] == first["id"]
    lab.organiser.delete(f"{lab.path}/runs/run-0")
    assert lab.organiser.get(first["result_url"]).json()["runs"][0] == "run-0"
    assert refused(lab.ask(**SHORT, runs=["run-0", "run-1"])) == (404, "not-found")


def test_wait_answers_when_the_time_is_up_or_the_job_is_over(still):
    lab = Laboratory(still)
    url = lab.ask().headers["location"]
    answer = lab.organiser.get(url, params={"wait": 0.05})
    assert (answer.json()["state"], answer.headers["retry-after"]) == ("queued", "1")
    held = {"If-None-Match": answer.headers["etag"]}
    assert lab.organiser.get(url, params={"wait": 0.05}, headers=held).status_code == 304
    lab.organiser.delete(url)
    assert lab.organiser.get(url, params={"wait": 30}, timeout=20).json()["state"] == "cancelled"


def test_many_wait_while_others_are_answered(still):
    lab = Laboratory(still)
    url = lab.service.url + lab.ask(**LONG).headers["location"]
    with httpx.Client(headers=dict(lab.organiser.headers)) as impatient:
        for _ in range(60):  # more than there are threads or connections; each leaves before its answer
            with pytest.raises(httpx.ReadTimeout):
                impatient.get(url, params={"wait": 30}, timeout=httpx.Timeout(60, read=0.01))
    assert lab.organiser.get("/v1/me").status_code == 200
    assert lab.organiser.delete(url).status_code == 202


def test_only_who_asked_and_organisers_cancel(still):
    lab = Laboratory(still)
    lab.release()
    asking, other = lab.client("participant", "team-0"), lab.client("participant", "team-1")
    url = lab.ask(client=asking).headers["location"]
    assert refused(other.delete(url)) == (403, "forbidden")
    assert asking.delete(url).status_code == 202
    assert lab.ask(client=other).headers["location"] == url
    assert refused(asking.delete(url)) == (403, "forbidden")  # it is the other's now
    assert other.delete(url).status_code == 202

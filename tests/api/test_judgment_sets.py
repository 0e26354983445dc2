"""Judgment sets: parallel judgments of one collection, each with its own versions, drafts and release."""

import pytest

from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, WORSE, judged, refused
from tests.world.laboratories import Laboratory, qrels_text

SECOND = "second"


@pytest.fixture
def campaign(shared):
    campaign = judged(shared, RUN, WORSE)
    assert campaign.put_qrels(OTHER_QRELS, judgments=SECOND).status_code == 201
    return campaign


def means(campaign, **query):
    return {each["name"]: each["mean"]["AP"] for each in campaign.scores("AP", **query)["runs"]}


def sets(campaign, client=None):
    return {each["name"]: each for each in campaign.read("/judgments", client)["items"]}


def change(campaign, state, name=SECOND):
    return campaign.organiser.patch(f"{campaign.path}/judgments/{name}", json={"state": state})


def test_scores_are_those_under_the_set_that_is_named(campaign):
    official, second = means(campaign), means(campaign, judgments=SECOND)
    assert official != second
    assert means(campaign, judgments="official") == official
    assert campaign.scores("AP")["judgment_set"] == "official"
    assert campaign.scores("AP", judgments=SECOND)["judgment_set"] == SECOND
    other = judged(campaign.service)
    other.put_qrels(OTHER_QRELS)
    other.submit(WORSE)
    assert means(other) == second


def test_each_set_counts_its_versions_and_publishes_on_its_own(campaign):
    before = means(campaign)
    answer = campaign.put_qrels("1 0 good 1\n2 0 bad 1\n", judgments=SECOND)
    assert (answer.json()["version"], answer.json()["judgments"]) == (2, SECOND)
    assert means(campaign) == before
    assert campaign.scores("AP", judgments=SECOND)["qrels_version"] == 2
    assert campaign.scores("AP", judgments=SECOND, qrels=1)["qrels_version"] == 1
    assert refused(campaign.get("/scores", metric="AP", qrels=2)) == (404, "not-found")
    campaign.organiser.post(f"{campaign.path}/qrels/1/publish", params={"judgments": SECOND}).raise_for_status()
    assert campaign.scores("AP", judgments=SECOND)["qrels_version"] == 1
    drafted = campaign.put_qrels(QRELS, judgments=SECOND, draft=True).json()
    assert (drafted["version"], drafted["state"]) == (3, "draft")
    assert campaign.scores("AP", judgments=SECOND)["qrels_version"] == 1


def test_every_place_that_takes_a_version_takes_a_set(campaign):
    for path, query in (
        ("/leaderboard", {"metric": "AP"}),
        ("/sweep", {"metric": "Q", "beta": ["1", "2"]}),
        ("/compare", {"run": ["tag", "worse"], "metric": "AP"}),
        ("/topics/1/rankings", {}),
        ("/runs/tag/profile", {}),
    ):
        official, second = (campaign.get(path, **query, judgments=name) for name in ("official", SECOND))
        assert (official.status_code, second.status_code) == (200, 200), second.text
        assert [each.json()["judgment_set"] for each in (official, second)] == ["official", SECOND]
        assert official.json() | {"judgment_set": SECOND} != second.json(), path
        assert refused(campaign.get(path, **query, judgments="absent")) == (404, "not-found")


def test_a_set_is_released_on_its_own_and_with_its_collection(campaign):
    reader = campaign.client("reader")

    def seen():
        return [
            campaign.get("/scores", reader, metric="AP", **query).status_code for query in ({}, {"judgments": SECOND})
        ]

    assert seen() == [403, 404]
    assert change(campaign, "released").json()["state"] == "released"
    assert seen() == [403, 404]
    assert change(campaign, "hidden").json()["state"] == "hidden"
    campaign.release()
    assert seen() == [200, 404]
    assert list(sets(campaign, reader)) == ["official"]
    change(campaign, "released")
    assert seen() == [200, 200]
    assert list(sets(campaign, reader)) == ["official", SECOND]
    change(campaign, "hidden")
    assert seen() == [200, 404]


def test_jobs_are_about_a_set_and_seen_by_whom_the_set_is(shared):
    lab = Laboratory(shared)
    lab.put_qrels(qrels_text(1), judgments=SECOND)
    lab.release()
    reader = lab.client("reader")
    own = lab.worked(lab.ask("stability", metrics=["AP"], trials=5, judgments=SECOND))
    official = lab.worked(lab.ask("stability", metrics=["AP"], trials=5))
    entry = {"metric": "AP", "judgments": SECOND}
    mixed = lab.worked(lab.ask("rank-correlation", metrics=["AP", entry]))
    assert own["id"] != official["id"]
    assert (own["judgment_set"], official["judgment_set"], mixed["judgment_set"]) == (SECOND, "official", "official")
    assert mixed["params"]["metrics"][1] == entry | {"qrels": 1}

    ids = [own["id"], official["id"], mixed["id"]]
    assert [reader.get(f"/v1/jobs/{each}").status_code for each in ids] == [404, 200, 404]
    assert refused(lab.ask("rank-correlation", reader, metrics=["AP", entry])) == (404, "not-found")
    change(lab, "released")
    assert [reader.get(f"/v1/jobs/{each}").status_code for each in ids] == [200, 200, 200]
    assert reader.get(f"/v1/jobs/{mixed['id']}/result").json()["qrels_versions"] == [1, "second/1"]
    lab.put_qrels(qrels_text(2), judgments=SECOND)
    assert lab.ask("rank-correlation", metrics=["AP", entry]).json()["id"] != mixed["id"]
    assert lab.organiser.delete(f"{lab.path}/judgments/{SECOND}").status_code == 204
    assert [lab.organiser.get(f"/v1/jobs/{each}").status_code for each in ids] == [404, 200, 404]

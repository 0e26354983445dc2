"""While judgments are hidden, nothing that a participant or reader is told is a function of them."""

import re

import pytest

from tests.world.campaigns import OTHER_QRELS, QRELS, WORSE, Campaign, codes, judged, refused, run_text

ELSEWHERE = "7 0 x 1\n8 0 y 2\n"
"""Qrels that share no topic with the runs."""


def _normal(answer, campaign):
    """An answer without what differs between any two: names of ours, times, and hashes of them."""
    text = answer.text.replace(campaign.name, "NAME")
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}", "TIME OR ID", text)
    text = re.sub(r'"entry":"[0-9a-f]{64}"', '"entry":""', text)  # of the audit log, with all times before
    headers = {**answer.headers, "date": "", "x-request-id": "", "etag": ""}
    return answer.status_code, text, {name: value.replace(campaign.name, "NAME") for name, value in headers.items()}


def _everything(campaign, client):
    # The length of a compressed answer depends on the collection's name, too.
    client.headers["Accept-Encoding"] = "identity"
    sent = [
        campaign.submit(client=client),
        campaign.submit(client=client),
        campaign.submit(run_text({"7": ["x"], "9": ["q"]}, "far"), client),
        campaign.submit("nonsense\n", client),
    ]
    paths = ("", "/runs", "/runs/tag", "/runs/far", "/pool", "/qrels", "/qrels/1", "/qrels/2", "/tokens")
    sent += [campaign.get(path, client) for path in paths]
    for query in ({}, {"metric": "Nonsense"}, {"qrels": 2}, {"run": "absent"}, {"format": "csv"}):
        sent += [campaign.get("/scores", client, **query)]
    sent += [campaign.get("/leaderboard", client), client.get("/v1/me/limits")]
    for query in ({}, {"collection": campaign.name}, {"collection": campaign.name, "state": "succeeded"}):
        sent += [client.get("/v1/jobs", params=query)]
    asked = [{"metrics": ["AP"]}, {"metrics": ["Nonsense"]}, {"metrics": ["AP"], "qrels": 2}]
    for params in (*asked, {"metrics": ["AP"], "runs": ["absent"]}, {"metrics": ["AP"], "subset_size": 9}):
        sent += [client.post(f"{campaign.path}/jobs", json={"kind": "stability", "params": params})]
    return [_normal(answer, campaign) for answer in sent]


@pytest.mark.parametrize("role", ["participant", "reader"])
@pytest.mark.parametrize("topics", [None, ["1", "2", "3", "9"]])
def test_other_qrels_or_none_make_no_difference(shared, role, topics):
    seen = []
    for qrels in ((), (QRELS,), (OTHER_QRELS, QRELS), (ELSEWHERE,)):
        campaign = Campaign(shared, topics=topics)
        for text in qrels:
            campaign.put_qrels(text)
        seen.append(_everything(campaign, campaign.client(role, "own" if role == "participant" else None)))
    assert seen[0][0][0] == (201 if role == "participant" else 403)
    assert seen[1:] == seen[:1] * 3


def test_a_participant_sees_its_own_runs_and_no_function_of_the_qrels(shared):
    campaign = Campaign(shared)
    campaign.put_qrels()
    own, other = campaign.client("participant", "own"), campaign.client("participant", "other")
    run = campaign.submit(client=own).json()
    assert (run["unjudged_share"], run["warnings"]) == (None, [])
    assert [each["name"] for each in campaign.get("/runs", own).json()["items"]] == ["tag"]
    assert campaign.get("/runs", other).json()["items"] == []
    found = campaign.get("", own).json()
    assert (found["qrels_version"], found["relevant"]) == (None, None)
    assert refused(campaign.get("/scores", own)) == (403, "judgments-hidden")


def test_warnings_refer_to_the_declared_topics(shared):
    campaign = Campaign(shared, topics=["1", "2", "3"])
    campaign.put_qrels("1 0 good 1\n")
    answer = campaign.submit(run_text({"1": ["good"], "9": ["x"]}), campaign.client("participant", "own"))
    assert {each["code"]: each["count"] for each in answer.json()["warnings"]} == {
        "unknown-topics": 1,
        "missing-topics": 2,
    }
    assert codes(campaign.submit(run_text({"9": ["x"]}), campaign.client("participant", "b"))) == ["no-declared-topics"]


def test_without_declared_topics_everybody_is_told_why_there_are_no_scores(shared):
    campaign = Campaign(shared, policy={"presets": ["AP"]})
    told = campaign.get("").json()["warnings"]
    assert [each["code"] for each in told] == ["no-topics-declared"]
    assert campaign.put_qrels().json()["warnings"] == told
    own = campaign.client("participant", "own")
    assert campaign.submit(client=own).json()["warnings"] == told
    assert campaign.get("", own).json()["warnings"] == []
    assert campaign.get("/scores", own).json()["runs"] == []
    changed = campaign.change(topics="from-qrels").json()
    assert (changed["topics"], changed["warnings"]) == (["1", "2"], [])
    scores = campaign.get("/scores", own).json()
    assert ([run["name"] for run in scores["runs"]], scores["qrels_version"]) == (["tag"], None)
    assert campaign.get("/leaderboard", own).json()["qrels_version"] is None
    assert campaign.get("/scores").json()["qrels_version"] == 1
    assert campaign.submit(WORSE, own).json()["warnings"] == []


def test_topics_from_qrels_stay_those_of_that_moment(shared):
    campaign = Campaign(shared)
    assert refused(campaign.change(topics="from-qrels")) == (409, "no-qrels")
    campaign.put_qrels()
    assert campaign.change(topics="from-qrels").json()["topics"] == ["1", "2"]
    campaign.put_qrels("1 0 good 1\n3 0 good 1\n")
    assert campaign.get("").json()["topics"] == ["1", "2"]


def test_a_run_without_a_declared_topic_costs_nothing(shared):
    campaign = Campaign(shared, topics=["1", "2"], policy={"presets": ["AP"], "quotas": {"total": 1}})
    campaign.put_qrels("3 0 good 1\n1 0 good 1\n")
    own = campaign.client("participant", "own")
    for client in (own, campaign.organiser):
        team = {} if client is own else {"team": "own"}
        assert codes(client.post(f"{campaign.path}/runs", content=run_text({"3": ["good"]}), params=team)) == [
            "no-declared-topics"
        ]
    assert campaign.submit(client=own).status_code == 201


def test_a_reader_sees_the_collection_alone(shared):
    campaign = Campaign(shared)
    campaign.submit()
    reader = campaign.client("reader")
    assert campaign.get("", reader).status_code == 200
    assert campaign.get("/runs", reader).json()["items"] == []
    assert refused(campaign.get("/runs/tag", reader)) == (404, "not-found")


def test_on_release_everybody_with_a_token_sees_all(shared):
    campaign = judged(shared)
    campaign.release()
    for client in (campaign.client("participant", "own"), campaign.client("reader")):
        assert campaign.get("/scores", client, metric="AP").json()["runs"][0]["mean"] == {"AP": 0.75}
        assert campaign.get("/runs/tag", client).json()["unjudged_share"] == 0.25
        assert campaign.get("/qrels/1", client).status_code == 200
        assert campaign.get("", client).json()["relevant"] is not None

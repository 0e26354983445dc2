"""While judgments are hidden, nothing that a participant is told of what it sends is a function of them."""

import re

import pytest

from tests.world.campaigns import OTHER_QRELS, QRELS, Campaign, codes, refused, run_text

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
    far = run_text({"7": ["x"], "9": ["q"]}, "far")
    sent = [campaign.submit(text, client) for text in (run_text({"1": ["good", "bad"]}), far, far, "nonsense\n")]
    sent += [campaign.get(path, client) for path in ("", "/runs", "/runs/tag", "/runs/far", "/qrels/2", "/leaderboard")]
    for query in ({}, {"metric": "Nonsense"}, {"qrels": 2}, {"run": "absent"}, {"format": "csv"}):
        sent += [campaign.get("/scores", client, **query)]
    sent += [client.get("/v1/me/limits"), client.get("/v1/jobs", params={"collection": campaign.name})]
    asked = [{"metrics": ["AP"]}, {"metrics": ["Nonsense"]}, {"metrics": ["AP"], "qrels": 2}]
    for params in (*asked, {"metrics": ["AP"], "runs": ["absent"]}, {"metrics": ["AP"], "subset_size": 9}):
        sent += [client.post(f"{campaign.path}/jobs", json={"kind": "stability", "params": params})]
    return [_normal(answer, campaign) for answer in sent]


@pytest.mark.parametrize("topics", [None, ["1", "2", "3", "9"]])
def test_other_qrels_or_none_make_no_difference(shared, topics):
    seen = []
    for qrels in ((), (QRELS,), (OTHER_QRELS, QRELS), (ELSEWHERE,)):
        campaign = Campaign(shared, topics=topics)
        for text in qrels:
            campaign.put_qrels(text)
        seen.append(_everything(campaign, campaign.client("participant", "own")))
    assert seen[0][0][0] == 201
    assert seen[1:] == seen[:1] * 3


def test_topics_from_qrels_stay_those_of_that_moment_and_a_run_without_one_costs_nothing(shared):
    campaign = Campaign(shared, policy={"presets": ["AP"], "quotas": {"total": 1}})
    assert refused(campaign.change(topics="from-qrels")) == (409, "no-qrels")
    campaign.put_qrels()
    assert campaign.change(topics="from-qrels").json()["topics"] == ["1", "2"]
    campaign.put_qrels("1 0 good 1\n3 0 good 1\n")
    assert campaign.read("")["topics"] == ["1", "2"]
    own, far = campaign.client("participant", "own"), run_text({"3": ["good"]})
    for answer in (campaign.submit(far, own), campaign.submit(far, team="own")):
        assert codes(answer) == ["no-declared-topics"]
    assert campaign.submit(client=own).status_code == 201

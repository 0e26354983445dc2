"""Runs: submitted, named, given back, withdrawn."""

import gzip
import hashlib

import pytest

from gainboard.trec.bodies import compress
from tests.world.campaigns import RUN, WORSE, Campaign, codes, judged, refused, run_text


def test_the_hash_is_that_of_the_decompressed_file_however_it_is_sent(campaign):
    sha256 = hashlib.sha256(RUN.encode()).hexdigest()
    for packed in (RUN.encode(), gzip.compress(RUN.encode()), compress(RUN.encode())):
        answer = campaign.submit(packed)
        assert answer.json()["sha256"] == sha256
    encoded = {"Content-Encoding": "gzip"}
    url = f"{campaign.path}/runs?team=lemur"
    assert campaign.organiser.post(url, content=gzip.compress(RUN.encode()), headers=encoded).status_code == 200
    assert campaign.organiser.post(url, files={"file": gzip.compress(RUN.encode())}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "kind", "location"),
    [
        ({"team": "a team"}, "invalid-request", "body.team"),
        ({"team": "t", "pooled": "yes"}, "invalid-request", "body.pooled"),
        ({"team": ["t", "u"]}, "invalid-request", "body.team"),
        ({"team": "t", "type": "manual"}, "invalid-request", "body.type"),
        ({"team": "t", "colour": "red"}, "unknown-parameter", None),
        ({"team": "t", "name": "n" * 2_000_000}, "invalid-request", "body"),
    ],
)
def test_faulty_fields_of_a_form_are_refused(campaign, fields, kind, location):
    answer = campaign.organiser.post(f"{campaign.path}/runs?type=automatic", data=fields, files={"file": RUN})
    assert refused(answer) == (422, kind)
    assert [each["location"] for each in answer.json().get("errors", ())] == ([location] if location else [])


def test_a_file_that_is_stored_under_another_name_says_so(campaign):
    campaign.submit()
    assert campaign.submit(name="tag").json()["warnings"] == []
    again = campaign.submit(name="renamed", pooled=False)
    assert (again.status_code, again.json()["name"], again.json()["pooled"]) == (200, "tag", True)
    assert [each["code"] for each in again.json()["warnings"]] == ["already-stored"]


def test_a_withdrawn_name_is_free_again_and_the_same_file_too(on_both):
    campaign = judged(on_both)
    assert on_both.organiser.delete(f"{campaign.path}/runs/tag").status_code == 204
    assert refused(campaign.get("/runs/tag")) == (404, "not-found")
    assert refused(on_both.organiser.delete(f"{campaign.path}/runs/tag")) == (404, "not-found")
    assert campaign.scores("AP")["runs"] == []
    assert campaign.submit(WORSE, name="tag").status_code == 201
    assert campaign.submit(name="again").status_code == 201
    assert campaign.scores("AP", run="again")["runs"][0]["mean"] == {"AP": 0.75}


def test_a_run_may_have_so_many_topics_for_each_declared_one(shared):
    run = "".join(f"{topic} Q0 d 1 1 t\n" for topic in range(10_001))
    undeclared = Campaign(shared).submit(run)
    assert refused(undeclared) == (413, "too-large")
    assert undeclared.json()["limit"] == 10_000
    declared = Campaign(shared, topics=[str(topic) for topic in range(501)])
    assert declared.submit(run).status_code == 201
    assert declared.submit(run + "".join(f"x{topic} Q0 d 1 1 t\n" for topic in range(20))).json()["limit"] == 10_020


def test_faults_are_looked_for_beyond_the_depth_to_which_a_run_is_cut(shared):
    campaign = Campaign(shared, depth=2)
    ranked = run_text({"1": ["a", "b", "c", "d"]})
    assert codes(campaign.submit(ranked + "1 Q0 d 9 0 tag\n")) == ["duplicate-document"]
    assert campaign.submit(ranked).json()["retrieved"] == 2


def test_the_order_of_a_collection_decides_what_stands_first(shared):
    text = "1 Q0 good 2 16777217 t\n1 Q0 other 1 16777216 t\n1 Q0 z 3 1 t\n"
    ranked = {}
    for order in ("score", "score32", "rank"):
        campaign = Campaign(shared, order_by=order)
        campaign.put_qrels("1 0 good 1\n")
        warnings = campaign.submit(text).json()["warnings"]
        ranked[order] = (campaign.scores("RR")["runs"][0]["mean"]["RR"], [each["code"] for each in warnings])
    differs = ["rank-contradicts-score"]
    assert ranked == {"score": (1.0, differs), "score32": (0.5, ["tied-scores"]), "rank": (0.5, differs)}


def test_a_run_without_any_judged_document_is_warned_of(shared):
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 d1 1\n1 0 d2 0\n2 0 d3 2\n")
    sent = campaign.submit("1 Q0 d1.0 1 2 t\n2 Q0 d3.0 1 1 t\n")
    (warning,) = sent.json()["warnings"]
    assert warning["code"] == "no-common-documents"
    assert "documents such as 'd1.0', and the qrels such as 'd1'" in warning["message"]
    assert campaign.get("/runs/t").json()["warnings"] == [warning]
    again = campaign.submit("1 Q0 d1.0 1 2 t\n2 Q0 d3.0 1 1 t\n")
    assert (again.status_code, again.json()["warnings"]) == (200, [warning])
    # A judged document is enough, whatever its level.
    assert campaign.submit("1 Q0 d2 1 2 u\n2 Q0 d3.0 1 1 u\n").json()["warnings"] == []
    # Whoever may not see the judgments is told nothing.
    hidden = Campaign(shared, topics=["1", "2"])
    hidden.put_qrels("1 0 d1 1\n2 0 d3 2\n")
    team = hidden.client("participant", "lemur")
    assert hidden.submit("1 Q0 d1.0 1 2 t\n2 Q0 d3.0 1 1 t\n", team).json()["warnings"] == []

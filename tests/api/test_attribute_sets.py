"""Attribute sets and sampled pools of a campaign: versions, what is refused, and what hidden judgments hide."""

import pytest

from tests.world.campaigns import judged

RUN = "".join(
    f"{topic} Q0 {document} {rank} {9 - rank} r\n" for topic in "12" for rank, document in enumerate("abc", 1)
)
QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
SETS = "@attributes gender nominal 0.5 0.5\n1 a 1 0\n1 z 0 1\n2 c 0.5 0.5\n"
STRATA = "1 0 a 1 1\n1 0 b 2 -1\n2 0 c 1 2\n"


@pytest.fixture
def campaign(shared):
    return judged(shared, RUN, qrels=QRELS + SETS)


def test_each_version_of_the_judgments_has_its_own_sets(campaign):
    first = campaign.scores("GFR@3", "GF_JSD@3", topics="all")
    assert campaign.put_qrels(QRELS).status_code == 201
    answer = campaign.organiser.get(f"{campaign.path}/scores", params={"metric": "GFR@3"})
    assert answer.status_code == 422
    assert "needs memberships of documents" in answer.json()["detail"]
    again = campaign.scores("GFR@3", "GF_JSD@3", topics="all", qrels=1)
    assert again["runs"] == first["runs"]
    board = campaign.board(metric="GFR@3", qrels=1)
    assert board["rows"][0]["mean"].items() <= first["runs"][0]["mean"].items()


def test_a_run_that_comes_later_is_joined_with_the_sets_too(campaign):
    campaign.submit(RUN.replace(" r\n", " later\n"))
    runs = campaign.scores("GFR@3", "AWRF")["runs"]
    assert len(runs) == 2
    assert runs[0]["mean"] == runs[1]["mean"]


def test_faults_of_memberships_are_told_by_line_and_nothing_is_stored(campaign):
    answer = campaign.put_qrels(f"{QRELS}{SETS}1 a 1 0\n1 b 2 0\n")
    assert [(fault["line"], fault["code"]) for fault in answer.json()["errors"]] == [
        (8, "repeated-membership"),
        (9, "bad-membership"),
    ]
    assert len(campaign.read("/qrels")["items"]) == 1


def test_scores_of_ties_and_of_unknown_sets_are_refused(campaign):
    for query in ({"ties": "range"}, {"metric": "GF_JSD(set=age)@3"}):
        answer = campaign.organiser.get(f"{campaign.path}/scores", params={"metric": "GFR@3"} | query)
        assert answer.status_code == 422, answer.text


def test_sampled_pools_are_scored_and_say_what_was_not_sampled(shared):
    campaign = judged(shared, RUN, qrels=STRATA)
    (version,) = campaign.read("/qrels")["items"]
    assert (version["columns"], version["judged"]) == ("trec-stratum", 2)
    assert [warning["code"] for warning in version["warnings"]][-1:] == ["unsampled-documents"]
    found = campaign.scores("xinfAP", "infNDCG", "iP@3", "AP")["runs"][0]["mean"]
    assert all(0 < mean <= 1 for mean in found.values())


def test_hidden_judgments_hide_their_sets_and_say_no_more_than_that_they_are_hidden(campaign):
    participant = campaign.client("participant", "lemurs")
    for path in ("/qrels", "/qrels/1", "/scores?metric=GFR@3", "/scores?metric=GF_JSD(set=gender)"):
        assert participant.get(f"{campaign.path}{path}").status_code == 403, path

"""Scores under other orders of tied documents, for those who may see the judgments."""

import pytest

from gainboard.evaluation.runs import run_properties
from tests.world.campaigns import codes, judged, refused

QRELS = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n3 0 z 1\n"
TIED = "".join(
    f"{topic} Q0 {document} 1 {score} tied\n"
    for topic, document, score in [
        ("1", "c", 2.0), ("1", "a", 2.0), ("1", "u", 1.0), ("1", "b", 1.0),
        ("2", "v", 1.0), ("2", "a", 1.0), ("9", "x", 3.0), ("9", "y", 2.0),
    ]
)  # fmt: skip
"""Six of eight documents are tied."""
CLEAR = "1 Q0 a 1 3 clear\n1 Q0 b 2 2 clear\n2 Q0 v 1 2 clear\n2 Q0 a 2 1 clear\n"


@pytest.fixture
def campaign(shared):
    return judged(shared, TIED, CLEAR, qrels=QRELS)


def asked(campaign, metric="AP", **query):
    return {run["name"]: run for run in campaign.read("/scores", metric=metric, topics="all", **query)["runs"]}


def test_worst_and_best_are_beside_the_scores(campaign):
    runs = asked(campaign, ties="range")
    assert asked(campaign)["tied"].keys() == runs["tied"].keys() - {"ties"}
    found = runs["tied"]["ties"]
    assert (found["tied_share"], found["topics_cut"]) == (6 / 8, 0)
    assert found["worst"]["topics"]["AP"] == {"1": pytest.approx((1 / 2 + 2 / 4) / 2), "2": 0.5, "3": 0}
    assert found["best"]["topics"]["AP"] == {"1": pytest.approx((1 + 2 / 3) / 2), "2": 1, "3": 0}
    assert found["best"]["mean"]["AP"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 3)
    clear = runs["clear"]["ties"]
    assert clear["tied_share"] == 0
    assert clear["worst"]["topics"] == clear["best"]["topics"] == runs["clear"]["topics"]


def test_expectations_are_those_of_all_orders(campaign):
    runs = asked(campaign, ["AP", "RR", "ERR", "ADM"], ties="expected")
    found, labels = runs["tied"]["ties"], [*runs["tied"]["mean"]]
    # b is third or fourth, and a first or second; the one does not depend on the other
    by_hand = (0.5 * (1 + 1 / 2) + 0.5 * (2 / 3 + 2 / 4)) / 2
    assert found["expected"]["topics"]["AP"] == {"1": pytest.approx(by_hand), "2": 0.75, "3": 0}
    assert found["expected"]["topics"]["RR"] == {"1": 0.75, "2": 0.75, "3": 0}
    err, adm = labels[2], labels[3]
    assert [found["standard_error"]["mean"][label] == 0 for label in labels] == [True, True, False, True]
    assert 0 < found["standard_error"]["topics"][err]["2"] < 0.02
    assert found["expected"]["topics"][adm] == runs["tied"]["topics"][adm]
    assert asked(campaign, ["AP", "RR", "ERR", "ADM"], ties="expected") == runs


def test_a_run_that_is_cut_between_tied_documents_says_so(shared):
    campaign = judged(shared, TIED, qrels=QRELS, depth=3)
    found = asked(campaign, ties="range")["tied"]["ties"]
    assert (found["tied_share"], found["topics_cut"]) == (4 / 7, 1)


@pytest.mark.parametrize(("order_by", "share"), [("score", 0), ("score32", 2 / 4), ("rank", None)])
def test_the_order_of_the_collection_says_what_is_tied(shared, order_by, share):
    campaign = judged(shared, CLEAR.replace("a 1 3", "a 1 2.000000001"), qrels=QRELS, order_by=order_by)
    found = asked(campaign, ties="range")["clear"]
    assert found["ties"]["tied_share"] == share
    if order_by != "score32":
        assert found["ties"]["best"]["mean"] == found["ties"]["worst"]["mean"] == found["mean"]


def test_too_many_files_orders_and_draws_are_refused_and_closed_forms_are_not(campaign, monkeypatch):
    monkeypatch.setattr(run_properties, "MOST_READ", 8)
    assert codes(campaign.get("/scores", ties="range")) == ["too-many"]
    for name in ("tied", "clear"):
        assert campaign.get("/scores", ties="range", run=name).status_code == 200
    assert campaign.get("/scores", ties="range").status_code == 200  # the ties of both are remembered
    monkeypatch.setattr(run_properties, "MOST_ORDERS", 5)  # four orders of one topic, two of the other
    assert codes(campaign.get("/scores", metric="Pplus", ties="range")) == ["too-many"]
    monkeypatch.setattr(run_properties, "MOST_ORDERS", 6)
    assert campaign.get("/scores", metric="Pplus", ties="range").status_code == 200
    monkeypatch.setattr(run_properties, "MOST_DRAWN", 5)  # the run has six tied documents
    assert codes(campaign.get("/scores", metric=["AP", "ERR"], ties="expected")) == ["too-many"]
    assert campaign.get("/scores", metric="AP", ties="expected").status_code == 200
    assert campaign.get("/scores", metric="ERR", ties="expected", run="clear").status_code == 200


@pytest.mark.parametrize(
    "policy",
    [
        {"presets": ["AP"], "scores": "own-per-topic"},
        {"scores": "all", "parameters": "free"},
        {"scores": "own-per-topic", "parameters": "free"},
    ],
)
@pytest.mark.parametrize("ties", ["range", "expected"])
def test_while_judgments_are_hidden_ties_are_for_organisers(campaign, policy, ties):
    assert campaign.change(topics="from-qrels", policy=policy).status_code == 200
    own = campaign.client("participant", "lemur")
    assert campaign.get("/scores", own, run="tied", metric="AP").status_code == 200
    assert campaign.get("/scores", run="tied", metric="AP", ties=ties).status_code == 200
    assert refused(campaign.get("/scores", own, run="tied", metric="AP", ties=ties)) == (403, "judgments-hidden")
    campaign.release()
    answer = campaign.get("/scores", own, run="tied", metric="AP", ties=ties)
    assert answer.json()["runs"][0]["ties"]["tied_share"] == 6 / 8

"""Collections with judgments by intent: their qrels, their scores, and what the metrics are elsewhere."""

import pytest

from tests.world.campaigns import Campaign, codes, judged, refused, run_text
from tests.world.laboratories import work

QRELS = """1 1 a 1
1 1 b 2
1 2 b 1
1 2 c 1
1 0 d 0
2 1 a 1
2 2 a 0
"""
PROBABILITIES = "1 1 0.75\n1 2 0.25\n2 1 0.5\n2 2 0.5\n"
RUN = run_text({"1": ["d", "b", "x", "c"], "2": ["y", "a"]})
OTHER = run_text({"1": ["a", "b", "c"], "2": ["a"]}, "other")


@pytest.fixture
def campaign(still):
    return judged(still, RUN, OTHER, qrels=QRELS, intents=True)


def scored(campaign, *metrics, run="tag", **query):
    found = campaign.scores(*metrics, run=run, topics="all", **query)
    (own,) = found["runs"]
    return {metric: own["topics"][found["asked"][metric]] for metric in metrics}


def test_probabilities_come_with_the_qrels_and_belong_to_their_version(campaign):
    assert scored(campaign, "AP(ia=true)")["AP(ia=true)"]["1"] == pytest.approx((1 / 4 + (1 / 2 + 2 / 4) / 2) / 2)
    answer = campaign.put_qrels(QRELS + PROBABILITIES)
    assert (answer.status_code, answer.json()["version"]) == (201, 2)
    assert answer.json()["columns"] == "topic-intent-document-level"
    assert (answer.json()["judged"], answer.json()["per_level"]) == (5, {"L0": 1, "L1": 3, "L2": 1})
    ia = "AP(ia=true)"
    assert scored(campaign, ia)[ia]["1"] == pytest.approx(0.75 / 4 + 0.25 * (1 / 2 + 2 / 4) / 2)
    assert scored(campaign, ia)[ia]["2"] == pytest.approx(0.25)
    assert scored(campaign, ia, qrels=1)[ia]["2"] == pytest.approx(0.5)
    file = campaign.organiser.get(f"{campaign.path}/qrels/2", headers={"Accept": "text/plain"})
    assert file.text == QRELS + PROBABILITIES


def test_groups_comparisons_sweeps_ties_and_jobs_take_these_metrics_or_say_why_not(campaign):
    assert campaign.organiser.put(f"{campaign.path}/topic-groups/first", json=["1"]).is_success
    whole, part = campaign.scores("Irec@2", run="tag", topics="all"), campaign.scores("Irec@2", topics="first")
    assert part["runs"][0]["mean"]["Irec@2"] == whole["runs"][0]["topics"]["Irec@2"]["1"]
    campaign.read("/sweep", metric="D-Q@5", beta=["0", "1", "10"])
    campaign.read("/compare", run=["other"], baseline="tag", metric="D#-nDCG@5")
    assert codes(campaign.get("/scores", metric="Irec@5", ties="range", run="tag")) == ["needs-intents"]
    params = {"metrics": ["alpha-nDCG@5", "nDCG(ia=true)@5"], "coefficients": ["kendall"]}
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json={"kind": "rank-correlation", "params": params})
    assert asked.is_success, asked.text


def test_without_intents_the_metrics_are_refused(still):
    plain = judged(still)
    for expression in ("alpha-nDCG@5", "Irec@5", "AP(ia=true)"):
        assert refused(plain.get("/scores", metric=expression)) == (422, "needs-intents")
        named = {"name": "elsewhere", "levels": 2, "metrics": [expression]}
        assert codes(plain.organiser.post("/v1/collections", json=named)) == ["needs-intents"]


@pytest.mark.parametrize(
    ("more", "faults"),
    [
        ("1 1 a 2\n", [(8, "conflicting-judgment")]),
        ("1 1 1.5\n1 2 -0.5\n", [(8, "bad-probability"), (9, "bad-probability")]),
        ("1 1 0.5\n1 2 half\n", [(9, "bad-probability")]),  # and not that it is missing
        ("1 1 1\n", [(None, "bad-probability")]),
        ("1 1 0.4\n1 2 0.4\n", [(None, "bad-probability")]),
        ("1 a\n1 1 e 9\n", [(8, "bad-columns"), (9, "bad-level")]),
    ],
)
def test_a_faulty_file_says_what_is_wrong_with_its_line_or_topic(still, more, faults):
    errors = Campaign(still, intents=True).put_qrels(QRELS + more).json()["errors"]
    assert [(each["line"], each["code"]) for each in errors] == faults
    assert all(each["line"] or each["topic"] == "1" for each in errors)


def test_a_topic_has_a_limited_number_of_intents(still):
    campaign = Campaign(still, intents=True)
    for most, status in ((102, 413), (101, 201)):
        more = "".join(f"1 {each} a 1\n" for each in range(3, most))
        assert campaign.put_qrels(QRELS + more).status_code == status


def test_warnings_say_what_was_not_taken_as_it_stands(still):
    campaign = Campaign(still, intents=True)

    def warned(text):
        return [each["code"] for each in campaign.put_qrels(text).json()["warnings"]]

    assert warned("1 0 a 1\n1 0 b 0\n") == ["one-intent"]
    assert warned("1 0 a 1\n2 1 b 0\n") == []
    rounded = QRELS + "1 1 0.66\n1 2 0.33\n3 1 1\n"
    assert warned(rounded) == ["normalised-probabilities", "ignored-probabilities"]
    campaign.submit(RUN)
    assert scored(campaign, "P(ia=true)@2")["P(ia=true)@2"]["1"] == pytest.approx(0.5, rel=1e-12)


def test_intent_0_is_an_intent_where_a_document_is_relevant_to_it(still):
    campaign = judged(
        still,
        "1 Q0 a 1 2 tag\n2 Q0 a 1 2 tag\n3 Q0 a 1 2 tag\n",
        qrels="1 0 a 1\n1 1 b 1\n2 0 a 0\n2 1 b 1\n3 0 a 1\n",
        intents=True,
    )
    assert scored(campaign, "I-rec@1")["I-rec@1"] == {"1": 0.5, "2": 0.0, "3": 1.0}


def test_runs_that_are_ordered_anew_are_joined_by_intent_again(still):
    campaign = Campaign(still, intents=True)
    campaign.put_qrels(QRELS)
    by_rank = RUN.replace("1 Q0 d 1 1.0", "1 Q0 d 1 0.01")
    campaign.submit(by_rank)
    assert scored(campaign, "Irec@1")["Irec@1"]["1"] == 1.0  # b is first by score
    answer = campaign.change(order_by="rank")
    assert answer.status_code == 202, answer.text
    assert work(still.application.state.workspace) > 0
    assert scored(campaign, "Irec@1")["Irec@1"]["1"] == 0.0
    assert scored(campaign, "Irec@2", qrels=1)["Irec@2"]["1"] == 1.0

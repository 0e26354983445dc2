"""Collections with judgments by intent: their qrels, their scores, and what the metrics are elsewhere."""

import pytest

from tests.world.campaigns import Campaign, judged, refused, run_text
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
DIVERSE = ("Irec@2", "alpha-nDCG@5", "ERR-IA@5", "D#-nDCG(gains=linear)@5", "P(ia=true)@2", "AP")


@pytest.fixture
def campaign(still):
    """A collection with intents, two topics and two runs."""
    return judged(still, RUN, OTHER, qrels=QRELS, intents=True)


def scored(campaign, *metrics, run="tag", **query):
    """The scores of a run by expression and topic."""
    found = campaign.scores(*metrics, run=run, topics="all", **query)
    (own,) = found["runs"]
    return {metric: own["topics"][found["asked"][metric]] for metric in metrics}


def test_scores_by_intent_are_those_worked_by_hand(campaign):
    found = scored(campaign, *DIVERSE)
    assert found["Irec@2"] == {"1": 1.0, "2": 1.0}
    # At rank 2, b meets both intents (1 + 1); at rank 4, c meets the second one again (1/2). The ideal: b, c, a.
    ideal = (2 / 1 + 0.5 / 2 + 0.5 / 3, 2 + 0.5 / 1.584962500721156 + 0.5 / 2)
    gained = 2 / 1.584962500721156 + 0.5 / 2.321928094887362
    assert found["alpha-nDCG@5"]["1"] == pytest.approx(gained / ideal[1], rel=1e-12)
    most = 2 * sum(0.5 ** (rank - 1) / rank for rank in range(1, 6))
    assert found["ERR-IA@5"]["1"] == pytest.approx((2 / 2 + 0.5 / 4) / most, rel=1e-12)
    assert found["P(ia=true)@2"] == {"1": 0.5, "2": 0.5}
    # Ordinary metrics take a document's highest level: a, b and c are relevant.
    assert found["AP"]["1"] == pytest.approx((1 / 2 + 2 / 4) / 3, rel=1e-12)


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
    whole = campaign.get("/qrels/2").json()["sha256"]
    text = campaign.organiser.get(f"{campaign.path}/qrels/2", headers={"Accept": "text/plain"})
    assert text.text == QRELS + PROBABILITIES
    assert text.headers["etag"] == f'"{whole}"'


def test_a_run_that_comes_later_or_was_judged_by_an_old_version_has_the_same_scores(campaign):
    campaign.put_qrels(QRELS + PROBABILITIES)
    late = campaign.submit(RUN, name="late")
    assert late.status_code == 200  # the same bytes of the same team
    campaign.submit(RUN.replace("tag", "again"), team="newt")
    for version in (1, 2):
        found = [scored(campaign, *DIVERSE, run=run, qrels=version) for run in ("tag", "again")]
        assert found[0] == found[1]


def test_boards_sweeps_comparisons_groups_and_jobs_take_these_metrics(campaign):
    board = campaign.get("/leaderboard", metric=DIVERSE, by="alpha-nDCG@5").json()
    assert [row["name"] for row in board["rows"]] == ["other", "tag"]
    assert campaign.get("/sweep", metric="D-Q@5", beta=["0", "1", "10"]).status_code == 200
    assert refused(campaign.get("/sweep", metric="alphanDCG@5", alpha=["0", "1"])) == (422, "unknown-parameter")
    compared = campaign.get("/compare", run=["other"], baseline="tag", metric="D#-nDCG@5")
    assert compared.status_code == 200, compared.text
    assert campaign.organiser.put(f"{campaign.path}/topic-groups/first", json=["1"]).status_code in (200, 201)
    whole, part = campaign.scores("Irec@2", run="tag", topics="all"), campaign.scores("Irec@2", topics="first")
    assert part["runs"][0]["mean"]["Irec@2"] == whole["runs"][0]["topics"]["Irec@2"]["1"]
    params = {"metrics": ["alpha-nDCG@5", "nDCG(ia=true)@5"], "coefficients": ["kendall"]}
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json={"kind": "rank-correlation", "params": params})
    assert asked.status_code in (200, 202), asked.text


def test_the_board_and_the_pages_of_topics_and_runs_show_such_a_collection(campaign):
    campaign.release(public=True)
    client = campaign.service.anonymous
    for path in ("", "?metric=alpha-nDCG%405", "/topics", "/topics/1", "/runs/tag", "/compare"):
        page = client.get(f"/c/{campaign.name}{path}")
        assert page.status_code == 200, path


@pytest.mark.parametrize("expression", ["alpha-nDCG@5", "Irec@5", "AP(ia=true)"])
def test_without_intents_the_metrics_are_refused(still, expression):
    plain = judged(still)
    answer = plain.get("/scores", metric=expression)
    assert refused(answer) == (422, "needs-intents")
    assert "create a collection with intents" in answer.json()["detail"]
    named = {"name": "elsewhere", "levels": 2, "metrics": [expression]}
    assert plain.organiser.post("/v1/collections", json=named).json()["errors"][0]["code"] == "needs-intents"


def test_the_catalogue_says_which_metrics_need_intents(still):
    items = still.anonymous.get("/v1/metrics").json()["items"]
    needing = {each["name"] for each in items if each["needs_intents"]}
    of_novelty = {"alphaDCG", "alphanDCG", "ERRIA", "nERRIA", "NRBP", "nNRBP"}
    assert {"Irec", "DnDCG", "DQ", "DsharpnDCG", "DsharpQ"} | of_novelty == needing
    assert all(("ia" in [p["name"] for p in each["parameters"]]) != each["needs_intents"] for each in items)


def test_orders_of_ties_are_refused_for_them(still):
    campaign = judged(still, "1 Q0 a 1 1 tied\n1 Q0 c 2 1 tied\n2 Q0 a 1 1 tied\n", qrels=QRELS, intents=True)
    assert campaign.get("/scores", metric="AP", ties="range").status_code == 200
    answer = campaign.get("/scores", metric="Irec@5", ties="range")
    assert refused(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["code"] == "needs-intents"


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("1 1 a 2\n", ["conflicting-judgment"]),
        ("1 1 1.5\n1 2 -0.5\n", ["bad-probability", "bad-probability"]),
        ("1 1 1\n", ["bad-probability"]),
        ("1 1 0.4\n1 2 0.4\n", ["bad-probability"]),
        ("1 a\n1 1 e 9\n", ["bad-columns", "bad-level"]),
    ],
)
def test_a_faulty_file_says_what_is_wrong(still, more, codes):
    answer = Campaign(still, intents=True).put_qrels(QRELS + more)
    assert refused(answer) == (422, "faulty-file")
    assert sorted(each["code"] for each in answer.json()["errors"]) == sorted(codes)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("1 1 0.4\n1 2 0.4\n", "the probabilities of the intents of topic '1' add up to 0.8. They must add up to 1"),
        ("1 1 1\n", "intent '2' of topic '1' has no probability, but other intents of the topic have one"),
    ],
)
def test_a_fault_without_a_line_names_its_topic(still, more, message):
    answer = Campaign(still, intents=True).put_qrels(QRELS + more)
    (fault,) = answer.json()["errors"]
    assert (fault["message"], fault["line"], fault["topic"]) == (message, None, "1")
    assert answer.json()["detail"] == message


def test_a_topic_has_a_limited_number_of_intents(still):
    campaign = Campaign(still, intents=True)
    assert refused(campaign.put_qrels(QRELS + "".join(f"1 {each} a 1\n" for each in range(3, 102)))) == (
        413,
        "too-large",
    )
    assert campaign.put_qrels(QRELS + "".join(f"1 {each} a 1\n" for each in range(3, 101))).status_code == 201


def test_a_faulty_probability_is_not_reported_as_missing_as_well(still):
    answer = Campaign(still, intents=True).put_qrels(QRELS + "1 1 0.5\n1 2 half\n")
    assert [each["line"] for each in answer.json()["errors"]] == [9]


def test_qrels_without_intents_are_recognised(still):
    campaign = Campaign(still, intents=True)
    (warning,) = campaign.put_qrels("1 0 a 1\n1 0 b 0\n").json()["warnings"]
    assert warning["code"] == "one-intent"
    assert campaign.put_qrels("1 0 a 1\n2 1 b 0\n").json()["warnings"] == []


def test_intent_0_is_an_intent_where_a_document_is_relevant_to_it(still):
    campaign = judged(
        still,
        "1 Q0 a 1 2 tag\n2 Q0 a 1 2 tag\n3 Q0 a 1 2 tag\n",
        qrels="1 0 a 1\n1 1 b 1\n2 0 a 0\n2 1 b 1\n3 0 a 1\n",
        intents=True,
    )
    assert scored(campaign, "I-rec@1")["I-rec@1"] == {"1": 0.5, "2": 0.0, "3": 1.0}


def test_rounded_probabilities_are_made_to_add_up_to_one(still):
    campaign = Campaign(still, intents=True)
    answer = campaign.put_qrels(QRELS + "1 1 0.66\n1 2 0.33\n3 1 1\n")
    assert [each["code"] for each in answer.json()["warnings"]] == ["normalised-probabilities", "ignored-probabilities"]
    campaign.submit(RUN)
    found = scored(campaign, "P(ia=true)@2")["P(ia=true)@2"]["1"]
    assert found == pytest.approx(0.5, rel=1e-12)


def test_intents_are_fixed_once_something_is_stored(campaign):
    assert refused(campaign.change(intents=False)) == (409, "setting-fixed")
    assert campaign.organiser.get(campaign.path).json()["intents"] is True
    fresh = Campaign(campaign.service)
    assert fresh.change(intents=True).json()["intents"] is True


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

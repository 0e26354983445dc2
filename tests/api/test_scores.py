"""Scores: what is asked, what is answered, what is left out."""

import pytest

from tests.world.campaigns import QRELS, RUN, judged, refused, run_text


def test_names_of_another_tool_mean_what_it_computes_whatever_the_query_says(shared):
    campaign = judged(shared, gains="3:1")
    answer = campaign.scores("nDCG@10", "R@5", names="ir_measures", gains="5:1", condensed="true")
    assert answer["asked"] == {"nDCG@10": "MSnDCG(gains=linear)@10", "R@5": "Recall@5"}
    plain = campaign.scores("ndcg_cut_10", "recall_5")
    assert [run["mean"] for run in answer["runs"]] == [run["mean"] for run in plain["runs"]]
    assert campaign.scores("ndcg", names="trec_eval")["metrics"] == ["MSnDCG(gains=linear)@1000000000"]
    board = campaign.organiser.get(
        f"{campaign.path}/leaderboard", params={"names": "ir_measures", "metric": "AP", "by": "nDCG@10"}
    ).json()
    assert (board["metrics"], board["by"]) == (["AP", "MSnDCG(gains=linear)@10"], "MSnDCG(gains=linear)@10")
    by_ntcireval = campaign.scores("Q-measure@0005", names="ntcireval", gains="5:1")
    assert by_ntcireval["metrics"] == ["Q(beta=1,gains=5:1,recall_base=cutoff)@5"]


def test_a_topic_without_relevant_documents_is_undefined_and_named(shared):
    campaign = judged(shared, RUN + "3 Q0 good 1 1 tag\n", qrels=QRELS + "3 0 good 0\n")
    answer = campaign.scores("AP", "AP(rel=2)", topics="all")
    assert answer["topics_undefined"] == {"AP": ["3"], "AP(rel=2)": ["2", "3"]}
    assert answer["topics_scored"] == {"AP": 2, "AP(rel=2)": 1}
    assert answer["runs"][0]["topics"]["AP"] == {"1": 1.0, "2": 0.5, "3": None}
    assert answer["runs"][0]["mean"]["AP"] == 0.75


def test_scores_further_apart_than_the_largest_number_are_scaled_too(shared):
    campaign = judged(
        shared, "1 Q0 best 1 1.7e308 t\n1 Q0 new 2 0 t\n1 Q0 worst 3 -1.7e308 t\n", qrels="1 0 best 2\n1 0 worst 0\n"
    )
    # Scaled: 1, 1/2, 0; wanted: 1, 0, 0.
    assert campaign.scores("ADM")["runs"][0]["mean"] == {"ADM(gains=linear)": pytest.approx(1 - 0.5 / 3)}


def test_a_missing_topic_scores_zero_and_stays_in_the_mean(shared):
    campaign = judged(shared, run_text({"1": ["good"], "9": ["good"]}))
    run = campaign.scores("AP", topics="all")["runs"][0]
    assert (run["topics_missing"], run["mean"], run["topics"]) == (1, {"AP": 0.5}, {"AP": {"1": 1.0, "2": 0.0}})


def test_an_alias_stands_for_the_values_that_the_catalogue_says(shared):
    items = shared.anonymous.get("/v1/metrics").json()["items"]
    implied = {
        alias: f"{each['name']}({','.join(f'{name}={value}' for name, value in values.items())})"
        for each in items
        for alias, values in each["implied"].items()
        if not alias.endswith("_x")  # a name with a value in it
    }
    assert implied["gm_map"] == "AP(mean=geometric)"
    asked = judged(shared).scores(*implied, *implied.values())["asked"]
    assert [asked[alias] for alias in implied] == [asked[written] for written in implied.values()]


def test_more_scores_than_an_answer_holds_are_refused_with_the_bound(shared):
    campaign = judged(shared, qrels="".join(f"{topic} 0 good 1\n" for topic in range(10_001)))
    metrics = [f"AP@{cutoff}" for cutoff in range(1, 201)]
    answer = campaign.get("/scores", metric=metrics, topics="all")
    assert refused(answer) == (422, "invalid-request")
    assert "2,000,200 scores; at most 2,000,000" in answer.json()["detail"]
    assert campaign.get("/scores", metric=metrics).status_code == 200

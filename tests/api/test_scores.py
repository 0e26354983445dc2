"""Scores: what is asked, what is answered, what is left out."""

import re

import pytest

from tests.world.campaigns import QRELS, RUN, WORSE, judged, refused, run_text


def test_without_a_metric_the_collections_own_are_answered_or_three(shared):
    assert judged(shared).scores()["metrics"] == ["AP", "Q(beta=1,gains=linear)", "nDCG(base=2,gains=linear)@10"]
    assert judged(shared, metrics=["RR", "P@5"]).scores()["metrics"] == ["RR", "P@5"]


def test_asked_maps_each_expression_to_its_label_and_labels_come_once(shared):
    answer = judged(shared).scores("map", "ndcg@10", "AP", "nDCG(base=2)@10")
    assert answer["metrics"] == ["AP", "nDCG(base=2,gains=linear)@10"]
    assert answer["asked"] == {
        "map": "AP",
        "AP": "AP",
        "ndcg@10": "nDCG(base=2,gains=linear)@10",
        "nDCG(base=2)@10": "nDCG(base=2,gains=linear)@10",
    }


def test_the_expression_wins_over_the_query_and_the_query_over_the_collection(shared):
    campaign = judged(shared, gains="3:1")
    assert campaign.scores("Q")["metrics"] == ["Q(beta=1,gains=3:1)"]
    assert campaign.scores("Q", gains="5:1", beta=2)["metrics"] == ["Q(beta=2,gains=5:1)"]
    assert campaign.scores("Q(gains=7:1)", gains="5:1")["metrics"] == ["Q(beta=1,gains=7:1)"]
    assert campaign.scores("AP", "ndcg_cut_5", beta=2)["metrics"] == ["AP", "MSnDCG(gains=linear)@5"]


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
    unknown = campaign.organiser.get(f"{campaign.path}/scores", params={"names": "ir_measures", "metric": "NumRelRet"})
    assert refused(unknown) == (422, "bad-expression")
    assert unknown.json()["detail"].startswith("NumRelRet of ir_measures is not here.")
    wrong = campaign.organiser.get(f"{campaign.path}/scores", params={"names": "ntcireval", "metric": "RBP(rbp=2)"})
    assert refused(wrong) == (422, "bad-expression")
    assert re.match(r"RBP\(rbp=2\) means RBP\(.*p=2\): p=2: must be a number > 0, < 1", wrong.json()["detail"])
    by_ntcireval = campaign.scores("Q-measure@0005", names="ntcireval", gains="5:1")
    assert by_ntcireval["metrics"] == ["Q(beta=1,gains=5:1,recall_base=cutoff)@5"]


def test_a_score_may_need_other_documents_than_the_relevant_ones(shared):
    campaign = judged(
        shared,
        b"1 Q0 d2 1 9 tag\n1 Q0 u1 2 8 tag\n2 Q0 d1 1 9 tag\n2 Q0 u1 2 8 tag\n2 Q0 u2 3 7 tag\n",
        qrels=b"1 0 d1 1\n1 0 d2 0\n2 0 d1 0\n3 0 d1 2\n",
        levels=3,
    )
    answer = campaign.scores("Judged@2", "RBPresidual(p=0.5)", "RBP(p=0.5)", topics="all")
    (run,) = answer["runs"]
    assert run["topics"]["Judged@2"] == {"1": 1 / 2, "2": 1 / 2, "3": 0}
    # No document is relevant to topic 2, and the run lacks topic 3, about which nothing is known.
    assert run["topics"]["RBPresidual(p=0.5)"] == {"1": 1 / 2, "2": None, "3": 1}
    assert (answer["topics_scored"]["Judged@2"], answer["topics_undefined"]["Judged@2"]) == (3, [])
    assert answer["topics_undefined"]["RBPresidual(p=0.5)"] == ["2"]


def test_scores_under_several_gains_come_in_one_answer(shared):
    campaign = judged(shared)
    labels = campaign.scores(*(f"Q(gains={gains})" for gains in ("1:1", "10:1", "adjust(3:1)", "exp")))["metrics"]
    assert labels == [f"Q(beta=1,gains={gains})" for gains in ("1:1", "10:1", "adjust(3:1)", "exp")]


@pytest.mark.parametrize(
    ("expression", "kind", "hint"),
    [
        ("", "bad-expression", "NAME"),
        ("nDCG@0", "bad-expression", ""),
        ("nDCG@10@5", "bad-expression", "NAME"),
        ("P", "bad-expression", "Pplus"),
        ("P ", "bad-expression", "%2B"),
        ("Q(base=2)", "bad-expression", "beta"),
        ("Q(beta=1,beta=2)", "bad-expression", "twice"),
        ("Q(beta=-1)", "bad-expression", "beta"),
        ("nDCG(base=1)@5", "bad-expression", "base"),
        ("Q(gains=1:2)", "bad-gains", "highest level first"),
        ("Q(gains=1:2:3)", "bad-gains", "2 levels"),
        ("AP(rel=3)", "bad-expression", "2"),
        ("Nonsense", "bad-expression", "Nonsense"),
        ("AP\x00", "bad-expression", ""),
        ("Q" * 5000, "bad-expression", ""),
    ],
)
def test_an_expression_that_means_nothing_is_refused_with_what_would(shared, expression, kind, hint):
    answer = judged(shared).get("/scores", metric=expression)
    assert refused(answer) == (422, kind)
    assert hint in answer.json()["detail"]


def test_defaults_in_the_query_are_held_to_the_same_limits(shared):
    campaign = judged(shared)
    assert refused(campaign.get("/scores", beta=-1)) == (422, "bad-expression")
    assert refused(campaign.get("/scores", metric="AP", gains="1:2")) == (422, "bad-gains")
    assert refused(campaign.get("/scores", topics="")) == (422, "invalid-request")
    assert refused(campaign.get("/scores", metric=["AP"] * 201)) == (422, "invalid-request")


def test_runs_come_in_the_order_asked_for_and_an_unknown_one_is_not_found(shared):
    campaign = judged(shared, RUN, WORSE)
    assert [run["name"] for run in campaign.scores("AP", run=["worse", "tag", "worse"])["runs"]] == ["worse", "tag"]
    assert [run["name"] for run in campaign.scores("AP")["runs"]] == ["tag", "worse"]
    assert refused(campaign.get("/scores", run=["tag", "absent"])) == (404, "not-found")


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


def test_a_mean_over_no_topic_is_null(shared):
    campaign = judged(shared, run_text({"1": ["good"]}), qrels="1 0 good 0\n")
    answer = campaign.scores("AP", "nDCG@5")
    assert set(answer["runs"][0]["mean"].values()) == {None}
    assert set(answer["topics_scored"].values()) == {0}
    row = campaign.get("/leaderboard").json()["rows"][0]
    assert set(row["interval"].values()) == {None}


def test_means_come_in_full_precision_and_topics_only_when_asked(shared):
    campaign = judged(shared, run_text({"1": ["a"]}), qrels="1 0 a 1\n1 0 b 1\n1 0 c 1\n")
    run = campaign.scores("AP")["runs"][0]
    assert run["mean"] == {"AP": 1 / 3}
    assert "topics" not in run


def test_levels_below_rel_count_for_nothing(shared):
    campaign = judged(shared)
    assert campaign.scores("AP(rel=2)")["runs"][0]["mean"] == {"AP(rel=2)": 1.0}
    assert campaign.scores("AP", rel=2)["metrics"] == ["AP(rel=2)"]


def test_the_catalogue_describes_every_parameter_that_scores_take(shared):
    items = shared.anonymous.get("/v1/metrics").json()["items"]
    every = [each for metric in items for each in metric["parameters"]]
    names = {each["name"] for each in every if not each["only_in_expressions"]}
    described = shared.anonymous.get("/openapi.json").json()["paths"]["/v1/collections/{collection}/scores"]["get"]
    assert names <= {each["name"] for each in described["parameters"]}
    for metric in items:
        assert metric["definition"]
        assert all(each["limits"] and each["description"] and "schema" in each for each in metric["parameters"])


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


def test_every_metric_of_the_catalogue_scores_a_run(shared):
    items = shared.anonymous.get("/v1/metrics").json()["items"]
    expressions = [each["name"] + "@10" * each["takes_cutoff"] for each in items if not each["needs_intents"]]
    answer = judged(shared).scores(*expressions)
    assert list(answer["asked"]) == expressions
    assert all(isinstance(mean, float) for mean in answer["runs"][0]["mean"].values())


def test_more_scores_than_an_answer_holds_are_refused_with_the_bound(shared):
    campaign = judged(shared, qrels="".join(f"{topic} 0 good 1\n" for topic in range(10_001)))
    metrics = [f"AP@{cutoff}" for cutoff in range(1, 201)]
    answer = campaign.get("/scores", metric=metrics, topics="all")
    assert refused(answer) == (422, "invalid-request")
    assert "2,000,200 scores; at most 2,000,000" in answer.json()["detail"]
    assert campaign.get("/scores", metric=metrics).status_code == 200

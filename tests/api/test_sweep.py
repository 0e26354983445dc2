"""Mean scores over a grid of parameters."""

import csv
from io import StringIO
from itertools import product

from gainboard.evaluation import sweeping
from gainboard.evaluation.sweeping import MOST_POINTS
from tests.world.campaigns import codes, refused

GAINS, BETAS, BASES = ["3:2:1", "1:1:1", "10:5:1", "adjust(3:2:1)"], ["0", "0.5", "1", "10"], ["2", "3", "10"]
GRID = {"gains": GAINS, "beta": BETAS, "base": BASES}


def test_every_point_is_what_scores_answers_under_its_parameters(lab):
    found = lab.get("/sweep", metric=["Q", "nDCG@5", "AP"], **GRID).json()
    means = {
        run["name"]: dict(zip([point["label"] for point in found["points"]], run["means"], strict=True))
        for run in found["runs"]
    }
    for gains, beta, base in product(GAINS, BETAS, BASES):
        one = lab.scores("Q", "nDCG@5", "AP", gains=gains, beta=beta, base=base)
        for run in one["runs"]:
            assert {label: means[run["name"]][label] for label in one["metrics"]} == run["mean"]
    assert found["grid"] == GRID


def test_a_metric_that_several_combinations_come_to_is_there_once(lab):
    points = lab.get("/sweep", metric=["Q", "nDCG@5", "AP"], **GRID).json()["points"]
    labels = [point["label"] for point in points]
    assert len(labels) == len(set(labels)) == len(GAINS) * len(BETAS) + len(GAINS) * len(BASES) + 1
    by_label = {point["label"]: point for point in points}
    assert by_label["AP"]["parameters"] == {}
    assert by_label["Q(beta=0.5,gains=1:1:1)"]["parameters"] == {"gains": "1:1:1", "beta": "0.5"}
    assert by_label["nDCG(base=10,gains=adjust(3:2:1))@5"]["asked"] == "nDCG@5"


def test_what_an_expression_says_is_not_varied(lab):
    points = lab.get("/sweep", metric=["Q(beta=7)"], **GRID).json()["points"]
    assert [point["parameters"] for point in points] == [{"gains": gains, "beta": "7"} for gains in GAINS]


def test_without_values_a_sweep_is_the_means_of_the_collections_metrics(lab):
    found, one = lab.get("/sweep", run=["run-2"]).json(), lab.scores(run=["run-2"])
    assert [point["label"] for point in found["points"]] == one["metrics"]
    assert found["runs"][0]["means"] == list(one["runs"][0]["mean"].values())
    assert [point["topics_scored"] for point in found["points"]] == list(one["topics_scored"].values())


def test_csv_has_a_line_for_each_run_and_point(lab):
    asked = {"metric": ["Q", "AP"], "beta": ["1", "10"]}
    found = lab.get("/sweep", **asked).json()
    rows = list(csv.DictReader(StringIO(lab.get("/sweep", format="csv", **asked).text)))
    assert [(row["run"], row["metric"], row["beta"]) for row in rows[:3]] == [
        ("run-0", "Q(beta=1,gains=linear)", "1"),
        ("run-0", "Q(beta=10,gains=linear)", "10"),
        ("run-0", "AP", ""),
    ]
    assert [float(row["mean"]) for row in rows] == [mean for run in found["runs"] for mean in run["means"]]


def test_a_bad_value_and_too_many_points_are_refused(lab):
    assert refused(lab.get("/sweep", metric=["Q"], beta=["1", "-1"])) == (422, "bad-expression")
    assert refused(lab.get("/sweep", metric=["Q"], gains=["1:2:3:4"])) == (422, "bad-gains")
    many = [str(number) for number in range(MOST_POINTS // 2 + 1)]
    answer = lab.get("/sweep", metric=["Q", "Rmeasure"], beta=many)
    assert codes(answer) == ["too-many"]
    assert f"{2 * len(many):,} points" in answer.json()["errors"][0]["message"]


def test_too_many_scores_are_refused_with_their_number_and_the_bound(lab, monkeypatch):
    monkeypatch.setattr(sweeping, "MOST_SCORES", 2 * 4 * 8)  # points x runs x topics
    assert lab.get("/sweep", metric=["Q"], beta=["2", "3"]).status_code == 200
    answer = lab.get("/sweep", metric=["Q"], beta=["2", "3", "4"])
    assert (answer.status_code, codes(answer)) == (422, ["too-many"])
    message = answer.json()["errors"][0]["message"]
    assert "means of 96 scores" in message
    assert "one sweep may have at most 64" in message
    assert lab.get("/sweep", metric=["Q"], beta=["2", "3", "4"], run=["run-0", "run-1"]).status_code == 200

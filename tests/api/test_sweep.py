"""Mean scores over a grid of parameters."""

from itertools import product

from gainboard.evaluation.scoring import requests
from tests.world.campaigns import codes

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
    fixed = lab.get("/sweep", metric=["Q(beta=7)"], **GRID).json()["points"]
    assert [point["parameters"] for point in fixed] == [{"gains": gains, "beta": "7"} for gains in GAINS]


def test_too_many_scores_are_refused_with_their_number_and_the_bound(lab, monkeypatch):
    monkeypatch.setattr(requests, "MOST_SWEPT", 2 * 4 * 8)  # points x runs x topics
    assert lab.get("/sweep", metric=["Q"], beta=["2", "3"]).status_code == 200
    answer = lab.get("/sweep", metric=["Q"], beta=["2", "3", "4"])
    assert (answer.status_code, codes(answer)) == (422, ["too-many"])
    message = answer.json()["errors"][0]["message"]
    assert "means of 96 scores" in message
    assert "one sweep may have at most 64" in message
    assert lab.get("/sweep", metric=["Q"], beta=["2", "3", "4"], run=["run-0", "run-1"]).status_code == 200

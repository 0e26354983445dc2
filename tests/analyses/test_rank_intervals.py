"""rank-intervals, against bootstrap-sensitivity and resamples drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from gainboard.statistics.draws import Draws
from gainboard.statistics.rank_intervals import rank_sets_of_groups
from tests.analyses.conftest import Answer
from tests.analyses.laboratory import Laboratory

KIND = "rank-intervals"
METRICS = ["AP", "P@5"]


def test_ranks_are_those_over_the_resamples_of_the_seed(answer: Answer, laboratory: Laboratory) -> None:
    found = answer(KIND, metrics=METRICS, resamples=150, permutations=50, seed=6)
    drawn = Draws(6, "rank intervals").resamples(150, 11)
    for metric, rows in zip(found["metrics"], laboratory.common(*METRICS).values(), strict=True):
        scores = np.array(list(rows.values()))
        means = [scores[:, topics].mean(axis=1).round(12) for topics in drawn]
        ranks = np.array([rankdata(-row, "min") for row in means])
        expected = np.mean([rankdata(-row) for row in means], axis=0)
        assert [each["run"] for each in metric["ranks"]] == found["runs"] == list(rows)
        assert [each["rank"] for each in metric["ranks"]] == rankdata(-scores.mean(axis=1).round(12), "min").tolist()
        low, high = np.percentile(ranks, (2.5, 97.5), axis=0, method="inverted_cdf")
        assert [each["percentiles"] for each in metric["ranks"]] == np.stack((low, high), axis=1).tolist()
        assert [each["expected_rank"] for each in metric["ranks"]] == pytest.approx(expected.tolist())
        assert sum(each["share_first"] for each in metric["ranks"]) == pytest.approx(1)


def test_rank_sets_are_by_the_test_that_makes_groups(answer: Answer) -> None:
    found = answer(KIND, metrics=METRICS, resamples=10)
    tested = answer("bootstrap-sensitivity", metrics=METRICS, test="randomised-tukey-hsd", alphas=[0.05])
    for metric, theirs in zip(found["metrics"], tested["metrics"], strict=True):
        sets = rank_sets_of_groups(theirs["levels"][0]["groups"])
        assert {each["run"]: tuple(each["rank_set"]) for each in metric["ranks"]} == sets
        assert all(each["rank_set"][0] <= each["rank"] <= each["rank_set"][1] for each in metric["ranks"])
    assert any(each["rank_set"] != [1, 8] for each in found["metrics"][0]["ranks"])

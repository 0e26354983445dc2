"""rank-intervals, against bootstrap-sensitivity and resamples drawn one by one."""

import numpy as np
import pytest
from scipy.stats import rankdata

from gainboard.statistics.draws import Draws

KIND = "rank-intervals"
METRICS = ["AP", "P@5"]


def test_ranks_are_those_over_the_resamples_of_the_seed(answer, laboratory):
    found = answer(KIND, metrics=METRICS, resamples=150, test_resamples=50, seed=6)
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


TESTS = [
    {"test": "bootstrap-range"},
    {"test": "randomised-tukey-hsd"},
    {"test": "t-test", "correction": "holm"},
    {"test": "paired-bootstrap", "correction": "max-t"},
]


@pytest.mark.parametrize("params", TESTS, ids=[each["test"] for each in TESTS])
def test_rank_sets_count_the_pairs_that_the_test_tells_apart(answer, params):
    found = answer(KIND, metrics=METRICS, resamples=10, **params)
    tested = answer("bootstrap-sensitivity", metrics=METRICS, **params, alphas=[0.05])
    for metric, theirs in zip(found["metrics"], tested["metrics"], strict=True):
        sets = {run: [1, 8] for run in found["runs"]}
        for pair in theirs["pairs"]:
            if pair.get("asl_corrected", pair["asl"]) < 0.05:
                better, worse = pair["runs"] if pair["difference"] > 0 else pair["runs"][::-1]
                sets[worse][0] += 1
                sets[better][1] -= 1
        assert {each["run"]: each["rank_set"] for each in metric["ranks"]} == sets
        assert all(each["rank_set"][0] <= each["rank"] <= each["rank_set"][1] for each in metric["ranks"])
    assert any(each["rank_set"] != [1, 8] for each in found["metrics"][0]["ranks"])

"""topic-set-size, against subsets drawn and compared one by one."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.classical import t_levels
from gainboard.statistics.draws import Draws
from gainboard.statistics.means import pair_differences
from gainboard.statistics.topic_sets import anova_design, interval_design, t_test_design

KIND = "topic-set-size"
METRICS = ["AP", "P@5"]
TRIALS = 40


def means(scores, topics):
    return [round(float(scores[run, topics].mean()), 12) for run in range(len(scores))]


@pytest.mark.parametrize("size", [3, 5, 8])
def test_curves_are_means_over_subsets(answer, laboratory, size):
    found = answer(KIND, metrics=METRICS, trials=TRIALS, sizes=[size], alpha=0.2, seed=4)
    orders = Draws(4, "topic set sizes").subsets(TRIALS, 11, 11)
    for metric, rows in zip(found["metrics"], laboratory.common(*METRICS).values(), strict=True):
        scores = np.array(list(rows.values()))
        whole = means(scores, np.arange(11))
        taus = [stats.kendalltau(whole, means(scores, order[:size])).statistic for order in orders]
        shares = [(t_levels(pair_differences(scores[:, order[:size]])) < 0.2).mean() for order in orders]
        (point,) = metric["curve"]
        assert point["topics"] == size
        for name, values in (("tau", taus), ("sensitivity", shares)):
            low, high = np.percentile(values, (5, 95))
            expected = {"mean": np.mean(values), "low": low, "high": high, "undefined": 0}
            assert point[name] == pytest.approx(expected, abs=1e-12)
        if size > 5:
            assert point["tau_of_disjoint"] is None
            continue
        taus = [
            stats.kendalltau(means(scores, order[:size]), means(scores, order[size : 2 * size])).statistic
            for order in orders
        ]
        assert point["tau_of_disjoint"]["mean"] == pytest.approx(np.nanmean(taus), abs=1e-12)


def test_all_topics_rank_as_all_topics(answer):
    found = answer(KIND, metrics=["AP"], trials=5)
    assert (found["sizes"], found["topics"]) == ([5, 10, 11], 11)
    assert found["metrics"][0]["curve"][-1]["tau"] == pytest.approx({"mean": 1, "low": 1, "high": 1, "undefined": 0})
    assert found["metrics"][0]["designs"] is None
    tiny = answer(KIND, metrics=["AP"], trials=2, difference=1e-9)["metrics"][0]
    assert {*tiny["designs"].values(), *tiny["paired_designs"].values()} == {None}


def test_designs_are_by_the_variance_of_the_scores(answer, laboratory):
    found = answer(KIND, metrics=METRICS, trials=2, difference=0.1, power=0.9, alpha=0.01)
    for metric, rows in zip(found["metrics"], laboratory.common(*METRICS).values(), strict=True):
        variance = float(np.mean([np.var(row, ddof=1) for row in rows.values()]))
        assert metric["variance"] == pytest.approx(variance)
        assert metric["degrees_of_freedom"] == 8 * 10
        designs = {
            "t-test": t_test_design(0.1, 2 * variance, 0.01, 0.9),
            "anova": anova_design(0.1, variance, 8, 0.01, 0.9),
            "interval": interval_design(0.1, 2 * variance, 0.01),
        }
        assert metric["designs"] == {name: design and design.topics for name, design in designs.items()}
        # Twice the residual variance is the mean, over pairs of runs, of the variance of their differences.
        pairs = [np.subtract(*pair) for pair in combinations(rows.values(), 2)]
        own = float(np.mean([np.var(pair, ddof=1) for pair in pairs]))
        assert own == pytest.approx(2 * metric["residual_variance"])
        paired = {"t-test": t_test_design(0.1, own, 0.01, 0.9), "interval": interval_design(0.1, own, 0.01)}
        assert metric["paired_designs"] == {name: design and design.topics for name, design in paired.items()}
        assert metric["paired_designs"]["t-test"] < metric["designs"]["t-test"]

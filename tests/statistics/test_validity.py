"""Boards under two judges, tests of flips, and orders of runs, against SciPy, plain loops and published numbers."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import SquareTable

from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.validity import (
    bowker_level,
    compare_boards,
    compare_orders,
    mcnemar_level,
    order_agreement,
    with_interval,
)

FAMILY = np.arange(12) < 3


def boards(random, topics, favour=0.0):
    """The scores of 12 runs by a trusted judge, and by one who shifts those of a family."""
    trusted = random.normal(0.4, 0.1, (12, 1)) + random.normal(0, 0.15, topics) + random.normal(0, 0.1, (12, topics))
    return trusted, trusted + 0.05 + favour * FAMILY[:, np.newaxis] + random.gamma(1, 0.08, (12, topics)) - 0.08


def compared(trusted, judged, resamples=400, groups=(FAMILY,)):
    counts = resample_counts(Draws(3, "test").resamples(resamples, trusted.shape[1]), trusted.shape[1])
    return compare_boards(trusted, judged, counts, np.array(groups, bool).reshape(-1, len(trusted))), counts


def test_boards_are_compared_as_plain_loops_compare_them():
    trusted, judged = boards(np.random.default_rng(1), 20, 0.05)
    found, counts = compared(trusted, judged)
    first, second = trusted.mean(axis=1), judged.mean(axis=1)
    ranks = [[1 + sum(other > mean for other in means) for mean in means] for means in (first, second)]
    assert found["rank_trusted"].tolist() == ranks[0]
    assert found["rise"][:, 0] == pytest.approx(np.subtract(*ranks))
    assert found["tau"][0] == pytest.approx(stats.kendalltau(first, second).statistic)
    grown = second - first
    assert found["shift"][:, 0] == pytest.approx(grown - grown.mean(), abs=1e-11)
    assert found["group_shift"][0, 0] == pytest.approx(grown[FAMILY].mean() - grown[~FAMILY].mean(), abs=1e-11)
    drawn = [np.repeat(np.arange(20), row.astype(int)) for row in counts]
    by_draw = [stats.kendalltau(trusted[:, each].mean(axis=1), judged[:, each].mean(axis=1))[0] for each in drawn]
    low, high = found["tau"][1:]
    assert sum(tau < low - 1e-9 for tau in by_draw) <= 0.025 * 400 <= sum(tau <= high + 1e-9 for tau in by_draw)


def test_levels_of_shifts_are_those_of_paired_t_tests_after_holm():
    trusted, judged = boards(np.random.default_rng(2), 25, 0.06)
    found, _ = compared(trusted, judged)
    shifts = judged - trusted - (judged - trusted).mean(axis=0)
    levels = [stats.ttest_1samp(row, 0).pvalue for row in shifts]
    order = np.argsort(levels)
    holm = np.maximum.accumulate([min(1, (12 - place) * levels[run]) for place, run in enumerate(order)])
    assert found["asl"][order] == pytest.approx(holm)
    assert found["asl"][:2].max() < 0.05 < found["asl"][2:].min()
    of_family = (judged - trusted)[FAMILY].mean(axis=0) - (judged - trusted)[~FAMILY].mean(axis=0)
    assert found["group_asl"][0] == pytest.approx(stats.ttest_1samp(of_family, 0).pvalue)


def test_intervals_of_few_topics_are_as_wide_as_students():
    scores = np.random.default_rng(4).normal(size=8)
    counts = resample_counts(Draws(1, "test").resamples(40_000, 8), 8)
    _, low, high = with_interval(scores.mean(), counts @ scores / 8, 8)
    expected = stats.t.interval(0.95, 7, scores.mean(), stats.sem(scores))
    assert (low, high) == pytest.approx(expected, abs=0.06)
    plain = np.percentile(counts @ scores / 8, [2.5, 97.5])
    assert high - low > 1.1 * (plain[1] - plain[0])


def test_changes_of_two_levels_have_mcnemars_exact_level():
    for up, down in ((0, 0), (1, 0), (3, 14), (20, 20), (180, 140)):
        expected = stats.binomtest(up, up + down).pvalue if up + down else 1.0
        assert mcnemar_level(up, down) == pytest.approx(expected)


def test_symmetry_is_bowkers_test():
    # The grade of vision of both eyes of 7,477 women (Stuart, Biometrika 42, 1955).
    eyes = np.array([[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]], float)
    assert bowker_level(eyes) == pytest.approx(SquareTable(eyes).symmetry().pvalue)
    assert bowker_level(np.diag([3.0, 2.0])) == 1
    # Pairs of levels without a change count no degree of freedom.
    assert bowker_level(np.array([[5.0, 9, 0], [2, 3, 0], [0, 0, 4]])) == pytest.approx(stats.chi2.sf(49 / 11, 1))


def test_the_order_of_a_run_agrees_with_levels_as_pairs_do():
    random = np.random.default_rng(6)
    sizes = [0, 1, 7, 40, 3]
    level = random.integers(0, 4, sum(sizes)).astype(np.int8)
    level[-3:] = 2
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    found = order_agreement(starts, level, 4)
    for topic, (first, end) in enumerate(pairwise(starts)):
        signs = [np.sign(int(a) - int(b)) for a, b in combinations(level[first:end], 2) if a != b]
        assert found[topic] == pytest.approx(np.mean(signs) if signs else np.nan, nan_ok=True)


def test_a_run_in_the_order_of_a_judges_own_errors_is_suspicious_and_others_are_not():
    random = np.random.default_rng(7)
    starts, near = np.arange(0, 31 * 50, 50), {"trusted": [], "judge": []}
    truth = random.integers(0, 4, 1500)
    judge = np.clip(truth + random.integers(-1, 2, 1500), 0, 3)
    topic = np.repeat(np.arange(30), 50)
    for quality in (judge, truth, np.zeros(1500)):
        order = np.lexsort((-quality - random.normal(0, 1.2, 1500), topic))
        for name, levels in (("trusted", truth), ("judge", judge)):
            near[name].append(order_agreement(starts, levels[order].astype(np.int8), 4))
    found = compare_orders(np.array(near["trusted"]), np.array(near["judge"]))
    assert found["suspicious"].tolist() == [True, False, False]
    differences = near["judge"][0] - near["trusted"][0]
    others = [stats.ttest_1samp(near["judge"][run] - near["trusted"][run], 0).pvalue for run in (1, 2)]
    level = stats.ttest_1samp(differences, 0).pvalue
    assert found["near_asl"][0] == pytest.approx(level * (3 - sum(other < level for other in others)))

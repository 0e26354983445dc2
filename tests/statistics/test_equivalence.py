"""The two one-sided tests are SciPy's, and tests of differences do not depend on the pairs beside."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.weightstats import DescrStatsW

from gainboard.statistics.classical import pivotal_topics
from gainboard.statistics.means import pair_differences, tost_levels
from gainboard.statistics.significance import PairedTest, SignificanceSettings, every_test, find_paired_test

from .matrices import continuous


@pytest.mark.parametrize("margin", [0.01, 0.1, 0.5])
def test_a_level_is_that_of_statsmodels(margin):
    differences = pair_differences(continuous(5, 30))
    expected = [DescrStatsW(row).ttost_mean(-margin, margin)[0] for row in differences]
    assert tost_levels(differences, margin).tolist() == pytest.approx(expected, rel=1e-9)


def test_without_spread_a_margin_that_is_larger_decides():
    constant = np.full((2, 5), 0.1) * [[1], [-1]]
    assert tost_levels(constant, 0.2).tolist() == [0, 0]
    assert tost_levels(constant, 0.1).tolist() == tost_levels(constant, 0.05).tolist() == [1, 1]


PAIRED = [test.name for test in every_test() if isinstance(test, PairedTest)]


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("topics", [7, 30])
def test_a_choice_of_pairs_has_the_levels_of_all_pairs(name, topics):
    test, scores, settings = find_paired_test(name), continuous(5, topics), SignificanceSettings(seed=3)
    differences = pair_differences(scores)
    every = test.decide(scores, settings)
    chosen = test.decide_differences(differences[[1, 4, 8]], settings)
    assert chosen.asl.tolist() == every.asl[[1, 4, 8]].tolist()
    assert chosen.resamples == every.resamples
    alone = [test.decide_differences(row[np.newaxis], settings).asl[0] for row in differences]
    assert alone == every.asl.tolist()


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_topics_decide_alone_if_the_others_say_something_else(alpha):
    scores = continuous(5, 9)
    turning, tipping = pivotal_topics(pair_differences(scores), np.full(10, alpha))
    for pair, (x, y) in enumerate(combinations(scores, 2)):
        own = ttest_1samp(x - y, 0).pvalue < alpha
        for topic in range(len(x)):
            rest = np.delete(x - y, topic)
            assert turning[pair, topic] == ((rest.mean() > 0) != ((x - y).mean() > 0))
            assert tipping[pair, topic] == ((ttest_1samp(rest, 0).pvalue < alpha) != own)
    assert turning.any()
    assert tipping.any()


def test_equal_runs_have_no_topic_that_decides_and_one_topic_may_be_all_there_is():
    turning, tipping = pivotal_topics(np.array([[0.0] * 5, [0.5, 0, 0, 0, 0], [0.1] * 5]), np.full(3, 0.05))
    assert not turning[0].any()
    assert not tipping.any()
    assert turning[1].tolist() == [True, False, False, False, False]
    assert not turning[2].any()

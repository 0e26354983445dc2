"""The tests of the textbooks agree with SciPy, pair by pair."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, rankdata, ttest_1samp, ttest_rel, wilcoxon

from gainboard.statistics.classical import Sign, TTest, Wilcoxon, deciding_topics, sign_levels, wilcoxon_levels
from gainboard.statistics.means import pair_differences
from gainboard.statistics.significance import SignificanceSettings, find_test

from .matrices import continuous, tenths
from .test_bootstrap import GOLDEN

SIZES = [
    pytest.param(matrix(4, topics, seed=topics), id=f"{matrix.__name__}-{topics}")
    for matrix in (continuous, tenths)
    for topics in (2, 6, 13, 14, 50, 51, 120)
]


@pytest.mark.parametrize(("name", "key"), [("t-test", "t_p"), ("wilcoxon", "wilcoxon_p"), ("sign", "sign_p")])
def test_the_worked_example_has_its_levels(name, key):
    case = GOLDEN["tests_n5"]
    asl = find_test(name).decide(np.array([case["x"], case["y"]]), SignificanceSettings()).asl
    assert asl == pytest.approx([case[key]], abs=1e-14)


@pytest.mark.parametrize("scores", SIZES)
def test_t_tests_are_scipys(scores):
    first, second = np.triu_indices(len(scores), 1)
    scores = scores + np.random.default_rng(0).normal(0, 0.01, scores.shape)
    theirs = ttest_rel(scores[first], scores[second], axis=1).pvalue
    assert TTest().decide(scores, SignificanceSettings()).asl == pytest.approx(theirs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("scores", SIZES)
def test_sign_tests_are_scipys(scores):
    theirs = [
        binomtest(int((z > 0).sum()), int((z != 0).sum())).pvalue if z.any() else 1.0
        for z in rounded_differences(scores)
    ]
    assert Sign().decide(scores, SignificanceSettings()).asl == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("topics", [2, 13, 50, 51, 200])
def test_signed_rank_tests_without_ties_are_scipys_exact_ones(topics):
    scores = continuous(4, topics, seed=topics)
    theirs = wilcoxon(rounded_differences(scores), axis=1, method="exact").pvalue
    assert Wilcoxon().decide(scores, SignificanceSettings()).asl == pytest.approx(theirs, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("topics", [3, 9, 16])
@pytest.mark.parametrize("zeros", [0, 30])
def test_signed_rank_tests_with_ties_are_the_share_of_all_signs(topics, zeros):
    scores = np.hstack((tenths(4, topics, seed=topics), np.full((4, zeros), 0.5)))
    theirs = [share_of_signs(z[z != 0]) for z in rounded_differences(scores)]
    assert Wilcoxon().decide(scores, SignificanceSettings()).asl == pytest.approx(theirs, abs=1e-14)


def share_of_signs(z):
    """The level over all ways to give the midranks signs."""
    ranks = rankdata(np.abs(z))
    positive = np.array(list(product((False, True), repeat=len(z)))) @ ranks
    own = ranks[z > 0].sum()
    return float(min(1.0, 2 * min((positive <= own).mean(), (positive >= own).mean())))


def test_four_of_fifty_topics_that_are_better_are_not_significant():
    # The sign test says the same. SciPy decides by all fifty, and its normal approximation says 0.0455.
    z = np.zeros((1, 50))
    z[0, [3, 20, 33, 41]] = [1.0, 0.5, 0.5, 0.25]
    assert wilcoxon_levels(z).tolist() == sign_levels(z).tolist() == [0.125]


def test_beyond_two_hundred_differences_the_signed_rank_test_is_normal():
    z = np.round(np.random.default_rng(3).normal(0.02, 0.2, (6, 300)), 1)
    z[:, :30] = 0
    z[5, 30:170] = 0
    theirs = [wilcoxon(each[each != 0], method="asymptotic").pvalue for each in z[:5]]
    assert [np.count_nonzero(each) > 200 for each in z] == [True] * 5 + [False]
    assert wilcoxon_levels(z)[:5] == pytest.approx(theirs, rel=1e-9)


def rounded_differences(scores):
    return np.round(pair_differences(scores), 12)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_topics_that_decide_are_the_largest_until_the_rest_is_not_significant(sign):
    differences = sign * np.array([0.4, 0.9, -0.2, 0.5, 0.7, 0.6, -0.1, 0.3])
    taken = deciding_topics(differences, 0.05)
    assert taken.tolist() == [1, 4, 5, 3][: len(taken)] != []
    rests = [np.delete(differences, taken[:count]) for count in range(len(taken) + 1)]
    levels = [ttest_1samp(rest, 0).pvalue for rest in rests]
    assert [level < 0.05 for level in levels] == [True] * len(taken) + [False]


def test_nothing_decides_where_nothing_is_significant():
    assert deciding_topics(np.array([0.5, -0.4, 0.1]), 0.05).tolist() == []
    assert deciding_topics(np.zeros(4), 0.05).tolist() == []

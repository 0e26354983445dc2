"""The gate's tests are those of other people below 50 topics, and a plain bootstrap beside these from there on."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, norm, ttest_1samp
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from gainboard.statistics.draws import Draws
from gainboard.statistics.gates import (
    ALPHA,
    combined_levels,
    one_sided_tests,
    verdict_of,
    verdict_of_all,
)
from gainboard.statistics.topic_sets import detectable_difference, t_test_design

MARGIN = 0.05


def drawn(topics, series=8):
    random = np.random.default_rng(topics)
    return random.normal(np.linspace(-0.08, 0.04, series)[:, np.newaxis], 0.2, (series, topics))


def gated(differences, margin=MARGIN):
    return one_sided_tests(differences, np.full(len(differences), margin))


def test_below_fifty_topics_levels_and_ends_are_scipys():
    differences = drawn(49)
    tests = gated(differences)
    assert tests.resamples is None
    for place, row in enumerate(differences):
        worse, not_worse = ttest_1samp(row, 0, alternative="less"), ttest_1samp(row, -MARGIN, alternative="greater")
        assert tests.worse[place] == pytest.approx(worse.pvalue, rel=1e-9)
        assert tests.not_worse[place] == pytest.approx(not_worse.pvalue, rel=1e-9)
        assert tests.high[place] == pytest.approx(worse.confidence_interval(0.95).high)
        assert tests.low[place] == pytest.approx(not_worse.confidence_interval(0.95).low)


def test_from_fifty_topics_on_a_plain_studentised_bootstrap_must_agree_with_t():
    differences = np.vstack([drawn(60, 3), np.random.default_rng(5).exponential(0.2, (2, 60)) - 0.25])
    tests = gated(differences)
    parts = [Draws(0, "bootstrap-range", part).resamples(1000, 60) for part in range(tests.resamples // 1000)]
    topics = np.concatenate(parts)

    def t(sample):
        return sample.mean(axis=-1) / sample.std(axis=-1, ddof=1) * math.sqrt(sample.shape[-1])

    for place, row in enumerate(differences):
        resampled = t((row - row.mean())[topics])
        worse = (1 + np.count_nonzero(resampled <= t(row) + 1e-9)) / (len(topics) + 1)
        not_worse = (1 + np.count_nonzero(resampled >= t(row + MARGIN) - 1e-9)) / (len(topics) + 1)
        by_t = ttest_1samp(row, 0, alternative="less"), ttest_1samp(row, -MARGIN, alternative="greater")
        assert tests.worse[place] == pytest.approx(max(worse, by_t[0].pvalue), rel=1e-9)
        assert tests.not_worse[place] == pytest.approx(max(not_worse, by_t[1].pvalue), rel=1e-9)


@pytest.mark.parametrize("topics", [20, 80])
def test_a_level_is_below_alpha_just_where_the_interval_excludes_the_bound(topics):
    differences = np.random.default_rng(1).normal(0, 0.2, (1, topics))
    shifts = np.linspace(-0.12, 0.12, 401)[:, np.newaxis]
    tests = gated(differences + shifts)
    assert ((tests.worse < ALPHA) == (tests.high < 0)).all()
    assert ((tests.not_worse < ALPHA) == (tests.low > -MARGIN)).all()
    assert 0 < np.count_nonzero(tests.worse < ALPHA) < 401
    assert 0 < np.count_nonzero(tests.not_worse < ALPHA) < 401


@pytest.mark.parametrize("topics", [2, 50])
def test_equal_differences_leave_no_doubt(topics):
    tests = gated(np.repeat([[0.0], [-0.01], [-MARGIN], [-0.06], [0.01]], topics, axis=1))
    assert tests.worse.tolist() == [1, 0, 0, 0, 1]
    assert tests.not_worse.tolist() == [0, 0, 1, 1, 0]
    assert tests.low.tolist() == tests.high.tolist() == pytest.approx([0, -0.01, -MARGIN, -0.06, 0.01])


def test_one_topic_of_sixty_shows_nothing_although_a_third_of_the_resamples_lack_it():
    differences = np.zeros((1, 60))
    differences[0, 0] = -1
    tests = gated(differences)
    assert tests.worse[0] > 0.15
    assert tests.low[0] < tests.difference[0] == pytest.approx(-1 / 60)
    assert 0 <= tests.high[0] < math.inf


def test_several_metrics_are_corrected_where_one_decides_and_not_where_all_must_agree():
    worse, not_worse = np.array([0.01, 0.03, 0.6]), np.array([0.9, 0.02, 0.03])
    by_holm = [multipletests(levels, method="holm")[1].tolist() for levels in (worse, not_worse)]
    found = {
        name: [levels.tolist() for levels in combined_levels(worse, not_worse, name)] for name in ("holm", "all", "any")
    }
    assert found["holm"] == [pytest.approx(levels) for levels in by_holm]
    assert found["all"] == [pytest.approx(by_holm[0]), not_worse.tolist()]
    assert found["any"] == [worse.tolist(), pytest.approx(by_holm[1])]


def test_the_verdict_on_all_metrics_follows_from_that_on_each():
    assert [verdict_of(*levels) for levels in ((0.01, 0.9), (0.01, 0.01), (0.9, 0.01), (0.2, 0.2))] == [
        *("worse", "not worse", "not worse", "cannot tell")
    ]
    good, bad, open_ = "not worse", "worse", "cannot tell"
    for verdicts, strict, lax in (
        ([good, good], good, good),
        ([good, bad], bad, good),
        ([good, open_], open_, good),
        ([bad, open_], bad, open_),
        ([bad, bad], bad, bad),
    ):
        assert verdict_of_all(verdicts, "holm") == verdict_of_all(verdicts, "all") == strict
        assert verdict_of_all(verdicts, "any") == lax


@pytest.mark.parametrize("topics", [4, 20, 50, 400])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 990])
def test_the_detectable_difference_has_the_power_and_is_the_reverse_of_the_design(topics, alpha):
    shown = detectable_difference(topics, 0.04, alpha)
    # The power by integration over the estimated deviation, whose square is chi-squared; the other side adds nothing.
    bound, shift = student.isf(alpha / 2, topics - 1), shown / 0.2 * math.sqrt(topics)
    rows = chi2.ppf((np.arange(100_000) + 0.5) / 100_000, topics - 1)
    assert norm.cdf(shift - bound * np.sqrt(rows / (topics - 1))).mean() == pytest.approx(0.8, abs=1e-4)
    if alpha == 0.05:
        assert shown == pytest.approx(0.2 * TTestPower().solve_power(nobs=topics, alpha=alpha, power=0.8), rel=1e-4)
    assert t_test_design(shown * (1 + 1e-9), 0.04, alpha, 0.8).topics == topics
    assert t_test_design(shown * (1 - 1e-6), 0.04, alpha, 0.8).topics == topics + 1


def test_three_topics_and_equal_differences_detect_nothing():
    assert detectable_difference(3, 0.04, 0.05) is None
    assert detectable_difference(50, 0.0, 0.05) is None

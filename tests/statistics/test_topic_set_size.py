"""Topic set size design, against the published examples, SciPy's distributions, and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.corrected_means import TwiceJudged
from gainboard.statistics.topic_sets import (
    anova_design,
    anova_power,
    corrected_interval_design,
    interval_design,
    interval_width,
    one_way_variance,
    residual_variance,
    t_test_design,
    t_test_power,
)


@pytest.mark.parametrize(("size", "topics"), [(0.2, 199), (0.5, 34), (1.0, 10)])
def test_the_t_tests_of_the_paper(size, topics):
    found = t_test_design(size, 1.0, 0.05, 0.8)
    assert found.topics == topics
    assert t_test_power(topics - 1, size, 0.05) < 0.8 <= found.reached


@pytest.mark.parametrize(("runs", "variance", "topics"), [(3, 0.05, 98), (10, 0.0479, 151), (100, 0.05, 405)])
def test_the_analyses_of_variance_of_the_paper(runs, variance, topics):
    found = anova_design(0.1, variance, runs, 0.05, 0.8)
    assert found.topics == topics
    assert anova_power(topics - 1, 0.01 / (2 * variance), runs, 0.05) < 0.8 <= found.reached


@pytest.mark.parametrize(("width", "topics"), [(0.1, 156), (0.2, 41)])
def test_the_intervals_of_the_paper(width, topics):
    found = interval_design(width, 0.1, 0.05)
    assert found.topics == topics
    assert interval_width(topics - 1, 0.1, 0.05) > width >= found.reached


def test_a_useless_judge_saves_no_topic_and_a_perfect_one_all_but_a_few():
    assert corrected_interval_design(0.1, 0.1, 0.05, 0.0, None) == interval_design(0.1, 0.1, 0.05)
    needed = [corrected_interval_design(0.1, 0.1, 0.05, correlation, 1000) for correlation in (0.3, 0.6, 0.9, 1.0)]
    topics = [each.topics for each in needed if each]
    assert topics == sorted(topics, reverse=True)
    assert topics[-1] < 10 < 100 < topics[0] < 156


@pytest.mark.parametrize(("correlation", "trusted", "topics"), [(0.8, 34, 200), (0.5, 40, 400)])
def test_the_width_is_that_of_simulated_corrected_means(correlation, trusted, topics):
    drawn, widths = np.random.default_rng(2), []
    for _ in range(400):
        truth = drawn.normal(0, 1, (1, topics))
        cheap = correlation * truth + math.sqrt(1 - correlation**2) * drawn.normal(0, 1, (1, topics))
        sample = TwiceJudged(truth[:, :trusted], cheap[:, :trusted], cheap[:, trusted:])
        weight = correlation * (topics - trusted) / topics
        low, high = sample.corrected(weight).intervals(sample.freedom)
        widths.append(float((high - low)[0]))
    share = correlation**2 * (1 - trusted / topics)
    assert np.mean(widths) == pytest.approx(interval_width(trusted, 1 - share, 0.05), rel=0.02)


@pytest.mark.parametrize("topics", [2, 5, 40, 3000])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_power_is_that_of_scipys_distributions(topics, alpha):
    bound, shift = stats.t.ppf(1 - alpha / 2, topics - 1), 0.3 * math.sqrt(topics)
    expected = stats.nct.sf(bound, topics - 1, shift) + stats.nct.cdf(-bound, topics - 1, shift)
    assert t_test_power(topics, 0.3, alpha) == pytest.approx(expected, abs=1e-9)
    freedom = (3, 4 * (topics - 1))
    expected = stats.ncf.sf(stats.f.ppf(1 - alpha, *freedom), *freedom, 0.05 * topics)
    assert anova_power(topics, 0.05, 4, alpha) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("difference", [3.0, 100.0, 1e9])
def test_a_huge_effect_needs_the_fewest_topics(difference):
    for found in (
        t_test_design(difference, 1e-4, 0.05, 0.8),
        anova_design(difference, 1e-4, 50, 0.05, 0.8),
        interval_design(difference, 1e-4, 0.05),
    ):
        assert found.topics in (2, 3)
    assert t_test_power(100, 3.0, 0.05) == pytest.approx(1)


def test_variances_are_the_mean_squares_of_the_analysis_of_variance():
    scores = np.random.default_rng(2).random((4, 7)) + np.arange(7)
    within = sum(float(((row - row.mean()) ** 2).sum()) for row in scores) / (4 * 6)
    assert one_way_variance(scores) == pytest.approx(within)
    fitted = scores.mean(axis=1)[:, np.newaxis] + scores.mean(axis=0) - scores.mean()
    assert residual_variance(scores) == pytest.approx(float(((scores - fitted) ** 2).sum()) / 18)

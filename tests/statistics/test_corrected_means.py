"""Corrected means, against ppi-python, the formulas written out, and samples whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.corrected_means import LEAST_TRUSTED, TwiceJudged

RUNS, TRUSTED, OTHERS = 6, 24, 70


@pytest.fixture(scope="module")
def sample():
    """Six runs under a lenient judge, who errs more on some of them."""
    drawn = np.random.default_rng(7)
    topics = drawn.normal(0, 0.15, TRUSTED + OTHERS)
    truth = 0.4 + 0.05 * np.arange(RUNS)[:, np.newaxis] + topics + drawn.normal(0, 0.08, (RUNS, TRUSTED + OTHERS))
    cheap = 0.1 + 0.8 * truth + np.linspace(0.01, 0.15, RUNS)[:, np.newaxis] * drawn.normal(0, 1, truth.shape)
    return TwiceJudged(truth[:, :TRUSTED], cheap[:, :TRUSTED], cheap[:, TRUSTED:])


def by_ppi(sample, weight):
    """The means and their variances by the program of the papers' authors, which divides variances by n."""
    # It takes seconds to import, and needs numba, of which not every machine has a wheel.
    ppi_py = pytest.importorskip("ppi_py")
    tables = (sample.trusted.T, sample.cheap.T, sample.others.T)
    means = ppi_py.ppi_mean_pointestimate(*tables, lam=weight)
    low, high = ppi_py.ppi_mean_ci(*tables, alpha=0.05, lam=weight)
    return means, ((high - low) / 2 / stats.norm.ppf(0.975)) ** 2


def rescaled(sample, weight):
    """The variances of the means as that program has them."""
    rest = sample.trusted - weight * sample.cheap
    return np.asarray(weight**2 * sample.others.var(axis=1) / OTHERS + rest.var(axis=1) / TRUSTED)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_a_weight_gives_the_means_and_variances_of_ppi_python(sample, weight):
    means, variances = by_ppi(sample, weight)
    found = sample.corrected(weight)
    assert found.means == pytest.approx(means, abs=1e-12)
    assert rescaled(sample, weight) == pytest.approx(variances, rel=1e-9)
    by_parts = (
        sample.others.var(axis=1, ddof=1) * weight**2,
        (sample.trusted - weight * sample.cheap).var(axis=1, ddof=1),
    )
    assert found.variances == pytest.approx(by_parts[0] / OTHERS + by_parts[1] / TRUSTED)
    low, high = found.intervals(None)
    assert (high - low) / 2 == pytest.approx(stats.norm.ppf(0.975) * np.sqrt(found.variances))


def test_power_tuning_is_that_of_ppi_python_but_for_its_divisors(sample):
    means, _ = by_ppi(sample, None)
    cheap = sample.all_cheap()
    covariances = [np.cov(*pair)[0, 1] for pair in zip(sample.trusted, sample.cheap, strict=True)]
    exact = sum(covariances) / ((1 + TRUSTED / OTHERS) * cheap.var(axis=1, ddof=1).sum())
    assert sample.weight() == pytest.approx(exact)
    # its covariances are divided by n, and its variances by n - 1
    assert sample.corrected(sample.weight() * (TRUSTED - 1) / TRUSTED).means == pytest.approx(means, abs=1e-12)


def test_a_judge_who_is_right_is_worth_all_topics_and_a_useless_one_those_of_people(sample):
    truth = np.random.default_rng(1).normal(0.5, 0.2, (RUNS, 800))
    right = TwiceJudged(truth[:, :200], truth[:, :200], truth[:, 200:])
    assert right.worth(right.corrected(right.weight())) == pytest.approx(np.full(RUNS, 800), rel=0.15)
    assert right.correlation() == pytest.approx(1)
    alone = sample.corrected(0.0)
    assert alone.means == pytest.approx(sample.by_trusted().means)
    assert sample.worth(alone) == pytest.approx(np.full(RUNS, TRUSTED))


def test_what_does_not_vary_has_no_worth_and_no_correlation():
    constant = TwiceJudged(np.full((2, 20), 0.5), np.full((2, 20), 0.3), np.full((2, 30), 0.3))
    found = constant.corrected(constant.weight())
    assert found.means.tolist() == [0.5, 0.5]
    assert np.isnan(constant.worth(found)).all()
    assert np.isnan(constant.correlation())
    levels = constant.differences(np.array([0]), np.array([1])).corrected(1.0).levels(19)
    assert levels.tolist() == [1.0]


def test_ranges_are_those_of_both_samples_drawn_apart(sample):
    """A range of two runs has the variance of their corrected difference, as Student's t has it beside the normal."""
    weight, pair = sample.weight(), np.array([0, 3])
    two = TwiceJudged(sample.trusted[pair], sample.cheap[pair], sample.others[pair])
    found = two.ranges(weight, 4000, seed=3)
    (variance,) = two.differences(*(np.array([place]) for place in (0, 1))).corrected(weight).variances
    freedom = sample.freedom
    assert np.mean(found**2) == pytest.approx(variance * freedom / (freedom - 2), rel=0.06)
    assert found.tolist() == two.ranges(weight, 4000, seed=3).tolist()

    def centred(table, drawn):
        scale = np.sqrt(table.shape[1] / (table.shape[1] - 1))
        return np.asarray(scale * (table - table.mean(axis=1, keepdims=True))[:, drawn].mean(axis=1))

    drawn = np.random.default_rng(3)
    plain = []
    for _ in range(4000):
        rest = sample.trusted - weight * sample.cheap
        means = centred(rest, drawn.integers(0, TRUSTED, TRUSTED))
        means += centred(weight * sample.others, drawn.integers(0, OTHERS, OTHERS))
        plain.append(np.ptp(means))
    levels = np.array([50, 90, 95])
    tails = (1 - levels / 100) / 2
    stretched = np.percentile(plain, levels) * stats.t.isf(tails, freedom) / stats.norm.isf(tails)
    assert np.percentile(sample.ranges(weight, 4000), levels) == pytest.approx(stretched, rel=0.04)


JUDGES = {
    "lenient": lambda scores, drawn: scores + 0.15 + drawn.normal(0, 0.05, scores.shape),
    "partial": lambda scores, drawn: scores + 0.2 * (np.arange(len(scores)) % 3 == 0)[:, np.newaxis],
    "passing": lambda scores, drawn: (scores + drawn.normal(0, 0.05, scores.shape) >= 0.5).astype(float),
    "blind": lambda scores, drawn: drawn.uniform(0, 1, scores.shape),
}


@pytest.mark.parametrize("judge", JUDGES)
def test_intervals_hold_the_truth_whatever_the_judge_is(judge):
    drawn, corrected, alone = np.random.default_rng(5), [], []
    field = np.clip(np.linspace(0.7, 1.3, 12)[:, np.newaxis] * drawn.beta(2, 3, 50), 0, 1)
    for _ in range(150):
        scores = field[:, drawn.integers(0, 50, 100)]
        cheap = JUDGES[judge](scores, drawn)
        sample = TwiceJudged(scores[:, :LEAST_TRUSTED], cheap[:, :LEAST_TRUSTED], cheap[:, LEAST_TRUSTED:])
        ends = [sample.corrected(sample.weight()).intervals(LEAST_TRUSTED - 1), sample.by_cheap().intervals(99)]
        held = [((low <= field.mean(axis=1)) & (field.mean(axis=1) <= high)).mean() for low, high in ends]
        corrected.append(held[0])
        alone.append(held[1])
    assert np.mean(corrected) > 0.9
    assert np.mean(alone) < 0.9

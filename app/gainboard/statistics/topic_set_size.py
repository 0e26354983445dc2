"""Topic set size design: how many topics a new collection needs, from the variance of scores.

The designs are those of Sakai (Topic set size design, Information Retrieval Journal 19(3), 2016): by the paired t-test,
by one-way analysis of variance, and by the width of a confidence interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gainboard.statistics.draws import Floats

MOST_TOPICS = 1_000_000
"""The most topics of a design. Nobody judges more."""


class Design(NamedTuple):
    """The smallest number of topics of a design, and the power, or the expected width, that they reach."""

    topics: int
    reached: float


def one_way_variance(scores: Floats) -> float:
    """Return the variance of scores within runs, V: the mean over runs of the variance (n - 1) over topics.

    `scores` is float64 [runs, topics] without NaN, at least two topics.
    """
    return float(scores.var(axis=1, ddof=1).mean())


def pooled_variance(variances: Floats, freedoms: Floats) -> float:
    """Return one variance from those of several collections, each weighted by its degrees of freedom.

    Both are float64 [collections], positive. That of a collection has runs * (topics - 1) degrees of freedom.
    """
    return float(np.average(variances, weights=freedoms))


def residual_variance(scores: Floats) -> float:
    """Return the residual variance of the two-way analysis without replication: what runs and topics do not explain.

    `scores` is float64 [runs, topics] without NaN, at least two of each. There are (runs - 1) * (topics - 1) degrees of
    freedom.
    """
    rows, columns = scores.mean(axis=1, keepdims=True), scores.mean(axis=0)
    residuals = scores - rows - columns + scores.mean()
    return float((residuals**2).sum() / ((len(rows) - 1) * (len(columns) - 1)))


def t_test_design(difference: float, variance: float, alpha: float, power: float) -> Design | None:
    """Return the topics with which the paired t-test finds a mean `difference` with at least this power.

    `variance` is that of the differences of two runs by topic. All are positive, `alpha` and `power` below 1. None if
    more than `MOST_TOPICS` are needed.
    """
    size = difference / math.sqrt(variance)
    return _smallest(lambda topics: t_test_power(topics, size, alpha), lambda reached: reached >= power)


def anova_design(difference: float, variance: float, runs: int, alpha: float, power: float) -> Design | None:
    """Return the topics with which the analysis of variance finds that some of the runs differ, with this power.

    `difference` is that of the best and the worst mean, and `variance` that of the scores within runs. All are
    positive, `alpha` and `power` below 1, `runs` at least 2. The power is the least over all positions of the other
    runs. None if more than `MOST_TOPICS` are needed.
    """
    effect = difference**2 / (2 * variance)
    return _smallest(lambda topics: anova_power(topics, effect, runs, alpha), lambda reached: reached >= power)


def interval_design(width: float, variance: float, alpha: float) -> Design | None:
    """Return the topics with which the confidence interval of a mean difference is expected to be this narrow.

    `variance` is that of the differences of two runs by topic. The interval's level is 1 - `alpha`. All are positive,
    `alpha` below 1. None if more than `MOST_TOPICS` are needed.
    """
    return _smallest(lambda topics: interval_width(topics, variance, alpha), lambda reached: reached <= width)


def corrected_interval_design(
    width: float, variance: float, alpha: float, correlation: float, topics: int | None
) -> Design | None:
    """Return the trusted topics with which the interval of a corrected mean difference is expected to be this narrow.

    The mean under cheap judgments of so many `topics`, or of any number if it is None, is corrected by trusted ones of
    some of them. `correlation` in [0, 1] is that of cheap and trusted values by topic, and `variance` that of the
    trusted ones. With the best weight, the variance of the corrected mean is
    variance * ((1 - correlation ** 2) / n + correlation ** 2 / topics). None if even all topics are not enough.
    """
    share = correlation**2

    def reach(trusted: int) -> float:
        return interval_width(trusted, variance * (1 - share + (share * trusted / topics if topics else 0.0)), alpha)

    return _smallest(reach, lambda reached: reached <= width, topics or MOST_TOPICS)


def t_test_power(topics: int, size: float, alpha: float) -> float:
    """Return the power of the two-sided paired t-test for an effect `size` of mean / standard deviation."""
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import nctdtr, stdtrit  # noqa: PLC0415

    freedom, shift = topics - 1, math.sqrt(topics) * size
    bound = float(stdtrit(freedom, 1 - alpha / 2))
    power = float(1 - nctdtr(freedom, shift, bound) + nctdtr(freedom, shift, -bound))
    # SciPy gives NaN far in the tail, where the normal approximation is as good.
    return power if not math.isnan(power) else _normal_power(freedom, shift, bound)


def _normal_power(freedom: int, shift: float, bound: float) -> float:
    centre, spread = bound * (1 - 1 / (4 * freedom)), math.sqrt(1 + bound**2 / (2 * freedom))
    return _normal((-centre - shift) / spread) + 1 - _normal((centre - shift) / spread)


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def anova_power(topics: int, effect: float, runs: int, alpha: float) -> float:
    """Return the power of the one-way analysis of variance; `effect` is the noncentrality by topic."""
    from scipy.special import fdtri, ncfdtr  # noqa: PLC0415

    between, within = runs - 1, runs * (topics - 1)
    power = float(1 - ncfdtr(between, within, topics * effect, float(fdtri(between, within, 1 - alpha))))
    # The chance is 0 to all digits that such an effect is missed.
    return 1.0 if math.isnan(power) else power


def interval_width(topics: int, variance: float, alpha: float) -> float:
    """Return the expected width of Student's t interval, as the standard deviation of a sample is expected to be."""
    from scipy.special import stdtrit  # noqa: PLC0415

    # Logarithms, because the gamma function overflows from 344 topics on.
    gammas = math.exp(math.lgamma(topics / 2) - math.lgamma((topics - 1) / 2))
    bound = float(stdtrit(topics - 1, 1 - alpha / 2))
    return 2 * bound * math.sqrt(variance / topics) * math.sqrt(2 / (topics - 1)) * gammas


def _smallest(
    reach: Callable[[int], float], is_enough: Callable[[float], bool], most: int = MOST_TOPICS
) -> Design | None:
    """Return the smallest number of topics, from 2 to `most`, that is enough, where more topics never are less."""
    low, high = 1, 2
    while not is_enough(reach(high)):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(reach(middle)) else (middle, high)
    return Design(high, reach(high))

"""Sets of topics: how many a new collection needs, how well means generalise to others, and what subsets of them tell.

The designs of topic set sizes are those of Sakai (Topic set size design, Information Retrieval Journal 19(3), 2016): by
the paired t-test, by one-way analysis of variance, and by the width of a confidence interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.means import TINY, collapse, pair_count, pair_indices, pieces

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


LEAST_DETECTING = 4
"""The least topics for which SciPy has the power of the t-test for every difference."""


def detectable_difference(topics: int, variance: float, alpha: float, power: float = 0.8) -> float | None:
    """Return the smallest mean difference that the paired t-test of so many topics finds with this power.

    It is the reverse of `t_test_design`: `variance` is that of the differences of two runs by topic. `alpha` and
    `power` are below 1. For many pairs of runs, divide `alpha` by their number. None for fewer topics than
    `LEAST_DETECTING`, and where nothing varies.
    """
    if topics < LEAST_DETECTING or variance <= TINY**2:
        return None
    return _detectable_size(topics, alpha, power) * math.sqrt(variance)


@lru_cache(maxsize=1024)  # boards of one collection ask for few, each of which takes a millisecond
def _detectable_size(topics: int, alpha: float, power: float) -> float:
    """Return the smallest effect size, in standard deviations, to all digits."""
    low, high = 0.0, 1.0
    while t_test_power(topics, high, alpha) < power:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if t_test_power(topics, middle, alpha) >= power else (middle, high)
    return high


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
    power, other = 1 - float(nctdtr(freedom, shift, bound)), float(nctdtr(freedom, shift, -bound))
    if not math.isnan(power):
        return power + (0.0 if math.isnan(other) else other)
    # SciPy gives NaN far in a tail. That of the other side is 0 there, and a normal approximation is good for this one.
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


@dataclass(frozen=True)
class VarianceComponents:
    """The components of a two-way random layout without replication; negative estimates are 0.

    `is_negative` says which of runs and topics had one. `generalisability` is E rho^2, with the ends of its 95 %
    interval, and `dependability` is Phi. Both are NaN if there is no variance at all.
    """

    runs: float
    topics: float
    residual: float
    is_negative: tuple[bool, bool]
    generalisability: float
    low: float
    high: float
    dependability: float

    def shares(self) -> dict[str, float]:
        """Return the share of each component in their sum; NaN if nothing varies."""
        total = self.runs + self.topics + self.residual
        components = {"runs": self.runs, "topics": self.topics, "residual": self.residual}
        return {name: value / total if total else np.nan for name, value in components.items()}


def variance_components(scores: Floats) -> VarianceComponents:
    """Return the components of `scores`, float64 [runs, topics] without NaN, at least two of each.

    The mean squares are those of the two-way analysis of variance. E rho^2 = V_runs / (V_runs + V_residual / topics) is
    Cronbach's alpha, and its interval that of Feldt (The approximate sampling distribution of Kuder-Richardson
    reliability coefficient twenty, Psychometrika 30, 1965). Phi = V_runs / (V_runs + (V_topics + V_residual) / topics)
    (Bodoff and Li, Test theory for assessing IR test collections, SIGIR 2007).
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import fdtri  # noqa: PLC0415

    runs, topics = scores.shape
    rows, columns, mean = scores.mean(axis=1, keepdims=True), scores.mean(axis=0), scores.mean()
    squares = (
        topics * float(((rows - mean) ** 2).sum()) / (runs - 1),
        runs * float(((columns - mean) ** 2).sum()) / (topics - 1),
        float(((scores - rows - columns + mean) ** 2).sum()) / ((runs - 1) * (topics - 1)),
    )
    # Mean squares of rounding errors are 0.
    of_runs, of_topics, residual = (square if square > TINY**2 else 0.0 for square in squares)
    raw_runs, raw_topics = (of_runs - residual) / topics, (of_topics - residual) / runs
    by_run, by_topic = max(raw_runs, 0.0), max(raw_topics, 0.0)
    low = high = np.nan
    if of_runs:  # the ends are 1 - F.975 / F and 1 - F.025 / F, where F = MS_runs / MS_residual
        freedom = (runs - 1, (runs - 1) * (topics - 1))
        low, high = (1 - float(fdtri(*freedom, share)) * residual / of_runs for share in (0.975, 0.025))
    return VarianceComponents(
        runs=by_run,
        topics=by_topic,
        residual=residual,
        is_negative=(raw_runs < 0, raw_topics < 0),
        generalisability=_share(by_run, residual / topics),
        low=low,
        high=high,
        dependability=_share(by_run, (by_topic + residual) / topics),
    )


def replicate_components(scores: Floats, groups: Indices, counts: Floats) -> Floats:
    """Return the variances of systems, topics, systems x topics and replicates, and the mean share: [5, samples].

    `scores` [rows, topics] and `groups` are as `collapse` takes them. `counts` float64 [topics, samples] says how often
    a sample has a topic. Replicates vary within the cells of systems x topics. The others are by the method of moments
    from means of cells, unbiased for any numbers of replicates, and may be negative (unweighted means: Searle et al.,
    Variance components, 1992, chapter 4). The mean share is that of 1 / replicates. With one system, topics contain the
    interaction, and it and systems are NaN; without replicates, these and the interaction are.
    """
    is_scored, systems = ~np.isnan(scores), int(groups.max()) + 1
    member = (groups == np.arange(systems)[:, np.newaxis]).astype(np.float64)
    number, cells = member @ is_scored, collapse(scores, groups)
    squares = np.where(is_scored, (scores - cells[groups]) ** 2, 0.0).sum(axis=0)
    # Centred first, so that sums of squares lose no digits.
    apart, hard = cells - cells.mean(axis=0), cells.mean(axis=0) - cells.mean()
    means = apart.mean(axis=1, keepdims=True)
    topics = counts.sum(axis=0)
    moved = (rest := apart - means) @ counts / topics
    mean_share = (1 / number).mean(axis=0) @ counts / topics
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 where nothing is there to compare
        replicates = squares @ counts / ((is_scored.sum(axis=0) - systems) @ counts)
        residual = ((rest**2).sum(axis=0) @ counts - topics * (moved**2).sum(axis=0)) / ((systems - 1) * (topics - 1))
        by_system = ((means + moved) ** 2).sum(axis=0) / (systems - 1) - residual / topics
    by_topic = (hard**2 @ counts - (hard @ counts) ** 2 / topics) / (topics - 1)
    by_topic -= residual / systems if systems > 1 else replicates * mean_share
    return np.array([by_system, by_topic, residual - replicates * mean_share, replicates, mean_share])


SOURCES = ("systems", "topics", "systems x topics", "replicates")


def variance_shares(components: Floats) -> dict[str, float]:
    """Return the share of each known variance in their sum, by source; none without replicates. A negative one is 0."""
    variances = np.maximum(components[: len(SOURCES)], 0.0)
    known = {source: of for source, of in zip(SOURCES, variances.tolist(), strict=True) if not math.isnan(of)}
    total = sum(known.values())
    return {source: of / total for source, of in known.items()} if "replicates" in known and total else {}


def component_intervals(estimates: Floats, resampled: Floats, topics: int) -> Floats:
    """Return the ends of 95 % intervals of variances, float64 [2, components], by bootstrap samples of the topics.

    From `estimates` [components] and `resampled` [components, samples]: Student's interval of logarithms, because
    percentiles alone hold variances too rarely; percentiles from 0 on where an estimate is not positive.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    is_positive = np.minimum(resampled.min(axis=1), estimates) > 0
    spread = np.log(np.where(is_positive[:, np.newaxis], resampled, 1.0)).std(axis=1)
    factor = np.exp(float(stdtrit(topics - 1, 0.975)) * spread)
    percentiles = np.maximum(np.percentile(resampled, (2.5, 97.5), axis=1), 0.0)
    return np.where(is_positive, (estimates / factor, estimates * factor), percentiles)


def replicated_widths(components: Floats, topics: int) -> tuple[list[float], ...]:
    """Return the expected widths of Student's 95 % intervals of a system's mean, and of the difference of two: each as
    it is, with twice the topics, and with twice the replicates. `components` float64 [5] are of `replicate_components`.
    """
    _, by_topic, interaction, replicates, mean_share = np.maximum(components, 0.0).tolist()
    noise = replicates * mean_share
    designs = ((topics, noise), (2 * topics, noise), (topics, noise / 2))
    # That of topics contains its interaction where there is one system alone.
    own = by_topic + (0.0 if math.isnan(interaction) else interaction)
    of_runs = ((1, own), (2, interaction))
    return tuple([interval_width(number, runs * (of + left), 0.05) for number, left in designs] for runs, of in of_runs)


def _share(component: float, error: float) -> float:
    return component / (component + error) if component + error > 0 else np.nan


def discriminations(scores: Floats) -> Floats:
    """Return the correlation of each topic's scores with the runs' means over the other topics: float64 [topics].

    `scores` is float64 [runs, topics] without NaN, at least two topics. The correlation is Pearson's; it is NaN if
    either side is constant, or for fewer than three runs.
    """
    runs, topics = scores.shape
    if runs < 3:
        return np.full(topics, np.nan)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (topics - 1)
    topic_scores, rest = _centre(scores), _centre(others)
    scale = np.sqrt((topic_scores**2).sum(axis=0) * (rest**2).sum(axis=0))
    is_constant = _is_constant(topic_scores) | _is_constant(rest)
    # Rounding errors must not take a correlation beyond 1.
    return np.asarray(np.clip((topic_scores * rest).sum(axis=0) / np.where(is_constant, np.nan, scale), -1, 1))


def _centre(columns: Floats) -> Floats:
    return np.asarray(columns - columns.mean(axis=0))


def _is_constant(centred: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(centred).max(axis=0) <= TINY)


CANCELLED = 1e-6
"""The share of two runs' variances below which that of their difference is computed from the differences themselves."""
_AT_ONCE = 1 << 18


def significant_share(scores: Floats, alpha: float) -> float:
    """Return the share of the pairs of runs whose level by the paired t-test is below `alpha`.

    `scores` is float64 [runs, topics] without NaN, at least two of each. The verdicts are those of `t_levels`, but from
    the products of the runs' scores, so that a thousand runs take a second. Where the product of two almost equal runs
    loses digits, their differences decide.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    runs, topics = scores.shape
    means = scores.mean(axis=1)
    products = (centred := scores - means[:, np.newaxis]) @ centred.T
    squares, bound = np.diagonal(products), float(stdtrit(topics - 1, 1 - alpha / 2))
    first, second = pair_indices(runs)
    count = 0
    for piece in pieces(slice(0, pair_count(runs)), _AT_ONCE):
        x, y = first[piece], second[piece]
        difference, whole = np.abs(means[x] - means[y]), squares[x] + squares[y]
        spread = whole - 2 * products[x, y]
        lost = np.flatnonzero(spread < CANCELLED * whole)
        spread[lost] = np.square(centred[x[lost]] - centred[y[lost]]).sum(axis=1)
        error = np.sqrt(spread / (topics - 1))
        # t is infinite for differences that are all equal, and 0 if all are 0
        t = np.where(error > TINY, difference / np.maximum(error, TINY) * np.sqrt(topics), np.inf)
        count += int(np.count_nonzero((difference > TINY) & (t > bound)))
    return count / pair_count(runs)


class Spread(NamedTuple):
    """The mean and the 5th and 95th percentiles of the defined values, NaN without any, and the number undefined."""

    mean: float
    low: float
    high: float
    undefined: int


def spread_of(values: Floats) -> Spread:
    """Return the spread of values over subsets: float64 [subsets], NaN if undefined."""
    defined = np.sort(values[~np.isnan(values)])
    if not len(defined):
        return Spread(np.nan, np.nan, np.nan, len(values))
    low, high = np.percentile(defined, (5, 95))
    return Spread(float(defined.mean()), float(low), float(high), len(values) - len(defined))

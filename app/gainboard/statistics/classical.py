"""The classical tests, as in SciPy, for all pairs at once."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Floats, Indices
from gainboard.statistics.effects import TINY
from gainboard.statistics.pairs import NUMBERS_AT_ONCE, pair_differences, pieces
from gainboard.statistics.randomisation import MOST_ENUMERATED, as_large, every_sign
from gainboard.statistics.significance import (
    Outcome,
    PairedTest,
    PairwiseTest,
    SignificanceSettings,
    join_fields,
    register_test,
)

DECIMALS = 12
"""The decimal places of differences before they are ranked: 0.3 - 0.2 and 0.2 - 0.1 are a tie."""

MOST_EXACT = 50
"""The most topics for which SciPy uses the exact distribution of the signed ranks, if there are no ties."""


def t_levels(differences: Floats) -> Floats:
    """Return two-sided levels of the paired t-test on `differences` [pairs, topics]: float64 [pairs]."""
    return _levels_of_t(differences.mean(axis=1), differences.std(axis=1, ddof=1), differences.shape[1])


def deciding_topics(differences: Floats, alpha: float) -> Indices:
    """Return the topics on which the significance of a mean difference depends: intp [deciding].

    `differences` is float64 [topics], at least two. Topics are taken away one by one, those that contribute most to the
    mean difference first, until the paired t-test over the others has a level of at least `alpha`, or fewer than two
    are left. The result is the topics taken away, in this order. It is empty if the difference is not significant.
    """
    contributed = np.round(differences, DECIMALS) * np.sign(differences.mean())
    order = np.argsort(-contributed, kind="stable")
    means, squares = _running(differences[order[::-1]])
    topics = np.arange(2, len(order) + 1)
    lost = topics[_levels_of_t(means[1:], np.sqrt(squares[1:] / (topics - 1)), topics) >= alpha]
    return order[: len(order) - max(lost, default=1)]


def pivotal_topics(differences: Floats, alpha: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the topics that decide alone, because without them the others say something else.

    `differences` is float64 [pairs, topics] with at least three topics. The first result, bool [pairs, topics], is true
    if the mean difference of the other topics has not the sign of the mean of all. The second is true if the levels of
    the paired t-test with and without the topic are on different sides of `alpha`. Without a mean difference, there is
    no sign to lose.
    """
    topics = differences.shape[1]
    mean = differences.mean(axis=1, keepdims=True)
    centred = differences - mean
    means = np.round(mean - centred / (topics - 1), DECIMALS)
    total = (centred**2).sum(axis=1, keepdims=True)
    squares = np.maximum(total - centred**2 * (topics / (topics - 1)), 0.0)
    sign = np.sign(np.round(mean, DECIMALS))
    # Of a sum, a remainder this small is its rounding error.
    spreads = np.sqrt(np.where(squares > TINY * total, squares, 0.0) / (topics - 2))
    is_significant = _levels_of_t(means, spreads, topics - 1) < alpha
    return (np.sign(means) != sign) & (sign != 0), is_significant != (t_levels(differences) < alpha)[:, np.newaxis]


def _running(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean of the first 1, 2, ... `values`, and their sum of squares about it: float64 [values] each.

    The recurrence is that of Welford (Note on a method for calculating corrected sums of squares and products,
    Technometrics 4, 1962). Differences of sums would lose the spread of values that are almost equal.
    """
    found, mean, squares = np.empty((2, len(values))), 0.0, 0.0
    for place, value in enumerate(values.tolist()):
        before = value - mean
        mean += before / (place + 1)
        squares += before * (value - mean)
        found[:, place] = mean, squares
    return found[0], found[1]


def _levels_of_t(means: Floats, spreads: Floats, topics: int | NDArray[np.int64]) -> Floats:
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtr  # noqa: PLC0415

    mean = np.abs(means)
    t = np.where(spreads > TINY, mean / np.maximum(spreads, TINY) * np.sqrt(topics), np.inf)
    levels: Floats = np.where(mean > TINY, 2 * stdtr(topics - 1, -t), 1.0)
    return levels


def sign_levels(differences: Floats) -> Floats:
    """Return two-sided levels of the exact sign test on `differences` [pairs, topics]: float64 [pairs]."""
    # SciPy is imported late here, too, because of its time.
    from scipy.special import bdtr  # noqa: PLC0415

    above, below = (np.count_nonzero(side, axis=1) for side in (differences > 0, differences < 0))
    levels: Floats = np.minimum(1.0, 2 * bdtr(np.minimum(above, below).astype(np.float64), above + below, 0.5))
    return levels


def wilcoxon_levels(differences: Floats) -> Floats:
    """Return two-sided levels of the signed-rank test on `differences` [pairs, topics]: float64 [pairs].

    The method is chosen for each pair as SciPy's `wilcoxon` does. Without ties and zeros it is exact for at most 50
    topics. With ties or zeros it goes over all signs for at most 13 topics. Otherwise it is normal. Zeros are left out.
    """
    levels = np.ones(len(differences))
    plain = _is_plain(differences)
    tied = differences.any(axis=1) & ~plain
    if differences.shape[1] > MOST_EXACT:
        levels[plain | tied] = _scipy_wilcoxon(differences[plain | tied], "asymptotic")
        return levels
    levels[plain] = _scipy_wilcoxon(differences[plain], "exact")
    levels[tied] = _tied_wilcoxon(differences[tied])
    return levels


def _is_plain(differences: Floats) -> NDArray[np.bool_]:
    """Return for which pairs no difference is 0 and no two are equal in size: [pairs]."""
    sizes = np.sort(np.abs(differences), axis=1)
    least_step: Floats = np.diff(sizes, axis=1, prepend=0.0).min(axis=1)
    return least_step > 0


def _scipy_wilcoxon(differences: Floats, method: str) -> Floats:
    # SciPy is imported late here, too, because of its time.
    from scipy.stats import wilcoxon  # noqa: PLC0415

    return wilcoxon(differences, axis=1, method=method).pvalue if len(differences) else np.empty(0)


def _tied_wilcoxon(differences: Floats) -> Floats:
    """Return levels over all signs of the ranks, if these are few. SciPy would rank again for each."""
    if differences.shape[1] > MOST_ENUMERATED:
        return _scipy_wilcoxon(differences, "asymptotic")
    # SciPy is imported late here, too, because of its time.
    from scipy.stats import rankdata  # noqa: PLC0415

    zeros = np.count_nonzero(differences == 0, axis=1, keepdims=True)
    signed_ranks = np.sign(differences) * (rankdata(np.abs(differences), axis=1) - zeros)
    every = every_sign(differences.shape[1])
    return as_large(signed_ranks, every) / len(every)


class ClassicalTest(PairwiseTest, PairedTest):
    """A test that uses a known distribution, and draws nothing."""

    @abstractmethod
    def levels(self, differences: Floats) -> Floats:
        """Return levels, float64 [pairs], from differences [pairs, topics]."""

    def decide_pairs(self, scores: Floats, pairs: slice, settings: SignificanceSettings) -> BlockResult:
        parts = pieces(pairs, NUMBERS_AT_ONCE // 4 // scores.shape[1])
        return join_fields([{"asl": self.levels(pair_differences(scores, part))} for part in parts])

    def decide_differences(self, differences: Floats, settings: SignificanceSettings) -> Outcome:
        return Outcome(asl=self.levels(differences))


@register_test
class TTest(ClassicalTest):
    """Student's paired t-test: is the mean of the differences 0, if they are normal?

    Differences that are all equal and not 0 have a level of 0. Differences that are all 0 have a level of 1.
    """

    name = "t-test"
    title = "Paired t-test"
    reference = "Student, The probable error of a mean, Biometrika 6, 1908"

    def seconds(self, topics: int, resamples: int) -> float:
        return topics * 8e-9

    def levels(self, differences: Floats) -> Floats:
        return t_levels(differences)


@register_test
class Wilcoxon(ClassicalTest):
    """The test ranks the differences by their size, and compares the ranks of positive and negative ones.

    Zeros are left out. The level is exact for at most 50 topics without ties and zeros, and for at most 13 topics with
    them. Otherwise it is the normal approximation, corrected for ties.
    """

    name = "wilcoxon"
    title = "Wilcoxon signed-rank test"
    reference = "Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945"

    def seconds(self, topics: int, resamples: int) -> float:
        return topics * 1e-7 + 8e-6

    def levels(self, differences: Floats) -> Floats:
        return wilcoxon_levels(np.round(differences, DECIMALS))


@register_test
class Sign(ClassicalTest):
    """The test counts the topics on which each run is better. It is exact, and ties are left out."""

    name = "sign"
    title = "Sign test"
    reference = "Arbuthnott, An argument for divine providence, Philosophical Transactions 27, 1710"

    def seconds(self, topics: int, resamples: int) -> float:
        return topics * 8e-9

    def levels(self, differences: Floats) -> Floats:
        return sign_levels(np.round(differences, DECIMALS))

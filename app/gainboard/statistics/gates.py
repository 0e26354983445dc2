"""One-sided tests of one mean difference: is the new run worse than the old one, or not worse by more than a margin?

Below `LEAST_FOR_BOOTSTRAP` topics the tests are Student's. From there on, a studentised bootstrap over topics must
agree: each resample is compared by its own t (Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter
12.5), and the larger of both levels counts. Where differences are skewed, Student's t errs too often; where few topics
differ or tails are heavy, the bootstrap does. `tests/proofs/gate.py` shows how often both together do.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from gainboard.statistics.bootstrap import NO_SQUARES
from gainboard.statistics.bootstrap_range import AT_ONCE, affordable_resamples, resamples_of_part
from gainboard.statistics.draws import Floats
from gainboard.statistics.means import TINY, pieces
from gainboard.statistics.multiple_comparisons import NEAR, holm
from gainboard.vocabulary import Combination, Verdict

ALPHA: Final = 0.05
"""The level of each one-sided test."""
LEAST_FOR_BOOTSTRAP: Final = 50
SEED: Final = 0
"""The seed of the resamples: equal scores have equal verdicts."""
_RATIOS_AT_ONCE: Final = 1 << 20


class OneSidedTests(NamedTuple):
    """The tests of several series of differences, float64 [series] each.

    `difference` is the mean, and `low` and `high` are the ends of its one-sided 95 % intervals. `worse` is the level of
    the hypothesis that the true mean is at least 0, `not_worse` that of a true mean of at most -margin. `resamples` is
    None where Student's t decides alone.
    """

    difference: Floats
    low: Floats
    high: Floats
    worse: Floats
    not_worse: Floats
    resamples: int | None


def one_sided_tests(differences: Floats, margins: Floats) -> OneSidedTests:
    """Test `differences` [series, topics], new minus old and better if above 0, each series by itself.

    There are at least two topics, scores are near 1 (see `unit_of`), and `margins` [series] are at least 0. Differences
    that are all equal leave no doubt: their levels are 0 or 1, and both ends are the mean.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415

    topics = differences.shape[1]
    mean = differences.mean(axis=1)
    centred = differences - mean[:, np.newaxis]
    spread = np.sqrt((centred**2).sum(axis=1) / (topics - 1))
    is_constant = spread <= TINY
    error = np.where(is_constant, 1.0, spread) / math.sqrt(topics)
    t, t_of_margin = mean / error, (mean + margins) / error
    worse, not_worse = stdtr(topics - 1, t), stdtr(topics - 1, -t_of_margin)
    highest = np.full(len(mean), stdtrit(topics - 1, 1 - ALPHA))
    lowest, resamples = -highest, None
    if topics >= LEAST_FOR_BOOTSTRAP:
        resamples = affordable_resamples(2, topics)
        shares, ends = _bootstrap(centred, np.stack((t, t_of_margin)), resamples)
        worse, not_worse = np.maximum((worse, not_worse), shares)
        lowest, highest = np.minimum(lowest, ends[0]), np.maximum(highest, ends[1])
    return OneSidedTests(
        mean,
        np.where(is_constant, mean, mean - highest * error),
        np.where(is_constant, mean, mean - lowest * error),
        np.where(is_constant, np.where(mean < -TINY, 0.0, 1.0), worse),
        np.where(is_constant, np.where(mean + margins > TINY, 0.0, 1.0), not_worse),
        resamples,
    )


def _bootstrap(centred: Floats, t: Floats, resamples: int) -> tuple[Floats, Floats]:
    """Return the levels, and the t that a share of `ALPHA` of the resamples is below and above: [2, series] both.

    `t` [2, series] is that of the mean, which is to be low, and that of the mean and the margin, which is to be high.
    Resamples are compared by `sqrt(n) mean / root mean square`, which grows with t and stays finite. A level is (1 +
    count) / (1 + resamples).
    """
    series, topics = centred.shape
    below, above = t * np.sqrt(topics / (t**2 + topics - 1)) + ((NEAR,), (-NEAR,))
    shares, ends = np.empty((2, 2, series))
    reached = math.ceil(ALPHA * (resamples + 1) - 1) - 1
    """The most resamples that may reach a t whose level is below `ALPHA`."""
    for some in pieces(slice(0, series), _RATIOS_AT_ONCE // resamples):
        w, ratios = centred[some], np.empty((some.stop - some.start, resamples))
        for first in range(0, resamples, AT_ONCE):
            counts = resamples_of_part(SEED, first // AT_ONCE, resamples, topics).astype(np.float64)
            # The squares add up to 0 only where no topic differs from the mean: then the sum is 0, too.
            roots = np.sqrt(np.maximum(w**2 @ counts, NO_SQUARES))
            np.divide(w @ counts, roots, out=ratios[:, first : first + AT_ONCE])
        shares[0, some] = np.count_nonzero(ratios <= below[some, np.newaxis], axis=1)
        shares[1, some] = np.count_nonzero(ratios >= above[some, np.newaxis], axis=1)
        ratios.partition((reached, resamples - 1 - reached), axis=1)
        ends[:, some] = ratios[:, (reached, resamples - 1 - reached)].T
    with np.errstate(divide="ignore"):  # a resample without any spread has an infinite t
        ends *= np.sqrt((topics - 1) / np.maximum(topics - ends**2, 0))
    return (1 + shares) / (1 + resamples), ends


def combined_levels(worse: Floats, not_worse: Floats, combination: Combination) -> tuple[Floats, Floats]:
    """Return the levels [metrics] of several metrics, corrected so far as the verdict on all of them needs it.

    "holm" corrects both. With "all", the new run must be not worse under every metric, so no correction is needed for
    that (Berger's intersection-union test), but `worse` under one is enough for the other verdict. "any" is the
    reverse.
    """
    return (worse if combination == "any" else holm(worse), not_worse if combination == "all" else holm(not_worse))


def verdict_of(worse: float, not_worse: float) -> Verdict:
    """Return the verdict from two levels. A run may be worse, and surely by less than the margin: it is not worse."""
    return "not worse" if not_worse < ALPHA else "worse" if worse < ALPHA else "cannot tell"


def verdict_of_all(verdicts: list[Verdict], combination: Combination) -> Verdict:
    """Return the verdict on all metrics together. With "any", one under which the new run is not worse decides."""
    decisive: Verdict = "not worse" if combination == "any" else "worse"
    if decisive in verdicts:
        return decisive
    return verdicts[0] if len(set(verdicts)) == 1 else "cannot tell"

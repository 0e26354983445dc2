"""Effect sizes: how much two runs differ, not only whether they do; and whether they differ by less than a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.means import TINY, mean_intervals
from gainboard.statistics.pairs import NUMBERS_AT_ONCE, pair_count, pair_differences, pieces


@dataclass(frozen=True)
class Effects:
    """The effects of all pairs, float64 [pairs] each.

    `difference` is the mean difference. `size` is the same in standard deviations, NaN if there is no spread. `low` and
    `high` are the ends of the 95 % interval of the mean difference.
    """

    difference: Floats
    size: Floats
    low: Floats
    high: Floats


def paired_effects(scores: Floats, numbers: Indices | None = None) -> Effects:
    """Return the effects of all pairs of `scores` [runs, topics], or of the pairs with these numbers, intp [pairs].

    Sizes are in standard deviations of the pair's differences.

    The interval is Student's, with topics - 1 degrees of freedom (Sakai, Statistical reform in information retrieval?,
    SIGIR Forum, 2014).
    """
    runs, topics = scores.shape
    wanted = np.arange(pair_count(runs)) if numbers is None else numbers
    blocks = pieces(slice(0, len(wanted)), NUMBERS_AT_ONCE // 4 // topics)
    parts = [_paired(pair_differences(scores, wanted[block])) for block in blocks]
    return Effects(*np.concatenate(parts, axis=-1)) if parts else Effects(*np.empty((4, 0)))


def effects_of(differences: Floats) -> Effects:
    """Return the effects of pairs with these `differences`, float64 [pairs, topics], as `paired_effects` does."""
    return Effects(*_paired(differences))


def residual_effects(scores: Floats, numbers: Indices | None = None) -> Effects:
    """Return the same as `paired_effects`, with sizes in residual standard deviations of all runs and topics together.

    The residuals are those of the two-way analysis of variance without replication, with (runs - 1) * (topics - 1)
    degrees of freedom: the effect size that belongs to Tukey's HSD.
    """
    paired = paired_effects(scores, numbers)
    rows, columns = scores.mean(axis=1, keepdims=True), scores.mean(axis=0)
    residuals = scores - rows - columns + scores.mean()
    spread = np.sqrt((residuals**2).sum() / max(1, (len(rows) - 1) * (len(columns) - 1)))
    size = paired.difference / spread if spread > TINY else np.full_like(paired.difference, np.nan)
    return Effects(paired.difference, size, paired.low, paired.high)


def _paired(differences: Floats) -> Floats:
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    low, high = mean_intervals(differences)
    size = mean / np.where(spread > TINY, spread, np.nan)
    return np.stack((mean, size, low, high))


def tost_levels(differences: Floats, margin: float) -> Floats:
    """Return the levels of the paired TOST on `differences` [pairs, topics], at least two topics: float64 [pairs].

    The hypothesis is that the mean difference is at least `margin` > 0 in size, in the units of the metric. The level
    is the larger one of two one-sided t-tests, against -margin and against +margin (Schuirmann, A comparison of the two
    one-sided tests procedure and the power approach, J. Pharmacokinetics and Biopharmaceutics 15, 1987). Without any
    spread, the level is 0 if the difference is smaller than the margin, and else 1. It is NaN if no topic differs: such
    runs may be one run, about whose differences nothing is known.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtr  # noqa: PLC0415

    topics = differences.shape[1]
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    error = np.where(spread > TINY, spread, np.nan) / np.sqrt(topics)
    above, below = stdtr(topics - 1, -(mean + margin) / error), stdtr(topics - 1, (mean - margin) / error)
    certain = np.where(np.abs(mean) < margin - TINY, 0.0, 1.0)
    certain[np.abs(differences).max(axis=1) <= TINY] = np.nan
    levels: Floats = np.where(spread > TINY, np.maximum(above, below), certain)
    return levels

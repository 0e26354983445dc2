"""Boards under two judges, changes of levels, and runs that resemble a judge's order.

A board is a score matrix, float64 [runs, topics], without NaN; two boards have the same runs and topics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.agreement import correlations
from gainboard.statistics.classical import t_levels
from gainboard.statistics.draws import Floats
from gainboard.statistics.means import competition_ranks, round_scores
from gainboard.statistics.multiple_comparisons import holm

ALPHA: Final = 0.05
PERSISTENCE: Final = 0.9


def with_interval(value: Floats, resampled: Floats, topics: int) -> Floats:
    """Return values [...] with the ends of their 95 % intervals, [..., 3], from `resampled` [resamples, ...].

    Resamples of few topics vary too little, so the percentiles are further out: those of a mean are as wide as by
    Student's t (Hesterberg, What teachers should know about the bootstrap, American Statistician 69, 2015). An interval
    is NaN if a value is undefined in a resample. `topics` is at least 2.
    """
    from scipy.special import ndtr, stdtrit  # noqa: PLC0415

    tail = 100 * float(ndtr(math.sqrt(topics / (topics - 1)) * stdtrit(topics - 1, 0.025)))
    low, high = np.percentile(resampled, (tail, 100 - tail), axis=0, method="inverted_cdf")
    return round_scores(np.stack((value, low, high), axis=-1)) + 0.0  # no negative zero


def compare_boards(
    trusted: Floats, judged: Floats, counts: Floats, groups: NDArray[np.bool_]
) -> Mapping[str, NDArray[Any]]:
    """Return a trusted judge's board beside that of another judge. What has an interval is float64 [..., 3].

    - `tau`, `tau_ap`, `rbo` [3]: correlations, the last with a persistence of 0.9.
    - `mean_trusted`, `mean`, `rank_trusted`, `rank` [runs], and `rise` [runs, 3]: the ranks that each run gains.
    - `shift` [runs, 3]: how much more its mean grows than that of the average run. `asl` [runs] are the levels of the
      shifts by the paired t-test, corrected for all runs (Holm).
    - `group_rise`, `group_shift`, `group_asl`: the same of each group minus the other runs.

    `counts` [resamples, topics] are the resamples. Each of `groups` [groups, runs] has some of the runs, and not all.
    """
    topics, both = trusted.shape[1], np.stack((trusted, judged))
    means, drawn = both.mean(axis=-1), counts @ both.transpose(0, 2, 1) / topics
    ranks = np.array([competition_ranks(row) for row in means])
    drawn_ranks = np.array([[competition_ranks(row) for row in board] for board in drawn])
    rises, drawn_rises = ranks[0] - ranks[1], drawn_ranks[0] - drawn_ranks[1]
    by_topic = judged - trusted - (judged - trusted).mean(axis=0)
    shifts, drawn_shifts = by_topic.mean(axis=1), counts @ by_topic.T / topics
    resampled = [correlations(drawn[:, row], PERSISTENCE) for row in range(len(counts))]
    # A group's mean minus that of all others.
    weights = groups / groups.sum(axis=1, keepdims=True) - ~groups / (~groups).sum(axis=1, keepdims=True)
    return {
        **{
            name: with_interval(np.array(value), np.array([of[name] for of in resampled]), topics)
            for name, value in correlations(means, PERSISTENCE).items()
        },
        **{"mean_trusted": means[0], "mean": means[1], "rank_trusted": ranks[0], "rank": ranks[1]},
        "rise": with_interval(rises, drawn_rises, topics),
        "shift": with_interval(shifts, drawn_shifts, topics),
        "asl": holm(t_levels(by_topic)),
        "group_rise": with_interval(weights @ rises, drawn_rises @ weights.T, topics),
        "group_shift": with_interval(weights @ shifts, drawn_shifts @ weights.T, topics),
        "group_asl": holm(t_levels(weights @ by_topic)),
    }


def mcnemar_level(up: int, down: int) -> float:
    """Return the level of McNemar's exact test of two changes, each of which is as likely as the other."""
    from scipy.special import bdtr  # noqa: PLC0415

    return min(1.0, 2 * float(bdtr(min(up, down), up + down, 0.5)))


def bowker_level(table: Floats) -> float:
    """Return the level of Bowker's test of symmetry, by chi-square, from counts [levels, levels] (JASA 43, 1948).

    The statistic sums (b - c)^2 / (b + c) over the pairs of levels with b + c > 0 changes. Without any, the level is 1.
    """
    from scipy.special import chdtrc  # noqa: PLC0415

    upper, lower = np.triu(table, 1), np.tril(table, -1).T
    freedom = np.count_nonzero(upper + lower)
    statistic = ((upper - lower) ** 2 / np.maximum(upper + lower, 1)).sum()
    return float(chdtrc(freedom, statistic)) if freedom else 1.0


def order_agreement(starts: NDArray[np.int64], level: NDArray[np.int8], levels: int) -> Floats:
    """Return how far the order of a run's documents is that of their levels, by topic: float64 [topics] in -1 .. 1.

    It is Goodman and Kruskal's gamma: of the pairs of documents with different levels, the share that has the higher
    level first, minus the share that has it last. It is 0 for a random order whatever the levels are, and NaN without
    such a pair. Topic t has the rows from starts[t] to starts[t + 1], by rank, of `level` int8 [rows].
    """
    # What stands before each document is enough: of pairs of documents, there are millions.
    before = np.vstack((np.zeros(levels), (level[:, np.newaxis] == np.arange(levels)).cumsum(axis=0)))
    topic = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    earlier = before[:-1] - before[starts[topic]]
    higher, lower = (
        np.bincount(topic, (earlier * is_such).sum(axis=1), len(starts) - 1)
        for is_such in (np.arange(levels) > level[:, np.newaxis], np.arange(levels) < level[:, np.newaxis])
    )
    return np.asarray((higher - lower) / np.where(higher + lower > 0, higher + lower, np.nan))


def compare_orders(trusted: Floats, judged: Floats) -> Mapping[str, NDArray[Any]]:
    """Return how near the order of each run is to the levels of two judges, from `order_agreement` [runs, topics].

    `near_trusted` and `near_judge` [runs] are means over the topics that have both, NaN for fewer than two, `near_asl`
    the levels of the difference by the paired t-test, corrected for all runs (Holm). A run is `suspicious` if it is
    significantly nearer to the judge.
    """
    near, levels = np.full((2, len(trusted)), np.nan), np.full(len(trusted), np.nan)
    for run, both in enumerate(np.stack((trusted, judged), axis=1)):
        defined = both[:, ~np.isnan(both).any(axis=0)]
        if defined.shape[1] > 1:
            near[:, run], levels[run] = defined.mean(axis=1), t_levels(np.diff(defined, axis=0))[0]
    levels = holm(levels)
    suspicious = (near[1] > near[0]) & (levels < ALPHA)
    return {"near_trusted": near[0], "near_judge": near[1], "near_asl": levels, "suspicious": suspicious}

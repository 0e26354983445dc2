"""The agreement of two metrics, two rankings or two runs: on pairs of runs, the top places and whole rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.correlation import kendall_matrix, rbo_matrix, tau_ap_matrix
from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.means import competition_ranks, pair_differences, pair_indices, pair_pieces, round_scores
from gainboard.vocabulary import DECIMALS

Values = Floats | NDArray[np.int64]
AGREEMENTS: Final = ("sign-minority", "sign-swap", "minority-swap")


class DiscordantPairs(NamedTuple):
    """Pairs of runs that two metrics order differently, which results call swops.

    `pairs` intp [swops, 2] holds runs i < j; `half_ties` counts the pairs that only one of the metrics ties.
    """

    pairs: Indices
    half_ties: int


def discordant_pairs(first: Floats, second: Floats) -> DiscordantPairs:
    """Return the pairs of runs whose means, float64 [runs] by each of two metrics, differ in opposite directions."""
    signs = np.sign(pair_differences(round_scores(np.stack((first, second), axis=1))))
    product = signs[:, 0] * signs[:, 1]
    opposite = np.stack(pair_indices(len(first)), axis=1)[product < 0]
    return DiscordantPairs(opposite, int(((product == 0) & signs.any(axis=1)).sum()))


def list_agreement(first: Values, second: Values) -> float:
    """Return Kendall's tau-b between two lists of values of the same pairs of runs; NaN if one list is constant.

    Values are equal if they agree to 12 digits, so that rounding errors do not decide about ties.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.stats import kendalltau  # noqa: PLC0415

    return float(kendalltau(_digits(first), _digits(second)).statistic)


def agreements(asl: Floats, minority: Values, swaps: Values) -> Mapping[str, float]:
    """Return `list_agreement` for each two of three lists: ASLs of the sign test, min(GT, LT), and swaps over all bins.

    They show whether the sign test, the minority rate and the swap rate agree on which pairs differ most clearly.
    """
    pairs = ((asl, minority), (asl, swaps), (minority, swaps))
    return {name: list_agreement(*pair) for name, pair in zip(AGREEMENTS, pairs, strict=True)}


def _digits(values: Values) -> Floats:
    # Significant digits, not decimals: levels may be far below 1e-12.
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    return np.asarray(np.ldexp(np.round(mantissa, DECIMALS), exponent))


CLASSES = ("AA", "MA", "PA", "AD", "MD", "PD", "tie")
"""The classes of a pair of runs under two metrics.

A pair is active (A) if its difference is significant under both metrics, mixed (M) if under one, passive (P) if under
none. The second letter says whether the metrics agree (A) or disagree (D) on the better run. A tie is equal under a
metric.
"""
Counts = NDArray[np.int64]


def concordance_counts(means: Floats, significant: NDArray[np.bool_]) -> Counts:
    """Return the number of pairs of runs in each class, for each two metrics: int64 [metrics, metrics, classes].

    `means` is float64 [metrics, runs] without NaN, and rounded before they are compared; `significant` is bool
    [metrics, pairs]. The classes are those of Moffat, Scholer and Thomas (Models and metrics: IR evaluation as a user
    process, ADCS 2012).
    """
    metrics, runs = means.shape
    by_run = np.ascontiguousarray(round_scores(means).T)
    first, second = pair_indices(runs)
    total = np.zeros((metrics, metrics, len(CLASSES)))
    for piece in pair_pieces(runs, metrics):
        signs, is_active = np.sign(by_run[first[piece]] - by_run[second[piece]]), significant[:, piece].T
        active, passive = np.where(is_active, signs, 0.0), np.where(is_active, 0.0, signs)
        mixed = _compare_signs(active, passive) + _compare_signs(passive, active)
        by_class = (_compare_signs(active, active), mixed, _compare_signs(passive, passive))
        agreeing, opposite = np.stack(by_class, axis=1)
        ties = len(signs) - np.abs(signs).T @ np.abs(signs)
        total += np.stack((*agreeing, *opposite, ties), axis=-1)
    return total.astype(np.int64)


def _compare_signs(first: Floats, second: Floats) -> Floats:
    """Return how often the signs of each two metrics are equal, and how often opposite, where neither is 0."""
    difference, either = first.T @ second, np.abs(first).T @ np.abs(second)
    return np.stack((either + difference, either - difference)) / 2


def consistency(counts: Counts) -> Floats:
    """Return the share of active agreements among the pairs that a metric at least finds significant: float64 [...].

    `counts` is int64 [..., classes]: AA / (AA + AD + MA + MD), NaN if no pair is significant.
    """
    by_class = dict(zip(CLASSES, np.moveaxis(counts, -1, 0), strict=True))
    total = by_class["AA"] + by_class["AD"] + by_class["MA"] + by_class["MD"]
    return np.asarray(by_class["AA"] / np.where(total > 0, total, np.nan))


Marks = NDArray[np.uint64]
TOPICS_PER_DIFFERENCE: Final = 10
"""A near-duplicate may differ on one topic in so many."""
NONE: Final = -1


def repeated_runs(marks: Marks) -> Indices:
    """Return the earlier run that each run nearly repeats, or `NONE`: intp [runs].

    `marks` is uint64 [runs, topics]: rankings of a topic are alike if their marks are equal, and empty if they are 0.
    Topics on which both runs are empty do not count. Of the others, two runs may differ on at most one in
    `TOPICS_PER_DIFFERENCE`, and there must be some. Of several such runs, the result has the one that differs on the
    fewest topics, and of these the first.
    """
    runs, topics = marks.shape
    # Two such runs agree on all topics of at least one part, if there are more parts than topics on which they differ.
    bounds = np.linspace(0, topics, topics // TOPICS_PER_DIFFERENCE + 1, endpoint=False).astype(np.intp)
    # Sums of marks may collide or wrap around, which costs only a comparison of the runs below.
    parts = np.add.reduceat(marks, bounds, axis=1) if topics else marks
    repeated = np.full(runs, NONE, dtype=np.intp)
    for run in range(1, runs):
        alike = np.flatnonzero((parts[:run] == parts[run]).any(axis=1))
        if not len(alike):
            continue
        differing = (marks[alike] != marks[run]).sum(axis=1)
        counted = ((marks[alike] != 0) | (marks[run] != 0)).sum(axis=1)
        is_near = (counted > 0) & (differing * TOPICS_PER_DIFFERENCE <= counted)
        if is_near.any():
            repeated[run] = alike[np.argmin(np.where(is_near, differing, topics + 1))]
    return repeated


class TopAgreement(NamedTuple):
    """The agreement of the first k places of two rankings.

    `tau` is over the first ranking's top, and `tau_union` over the runs in either top. `overlap` is the share of the
    first ranking's top that is in the other top as well.
    """

    k: int
    tau: float
    overlap: float
    tau_union: float
    union: Indices


def correlations(means: Floats, p: float) -> dict[str, float]:
    """Return tau-b, tau_ap (b) and RBO (b) of two rankings, from `means` float64 [2, runs] without NaN.

    The taus are NaN if one ranking ties all runs.
    """
    return {
        "tau": float(kendall_matrix(means)[0, 1]),
        "tau_ap": float(tau_ap_matrix(means, "b")[0, 1]),
        "rbo": float(rbo_matrix(means, p)[0, 1]),
    }


def top_agreement(means: Floats, name_order: Indices, k: int) -> TopAgreement:
    """Return the agreement of the first k places of two rankings, `means` float64 [2, runs]; ties go by name."""
    k = min(k, means.shape[1])
    first, second = (np.lexsort((name_order, -row))[:k] for row in round_scores(means))
    union = np.union1d(first, second)
    return TopAgreement(
        k,
        float(kendall_matrix(means[:, first])[0, 1]) if k > 1 else float("nan"),
        len(np.intersect1d(first, second)) / k,
        float(kendall_matrix(means[:, union])[0, 1]) if len(union) > 1 else float("nan"),
        union,
    )


def rank_changes(means: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ranks of runs by two means, int64 [2, runs], and by how many places each run rises: int64 [runs]."""
    ranks = np.array([competition_ranks(row) for row in means])
    return ranks, ranks[0] - ranks[1]

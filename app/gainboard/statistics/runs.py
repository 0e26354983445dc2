"""Several runs at once: near-duplicates, and two rankings of the same runs."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.correlation import kendall_matrix
from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.means import competition_ranks, round_means
from gainboard.statistics.top_weighted import rbo_matrix, tau_ap_matrix

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
    found = np.full(runs, NONE, dtype=np.intp)
    for run in range(1, runs):
        alike = np.flatnonzero((parts[:run] == parts[run]).any(axis=1))
        if not len(alike):
            continue
        differing = (marks[alike] != marks[run]).sum(axis=1)
        counted = ((marks[alike] != 0) | (marks[run] != 0)).sum(axis=1)
        is_near = (counted > 0) & (differing * TOPICS_PER_DIFFERENCE <= counted)
        if is_near.any():
            found[run] = alike[np.argmin(np.where(is_near, differing, topics + 1))]
    return found


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
    """Return tau-b, tau_ap (b) and RBO of two rankings, from `means` float64 [2, runs] without NaN.

    NaN where a coefficient is undefined: the taus if one ranking ties all runs, RBO if one ties any.
    """
    return {
        "tau": float(kendall_matrix(means)[0, 1]),
        "tau_ap": float(tau_ap_matrix(means, "b")[0, 1]),
        "rbo": float(rbo_matrix(means, p)[0, 1]),
    }


def top_agreement(means: Floats, name_order: Indices, k: int) -> TopAgreement:
    """Return the agreement of the first k places of two rankings, `means` float64 [2, runs]; ties go by name."""
    k = min(k, means.shape[1])
    first, second = (np.lexsort((name_order, -row))[:k] for row in round_means(means))
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

"""Two rankings of the same runs: coefficients of correlation, the top of both, and the runs that move most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.correlation import kendall_matrix
from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.means import competition_ranks, round_means
from gainboard.statistics.top_weighted import rbo_matrix, tau_ap_matrix


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

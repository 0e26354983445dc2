"""Judging: pools of documents that runs propose for it, and the agreement of the judges who give them labels.

A pool of depth d has, for each topic, the documents that the pooled runs have at ranks up to d. Functions of pools are
about one topic, whose documents are numbered from 0 in byte order of their ids.

Two judges are compared by tables of counts, [levels, levels]: a row for each level of the reference, a column for each
level of the other judge. Functions take any number of tables, [..., levels, levels], such as those of resamples.
Undefined values are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Draws, Floats, Indices

Numbers = NDArray[np.int64]
PoolOrder = Literal["ntcir", "document", "random", "rrf"]
RRF_K: Final = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


class PooledDocuments(NamedTuple):
    """The counts of each document in the pooled runs: arrays [documents].

    `runs` int64 is the number of runs that have it within the depth, `rank_sum` int64 the sum of its ranks in these,
    `best_rank` int64 the smallest of them, and `fused` float64 the sum of 1 / (60 + rank).
    """

    runs: Numbers
    rank_sum: Numbers
    best_rank: Numbers
    fused: Floats


def count_documents(document: Numbers, rank: Numbers, documents: int) -> PooledDocuments:
    """Count what runs have: `document` and `rank` int64 [found], each document at most once a run."""
    # In order of rank, so that equal ranks add up to equal bits whatever the order of the runs is: ids break such ties.
    by_rank = np.argsort(rank, kind="stable")
    document, rank = document[by_rank], rank[by_rank]
    best = np.zeros(documents, np.int64)
    best[document[::-1]] = rank[::-1]  # of several values for one place, the last one stays
    runs = np.bincount(document, minlength=documents)
    rank_sum = np.bincount(document, weights=rank, minlength=documents)  # exact below 2**53
    fused = np.asarray(np.bincount(document, weights=1 / (RRF_K + rank), minlength=documents), np.float64)
    return PooledDocuments(runs, rank_sum.astype(np.int64), best, fused)


def order_documents(pooled: PooledDocuments, order: PoolOrder, draws: Draws) -> Indices:
    """Return the numbers of the documents in an order of judging: intp [documents]. Ties are broken by number.

    - `ntcir`: most runs first, then the least sum of ranks (NTCIRPOOL; Sakai, Tao and Zeng, TOIS 2022).
    - `rrf`: the highest reciprocal rank fusion first.
    - `document`: by number, as TREC's pools are.
    - `random`: a permutation that `draws` draws.
    """
    if order == "random" and len(pooled.runs):
        permutation: Indices = draws.permutations(1, 1, len(pooled.runs))[0, 0]
        return permutation
    if order == "ntcir":
        return np.lexsort((pooled.rank_sum, -pooled.runs))
    return np.argsort(-pooled.fused, kind="stable") if order == "rrf" else np.arange(len(pooled.runs))


def take_turns(sizes: Numbers, budget: int) -> Numbers:
    """Return how many documents of each topic fit into a budget for all topics, which take turns: int64 [topics].

    Each topic gives its next document in turn, first topic first, until the budget is spent or nothing is left.
    """
    low, high = 0, int(sizes.max(initial=0))
    while low < high:  # the most whole rounds that the budget pays for
        rounds = (low + high + 1) // 2
        low, high = (rounds, high) if np.minimum(sizes, rounds).sum() <= budget else (low, rounds - 1)
    taken = np.minimum(sizes, low)
    waiting = np.flatnonzero(sizes > low)[: max(budget - int(taken.sum()), 0)]
    taken[waiting] += 1
    return taken


class TeamRanks(NamedTuple):
    """The best rank of each document in the runs of each team that has it: int64 [pairs] each."""

    document: Numbers
    team: Numbers
    rank: Numbers

    @classmethod
    def of(cls, document: Numbers, team: Numbers, rank: Numbers) -> TeamRanks:
        """Keep the best of the ranks that a document has in the runs of one team: int64 [found] each."""
        order = np.lexsort((rank, team, document))
        document, team, rank = document[order], team[order], rank[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (document[1:] != document[:-1]) | (team[1:] != team[:-1])
        return cls(document[is_first], team[is_first], rank[is_first])

    def within(self, depth: int, kept: NDArray[np.bool_]) -> TeamRanks:
        """Return those at ranks up to `depth`, of the documents that are `kept`: bool [documents]."""
        chosen = (self.rank <= depth) & kept[self.document]
        return TeamRanks(self.document[chosen], self.team[chosen], self.rank[chosen])

    def teams(self, documents: int) -> Numbers:
        """Return how many teams have each document: int64 [documents]."""
        return np.bincount(self.document, minlength=documents)

    def contributed(self, teams: int) -> tuple[Numbers, Numbers]:
        """Return how many documents each team has, and how many of them no other team has: int64 [teams] each."""
        alone = self.teams(int(self.document.max(initial=-1)) + 1)[self.document] == 1
        return np.bincount(self.team, minlength=teams), np.bincount(self.team[alone], minlength=teams)


NOBODY, SEVERAL = -1, -2
"""The owner of a document that no team has pooled, and of one that several teams have."""


def judged_depth(starts: Numbers, rank: NDArray[np.integer], retrieved: Numbers) -> int | None:
    """Return the largest depth to which all documents of a run are judged, on every topic; None for any depth.

    The arrays are those of a judged run: topic t has the ranks of its judged documents, ascending, from starts[t] to
    starts[t + 1], and `retrieved` [topics] documents in all. A topic whose documents are all judged sets no bound.
    """
    topic = np.repeat(np.arange(len(retrieved)), np.diff(starts))
    position = np.arange(len(rank)) - starts[topic] + 1
    # The k-th judged document is at rank k as long as none before it is unjudged.
    leading = np.bincount(topic[rank == position], minlength=len(retrieved))
    bounded = leading[leading < retrieved]
    return int(bounded.min()) if len(bounded) else None


def sole_owners(document: Numbers, team: Numbers, documents: int) -> Numbers:
    """Return the only team that has pooled each document, NOBODY or SEVERAL: int64 [documents].

    `document` and `team` are int64 [pooled]: which document is in whose pool, with any repetitions.
    """
    pairs = np.unique(np.stack((document, team)), axis=1)
    counts = np.bincount(pairs[0], minlength=documents)
    owners = np.full(documents, NOBODY, np.int64)
    owners[pairs[0]] = pairs[1]
    owners[counts > 1] = SEVERAL
    return owners


Weighting = Literal["unweighted", "linear", "quadratic"]
Measurement = Literal["nominal", "ordinal", "interval"]
MEASUREMENTS: Final[tuple[Measurement, ...]] = ("nominal", "ordinal", "interval")
RETRIEVAL: Final = ("precision", "recall", "f1", "jaccard")
PERCENTILES: Final = (2.5, 97.5)
UNJUDGED: Final = -1
"""The value of a document that a judge has not judged."""


def cohen_kappa(tables: Floats, weighting: Weighting = "unweighted") -> Floats:
    """Return Cohen's kappa, float64 [...]: 1 minus observed over expected disagreement.

    The weight of a disagreement is 1, or the difference of the two levels, or its square (Cohen, Weighted kappa,
    Psychological Bulletin, 1968). It is NaN if no disagreement is expected: both judges give one and the same level.
    """
    difference = np.abs(np.subtract.outer(*[np.arange(tables.shape[-1])] * 2)).astype(np.float64)
    weights = {"unweighted": (difference > 0).astype(np.float64), "linear": difference, "quadratic": difference**2}
    weight = weights[weighting]
    # Products of whole numbers are exact, so a judge who gives one level has a kappa of exactly 0.
    observed = (tables * weight).sum(axis=(-2, -1)) * tables.sum(axis=(-2, -1))
    expected = ((tables.sum(axis=-1)[..., :, np.newaxis] * tables.sum(axis=-2)[..., np.newaxis, :]) * weight).sum(
        axis=(-2, -1)
    )
    return np.asarray(1 - _share(observed, expected))


def at_threshold(tables: Floats, threshold: int) -> Floats:
    """Return the tables of two levels: below the threshold, and at it or above: float64 [..., 2, 2]."""
    lowest = np.array([0, threshold])
    return np.asarray(np.add.reduceat(np.add.reduceat(tables, lowest, axis=-2), lowest, axis=-1))


def label_agreement(tables: Floats, threshold: int) -> Mapping[str, Floats]:
    """Return agreement, kappas, shares of relevant documents, and bias: float64 [...] each.

    The bias is the mean of the judge's level minus the reference's, so it is positive for a lenient judge.
    """
    binary = at_threshold(tables, threshold)
    total = tables.sum(axis=(-2, -1))
    return {
        "agreement": _share(np.trace(tables, axis1=-2, axis2=-1), total),
        "kappa": cohen_kappa(binary),
        "kappa_linear": cohen_kappa(tables, "linear"),
        "kappa_quadratic": cohen_kappa(tables, "quadratic"),
        "relevant_reference": _share(binary[..., 1, :].sum(axis=-1), total),
        "relevant": _share(binary[..., :, 1].sum(axis=-1), total),
        "bias": _share((tables * _differences(tables.shape[-1])).sum(axis=(-2, -1)), total),
    }


def bias_by_level(tables: Floats) -> Floats:
    """Return the bias for the documents of each level of the reference: float64 [..., levels]."""
    return _share((tables * _differences(tables.shape[-1])).sum(axis=-1), tables.sum(axis=-1))


def spread_of_differences(table: Floats) -> float:
    """Return the standard deviation (n - 1) of the differences of levels in one table; NaN for fewer than two."""
    count = table.sum()
    if count < 2:
        return float("nan")
    differences = _differences(len(table))
    mean = (table * differences).sum() / count
    return float(np.sqrt((table * (differences - mean) ** 2).sum() / (count - 1)))


def retrieval_agreement(tables: Floats, threshold: int) -> Mapping[str, Floats]:
    """Return how the judge's relevant documents find those of the reference, by `RETRIEVAL`: float64 [...] each.

    Precision is NaN if the judge finds nothing relevant, recall if the reference does, F1 and Jaccard if both do.
    """
    binary = at_threshold(tables, threshold)
    both, relevant = binary[..., 1, 1], binary[..., :, 1].sum(axis=-1)
    by_reference = binary[..., 1, :].sum(axis=-1)
    return {
        "precision": _share(both, relevant),
        "recall": _share(both, by_reference),
        "f1": _share(2 * both, relevant + by_reference),
        "jaccard": _share(both, relevant + by_reference - both),
    }


def macro_means(by_topic: Floats, counts: Floats | None = None) -> Floats:
    """Return the mean over the topics with a value, float64 [...]; NaN if there is none.

    `by_topic` is float64 [topics]. `counts` [..., topics] says how often each topic counts; once if it is None.
    """
    counts = np.ones_like(by_topic) if counts is None else counts
    is_defined = ~np.isnan(by_topic)
    return _share(counts @ np.where(is_defined, by_topic, 0.0), counts @ is_defined.astype(np.float64))


def coincidences(values: NDArray[np.int8], levels: int) -> Floats:
    """Return Krippendorff's coincidence matrix, float64 [levels, levels], of units that several judges have judged.

    `values` is int8 [units, judges], `UNJUDGED` where a judge has no level. A unit with fewer than two counts nothing.
    """
    counts = np.zeros((levels, levels))
    judged = values != UNJUDGED
    weight = 1 / np.maximum(judged.sum(axis=1) - 1, 1)
    for one in range(values.shape[1]):
        for other in range(values.shape[1]):
            if one != other:
                both = judged[:, one] & judged[:, other]
                np.add.at(counts, (values[both, one], values[both, other]), weight[both])
    return counts


def krippendorff_alpha(matrices: Floats, measurement: Measurement) -> Floats:
    """Return Krippendorff's alpha, float64 [...], from coincidence matrices float64 [..., levels, levels].

    It is NaN if no disagreement is expected, because all values are equal (Krippendorff, Content analysis, 2004).
    """
    values = matrices.sum(axis=-1)
    total = values.sum(axis=-1)
    levels = values.shape[-1]
    if measurement == "nominal":
        weight = 1 - np.eye(levels)
    elif measurement == "interval":
        weight = _differences(levels) ** 2
    else:
        # The values between two levels, with half of the values at each of them.
        middle = np.cumsum(values, axis=-1) - values / 2
        weight = np.asarray((middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2)
    pairs = values[..., :, np.newaxis] * values[..., np.newaxis, :]
    expected = (pairs * weight).sum(axis=(-2, -1))
    observed = (matrices * weight).sum(axis=(-2, -1)) * (total - 1)
    return np.asarray(1 - _share(observed, expected))


def percentile_interval(estimates: Floats) -> Floats:
    """Return the 2.5th and 97.5th percentiles of estimates [resamples] over resamples: float64 [2].

    Undefined estimates are left out; both ends are NaN if all are undefined.
    """
    defined = estimates[~np.isnan(estimates)]
    if not len(defined):
        return np.full(2, np.nan)
    return np.asarray(np.percentile(defined, PERCENTILES, method="inverted_cdf"))


def _differences(levels: int) -> Floats:
    return np.subtract.outer(*[np.arange(levels)] * 2).T.astype(np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.asarray(part / np.where(whole > 0, whole, np.nan))

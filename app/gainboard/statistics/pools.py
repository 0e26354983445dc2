"""Pools: the documents that runs propose for judging, in the order of judging, and what each team gives to them.

A pool of depth d has, for each topic, the documents that the pooled runs have at ranks up to d. All functions are about
one topic, whose documents are numbered from 0 in byte order of their ids.
"""

from __future__ import annotations

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


def order_documents(found: PooledDocuments, order: PoolOrder, draws: Draws) -> Indices:
    """Return the numbers of the documents in an order of judging: intp [documents]. Ties are broken by number.

    - `ntcir`: most runs first, then the least sum of ranks (NTCIRPOOL; Sakai, Tao and Zeng, TOIS 2022).
    - `rrf`: the highest reciprocal rank fusion first.
    - `document`: by number, as TREC's pools are.
    - `random`: a permutation that `draws` draws.
    """
    if order == "random" and len(found.runs):
        permutation: Indices = draws.permutations(1, 1, len(found.runs))[0, 0]
        return permutation
    if order == "ntcir":
        return np.lexsort((found.rank_sum, -found.runs))
    return np.argsort(-found.fused, kind="stable") if order == "rrf" else np.arange(len(found.runs))


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
    place = np.arange(len(rank)) - starts[topic] + 1
    # The k-th judged document is at rank k as long as none before it is unjudged.
    leading = np.bincount(topic[rank == place], minlength=len(retrieved))
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

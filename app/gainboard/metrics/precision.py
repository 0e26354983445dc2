"""Metrics of binary relevance."""

from __future__ import annotations

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import Cutoff, Rank, RecallBase
from gainboard.metrics.values import Space, Value, minimum, spread
from gainboard.metrics.views import BinaryRankings


def recall_divisor(rankings: BinaryRankings, recall_base: str, cutoff: Cutoff) -> Value:
    """Return the divisor of a sum over relevant documents: R, or min(l, R) for recall base "cutoff" and a cut-off l."""
    if recall_base == "cutoff" and cutoff is not None:
        return minimum(rankings.relevant_count, cutoff)
    return rankings.relevant_count


@metric(
    "AP",
    aliases=["AveP", "map", "map_cut_l", "gm_map(mean=geometric)"],
    title="Average Precision",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
)
def average_precision(
    rankings: BinaryRankings, *, recall_base: RecallBase = "relevant", cutoff: Cutoff = None
) -> Value:
    """Average Precision is the precision at each relevant document retrieved, averaged over all relevant documents."""
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.count / found.rank) / recall_divisor(rankings, recall_base, cutoff)


@metric(
    "Rprec",
    aliases=["R-Prec"],
    title="R-Precision",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
)
def r_precision(rankings: BinaryRankings) -> Value:
    """R-Precision is the precision at rank R, where R is the number of relevant documents of the topic."""
    return rankings.relevant(upto=rankings.relevant_count).number / rankings.relevant_count


@metric(
    "P",
    aliases=["PDoc", "P_l"],
    title="Precision at a document cut-off",
    reference="van Rijsbergen, Information Retrieval, 1979",
)
def precision(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """P@l is the share of the first l ranks with a relevant document.

    If the ranking has fewer than l documents, the missing ranks count as nonrelevant.
    """
    return rankings.relevant(upto=cutoff).number / cutoff


@metric(
    "Recall",
    aliases=["recall_l"],
    title="Recall at a document cut-off",
    reference="van Rijsbergen, Information Retrieval, 1979",
)
def recall(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """Recall@l is the share of the relevant documents that are among the first l documents retrieved."""
    return rankings.relevant(upto=cutoff).number / rankings.relevant_count


@metric(
    "Success",
    aliases=["success_l"],
    title="Success at a document cut-off",
    reference="Craswell and Hawking, Overview of the TREC 2004 Web track, 2004 (S@l)",
)
def success(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """Success@l is 1 if a relevant document is among the first l documents retrieved, else 0."""
    return rankings.relevant(upto=cutoff).at_first(spread(1.0, Space.ROW))


@metric(
    "RR",
    aliases=["recip_rank", "MRR"],
    title="Reciprocal Rank",
    reference="Voorhees, The TREC-8 question answering track report, TREC-8, 1999",
)
def reciprocal_rank(rankings: BinaryRankings, *, cutoff: Cutoff = None) -> Value:
    """Reciprocal Rank is one over the rank of the first relevant document, or 0 if none is retrieved."""
    found = rankings.relevant(upto=cutoff)
    return found.at_first(1.0 / found.rank)

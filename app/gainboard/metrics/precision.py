"""Metrics of binary relevance."""

from __future__ import annotations

import numpy as np

from gainboard.metrics.arrays import Scores
from gainboard.metrics.catalogue import metric
from gainboard.metrics.found import Found
from gainboard.metrics.parameters import Cutoff, RecallBase
from gainboard.metrics.views import BinaryRankings


def precision_at(found: Found) -> Scores:
    """count(r)/r at each document found."""
    return found.count / found.rank


def reciprocal_of(found: Found) -> Scores:
    """1/r of each document found."""
    return 1.0 / found.rank


def recall_divisor(rankings: BinaryRankings, recall_base: str, cutoff: Cutoff) -> Scores:
    """What a sum over relevant documents is divided by: R, or min(l, R) if so wished and there is a cut-off."""
    if recall_base == "cutoff" and cutoff is not None:
        return np.minimum(rankings.relevant_count, cutoff)
    return rankings.relevant_count


@metric(
    "AP",
    aliases=["AveP", "map", "map_cut_l"],
    title="Average Precision",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
)
def average_precision(
    rankings: BinaryRankings, *, recall_base: RecallBase = "relevant", cutoff: Cutoff = None
) -> Scores:
    """Precision at each relevant document retrieved, averaged over all that are relevant."""
    return rankings.sum(precision_at, upto=cutoff) / recall_divisor(rankings, recall_base, cutoff)


@metric(
    "Rprec",
    aliases=["R-Prec"],
    title="R-Precision",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
)
def r_precision(rankings: BinaryRankings) -> Scores:
    """Precision at rank R, where R is the number of relevant documents of the topic."""
    return rankings.relevant(upto=rankings.relevant_count).number / rankings.relevant_count


@metric(
    "P",
    aliases=["PDoc", "P_l"],
    title="Precision at a document cut-off",
    reference="van Rijsbergen, Information Retrieval, 1979",
)
def precision(rankings: BinaryRankings, *, cutoff: int) -> Scores:
    """The share of the first l ranks that hold a relevant document; ranks that a short list lacks hold none."""
    return rankings.relevant(upto=cutoff).number / cutoff


@metric(
    "Recall",
    aliases=["recall_l"],
    title="Recall at a document cut-off",
    reference="van Rijsbergen, Information Retrieval, 1979",
)
def recall(rankings: BinaryRankings, *, cutoff: int) -> Scores:
    """The share of the relevant documents that are among the first l."""
    return rankings.relevant(upto=cutoff).number / rankings.relevant_count


@metric(
    "RR",
    aliases=["recip_rank", "MRR"],
    title="Reciprocal Rank",
    reference="Voorhees, The TREC-8 question answering track report, TREC-8, 1999",
)
def reciprocal_rank(rankings: BinaryRankings, *, cutoff: Cutoff = None) -> Scores:
    """One over the rank of the first relevant document, 0 if none is retrieved."""
    return rankings.at_first(reciprocal_of, upto=cutoff)

"""Metrics of group fairness: how the attention that a ranking gives to groups of documents fits a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Final

import numpy as np

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import Metric, metric
from gainboard.metrics.intent_views import (
    AnnotatedRankings,
    GradedAnnotatedRankings,
    RankedTable,
    last_sum,
    require_annotations,
)
from gainboard.metrics.judgments import AttributeSet
from gainboard.metrics.parameters import Parameter, choice
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.stopping import expected_reciprocal_rank, rank_biased_utility

_SAKAI = "Sakai, Kim and Kang, A versatile framework for evaluating ranked lists in terms of group fairness and "
_SAKAI += "relevance, ACM TOIS 42(1), 2023"
_RAJ = "Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022; as in the TREC Fair Ranking tracks"
_EVERY: Final = "all"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Divergence = Callable[[Scores, Scores], Scores]

SetName = Annotated[
    str,
    Parameter(
        name="set",
        description="The name of an attribute set; by default, the mean over all attribute sets of the topic.",
        limits="the name of an attribute set, or all",
        schema={"type": "string", "pattern": f"^{_NAME.pattern}$"},
        read_text=lambda text, scale: text if _NAME.fullmatch(text) else None,
        write=str,
        default=_EVERY,
    ),
]
Ordinal = Annotated[str, choice("ordinal", "The divergence of sets whose groups have an order.", "NMD", "RNOD")]
Component = Annotated[str, choice("component", "The relevance that GFR averages with fairness.", "ERR", "iRBU")]
Times = Annotated[
    str,
    choice("times", "What the fairness is multiplied with: nothing, or the binary nDCG of TREC Fair.", "none", "nDCG"),
]


def jensen_shannon(achieved: Scores, target: Scores) -> Scores:
    """Return the Jensen-Shannon divergences from the target in bits: float64 [...], from `achieved` [..., groups]."""
    middle = (achieved + target) / 2
    # The logarithm of a group without a share is multiplied by 0, and may be anything.
    halves = (share * np.log2(np.where(share > 0, share / middle, 1.0)) for share in (achieved, target))
    return np.asarray(sum(half.sum(axis=-1) for half in halves) / 2)


def match_distance(achieved: Scores, target: Scores) -> Scores:
    """Return the normalised match distances: the mean absolute difference of the cumulative shares."""
    return np.asarray(np.abs(np.cumsum(achieved - target, axis=-1)).sum(axis=-1) / (len(target) - 1))


def order_aware_divergence(achieved: Scores, target: Scores) -> Scores:
    """Return the root normalised order-aware divergences. Groups that the target gives nothing are no origins."""
    origins = np.flatnonzero(target > 0)
    steps = np.abs(origins[:, np.newaxis] - np.arange(len(target)))
    return np.asarray(np.sqrt((achieved - target) ** 2 @ steps.mean(axis=0) / (len(target) - 1)))


_ORDINAL: Final[Mapping[str, Divergence]] = {"NMD": match_distance, "RNOD": order_aware_divergence}
_RELEVANCE: Final[Mapping[str, Metric]] = {"ERR": expected_reciprocal_rank, "iRBU": rank_biased_utility}


def _named(rankings: AnnotatedRankings, name: str) -> tuple[AttributeSet, ...]:
    """Return the attribute set with this name, or every one. Raise BadExpression if there is none."""
    sets = rankings.annotations.sets
    require_annotations(bool(sets))
    chosen = tuple(attributes for attributes in sets if name in (_EVERY, attributes.name))
    if not chosen:
        available = ", ".join(attributes.name for attributes in sets)
        raise BadExpression(f"set={name}: these judgments have no such attribute set. Available: {available}")
    return chosen


def _of_topics(rankings: AnnotatedRankings, attributes: AttributeSet) -> Scores:
    """Return 1.0 for each topic that has the attribute set, and 0.0 for others: float64 [n]."""
    has_it = ~np.isnan(attributes.vectors[:, 0])
    return np.minimum(np.bincount(rankings.annotations.topic, has_it, rankings.shape[1]), 1.0)


def _achieved(table: RankedTable, attributes: AttributeSet) -> Scores:
    """Return the mean membership of the documents down to each one, float64 [t, k, groups].

    A document without memberships, and one that nothing is known of, belongs to each group alike.
    """
    vectors = attributes.vectors[table.document]
    is_member = table.is_there & ~np.isnan(vectors[..., 0])
    known = np.cumsum(np.where(is_member[..., np.newaxis], vectors, 0.0), axis=1)
    others = table.rank - np.cumsum(is_member, axis=1)
    return np.asarray((known + others[..., np.newaxis] / len(attributes.target)) / table.rank[..., np.newaxis])


def _fairness(
    rankings: GradedAnnotatedRankings, divergences: Mapping[AttributeSet, Divergence], cutoff: int | None
) -> Scores:
    """Return the expected similarities to the targets where a user of ERR stops: float64 [sets, m, n]."""
    scores = np.zeros((len(divergences), *rankings.shape))
    for table in rankings.tables(cutoff):
        stops = np.where(table.is_there, rankings.gain[table.document], 0.0) / (rankings.gains.highest + 1.0)
        going_on = np.cumprod(1.0 - stops, axis=1)
        stops[:, 1:] *= going_on[:, :-1]
        for row, (attributes, divergence) in enumerate(divergences.items()):
            similar = 1.0 - divergence(_achieved(table, attributes), attributes.target)
            scores[row, table.run, table.topics] = last_sum(stops * similar)
    return scores


def _mean_fairness(rankings: GradedAnnotatedRankings, name: str, divergence: Divergence, cutoff: int | None) -> Scores:
    chosen = _named(rankings, name)
    scores = _fairness(rankings, dict.fromkeys(chosen, divergence), cutoff)
    weight = np.array([_of_topics(rankings, attributes) for attributes in chosen])
    # A topic without any of the sets divides 0 by 0: its score is undefined.
    return np.asarray((scores * weight[:, np.newaxis]).sum(axis=0) / weight.sum(axis=0))


@metric("GF_JSD", title="Group fairness by Jensen-Shannon divergence", reference=_SAKAI, sorted_is_best=False)
def group_fairness_by_jsd(
    rankings: GradedAnnotatedRankings, *, set: SetName = _EVERY, cutoff: int | None = None
) -> Scores:
    """GF_JSD is the expected value of 1 - JSD at the rank at which a user stops, as in ERR.

    JSD, in bits, compares the mean membership of the documents down to this rank with the target. A document without
    memberships belongs to each group alike. If the user does not stop, the value is 0. JSD is for groups without order.
    """
    return _mean_fairness(rankings, set, jensen_shannon, cutoff)


@metric("GF_NMD", title="Group fairness by normalised match distance", reference=_SAKAI, sorted_is_best=False)
def group_fairness_by_nmd(
    rankings: GradedAnnotatedRankings, *, set: SetName = _EVERY, cutoff: int | None = None
) -> Scores:
    """GF_NMD is GF_JSD with the normalised match distance, for groups that have an order.

    It is the sum of the absolute differences of cumulative shares, divided by the number of groups less 1.
    """
    return _mean_fairness(rankings, set, match_distance, cutoff)


@metric(
    "GF_RNOD", title="Group fairness by root normalised order-aware divergence", reference=_SAKAI, sorted_is_best=False
)
def group_fairness_by_rnod(
    rankings: GradedAnnotatedRankings, *, set: SetName = _EVERY, cutoff: int | None = None
) -> Scores:
    """GF_RNOD is GF_JSD with the root normalised order-aware divergence, for groups that have an order.

    A squared difference of shares counts as often as the groups are apart, on average over the groups that the target
    gives a share. Its mean is divided by the number of groups less 1, and the root is taken.
    """
    return _mean_fairness(rankings, set, order_aware_divergence, cutoff)


@metric("GFR", title="Group fairness and relevance", reference=_SAKAI, sorted_is_best=False)
def group_fairness_and_relevance(
    rankings: GradedAnnotatedRankings, *, component: Component = "ERR", ordinal: Ordinal = "NMD", cutoff: int
) -> Scores:
    """GFR@l is the mean of the relevance of the ranking and of its fairness for each attribute set of the topic.

    Relevance is ERR@l, or iRBU@l. Fairness is GF_JSD@l for sets whose groups have no order, and GF_NMD@l or GF_RNOD@l
    for others. So a topic without attribute sets has its relevance alone.
    """
    sets = _named(rankings, _EVERY)
    divergences = {each: _ORDINAL[ordinal] if each.is_ordinal else jensen_shannon for each in sets}
    weight = np.array([_of_topics(rankings, attributes) for attributes in sets])
    fairness = (_fairness(rankings, divergences, cutoff) * weight[:, np.newaxis]).sum(axis=0)
    relevance = rankings.score(_RELEVANCE[component], rankings.gains, cutoff)
    return np.asarray((relevance + fairness) / (1.0 + weight.sum(axis=0)))


@metric("AWRF", title="Attention-weighted rank fairness", reference=_RAJ, sorted_is_best=False)
def attention_weighted_rank_fairness(
    rankings: AnnotatedRankings, *, set: SetName = _EVERY, times: Times = "none", cutoff: int | None = None
) -> Scores:
    """AWRF is 1 - JSD of the attention that groups get and of the target, with JSD in nats.

    The document at rank r gets the attention 1/log2(max(r, 2)). A document without memberships is left out with its
    attention. `times=nDCG` multiplies it with the binary nDCG of the same weights, which is the score of TREC Fair.
    """
    chosen = _named(rankings, set)
    weight = np.array([_of_topics(rankings, attributes) for attributes in chosen])
    scores, gained = np.zeros((len(chosen), *rankings.shape)), np.zeros(rankings.shape)
    for table in rankings.tables(cutoff):
        attention = np.where(table.is_there, 1.0 / np.log2(np.maximum(table.rank, 2)), 0.0)
        gained[table.run, table.topics] = last_sum(attention * rankings.is_relevant[table.document])
        for row, attributes in enumerate(chosen):
            vectors = attributes.vectors[table.document]
            known = np.where(np.isnan(vectors[..., 0]), 0.0, attention)
            shares = last_sum(known[..., np.newaxis] * np.nan_to_num(vectors))
            total = last_sum(known)
            divergence = jensen_shannon(shares / total[:, np.newaxis], attributes.target) * np.log(2.0)
            # Where no document has memberships, nothing is fair.
            scores[row, table.run, table.topics] = np.where(total > 0, 1.0 - divergence, 0.0)
    fairness = (scores * weight[:, np.newaxis]).sum(axis=0) / weight.sum(axis=0)
    if times == "none":
        return np.asarray(fairness)
    relevant = rankings.counts[:, rankings.rel :].sum(axis=1)
    most = int(relevant.max(initial=0)) if cutoff is None else min(cutoff, int(relevant.max(initial=0)))
    ideal = np.cumsum(np.concatenate(([0.0], 1.0 / np.log2(np.maximum(np.arange(1, most + 1), 2)))))
    return np.asarray(fairness * gained / ideal[np.minimum(relevant, most)])

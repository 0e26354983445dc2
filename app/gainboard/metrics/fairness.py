"""Metrics of group fairness: how the attention that a ranking gives to groups of documents fits a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import Metric, metric
from gainboard.metrics.cumulative import normalised_discounted_cumulative_gain as ndcg
from gainboard.metrics.gains import parse_gains
from gainboard.metrics.intent_views import AnnotatedRankings, GradedAnnotatedRankings, last_sum
from gainboard.metrics.judgments import AttributeSet
from gainboard.metrics.parameters import Parameter, choice
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.stopping import expected_reciprocal_rank, rank_biased_utility

_SAKAI = "Sakai, Kim and Kang, A versatile framework for evaluating ranked lists, ACM TOIS 42(1), 2023"
_RAJ = "Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022; as in the TREC Fair Ranking tracks"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Divergence = Callable[[Scores, Scores], Scores]
Cut = int | None
SetName = Annotated[
    str,
    Parameter(
        name="set",
        description="The name of an attribute set; all is the mean over the attribute sets of the topic.",
        limits="the name of an attribute set, or all",
        schema={"type": "string", "pattern": f"^{_NAME.pattern}$"},
        read_text=lambda text, scale: text if _NAME.fullmatch(text) else None,
        write=str,
        default="all",
        only_in_expressions=True,
    ),
]


_own = partial(choice, only_in_expressions=True)
Ordinal = Annotated[str, _own("ordinal", "The divergence for groups that have an order.", "NMD", "RNOD")]
Component = Annotated[str, _own("component", "The relevance beside fairness.", "ERR", "iRBU")]
Times = Annotated[str, _own("times", "A factor: none, or the binary nDCG of TREC Fair.", "none", "nDCG")]


def jensen_shannon(achieved: Scores, target: Scores) -> Scores:
    """Return the Jensen-Shannon divergences from the target in bits: float64 [...], from `achieved` [..., groups]."""
    middle = (achieved + target) / 2
    # The logarithm of a group without a share is multiplied by 0, and may be anything.
    halves = (share * np.log2(np.where(share > 0, share / middle, 1.0)) for share in (achieved, target))
    return np.asarray(sum(half.sum(axis=-1) for half in halves) / 2)


def match_distance(achieved: Scores, target: Scores) -> Scores:
    """Return the normalised match distances: the sum of differences of cumulative shares, by the groups less 1."""
    return np.asarray(np.abs(np.cumsum(achieved - target, axis=-1)).sum(axis=-1) / (len(target) - 1))


def order_aware_divergence(achieved: Scores, target: Scores) -> Scores:
    """Return the root normalised order-aware divergences. Groups that the target gives nothing are no origins."""
    steps = np.abs(np.flatnonzero(target > 0)[:, np.newaxis] - np.arange(len(target)))
    return np.asarray(np.sqrt((achieved - target) ** 2 @ steps.mean(axis=0) / (len(target) - 1)))


_ORDINAL: Final[Mapping[str, Divergence]] = {"NMD": match_distance, "RNOD": order_aware_divergence}
_RELEVANCE: Final[Mapping[str, Metric]] = {"ERR": expected_reciprocal_rank, "iRBU": rank_biased_utility}


def _named(rankings: AnnotatedRankings, name: str) -> list[AttributeSet]:
    """Return the attribute set with this name, or all. Raise BadExpression if there is none."""
    sets = rankings.annotations.sets
    if chosen := [each for each in sets if name in ("all", each.name)]:
        return chosen
    available = ", ".join(each.name for each in sets) or "none. Upload memberships with the qrels"
    raise BadExpression(f"set={name}: these judgments have no such attribute set. Available: {available}")


def _members(rankings: AnnotatedRankings, attributes: AttributeSet) -> tuple[NDArray[np.bool_], Scores]:
    """Return which documents have memberships in the set, and 0 for each topic where some have, else NaN."""
    are_members = ~np.isnan(attributes.vectors[:, 0])
    return are_members, np.where(rankings.annotations.sum_by_topic(are_members) > 0, 0.0, np.nan)


def _mean(parts: Scores) -> Scores:
    """Return the means of the parts that a topic has, float64 [m, n], from [parts, m, n]; NaN without any."""
    return np.asarray(np.nansum(parts, axis=0) / np.sum(~np.isnan(parts), axis=0))


def _fairness(
    rankings: GradedAnnotatedRankings, attributes: AttributeSet, divergence: Divergence, cutoff: Cut
) -> Scores:
    """Return the expected similarity to the target where users of ERR stop, [m, n]; NaN without the set."""
    are_members, of_topics = _members(rankings, attributes)
    scores, groups = np.tile(of_topics, (rankings.shape[0], 1)), len(attributes.target)
    for table in rankings.tables(cutoff):
        stops = np.where(table.is_there, rankings.gain[table.document], 0.0) / (rankings.gains.highest + 1.0)
        stops[:, 1:] *= np.cumprod(1.0 - stops, axis=1)[:, :-1]
        is_known = (are_members[table.document] & table.is_there)[..., np.newaxis]
        known = np.cumsum(np.where(is_known, attributes.vectors[table.document], 0.0), axis=1)
        # All other documents down to here belong to each group alike, whether anything is known of them or not.
        ranks = table.rank[..., np.newaxis]
        achieved = (known + (ranks - np.cumsum(is_known, axis=1)) / groups) / ranks
        similar = 1.0 - divergence(achieved, attributes.target)
        # Behind the last document, nothing is achieved, and the divergence may be undefined.
        scores[table.where] += last_sum(np.where(stops > 0, stops * similar, 0.0))
    return scores


def _mean_fairness(rankings: GradedAnnotatedRankings, name: str, divergence: Divergence, cutoff: Cut) -> Scores:
    return _mean(np.array([_fairness(rankings, each, divergence, cutoff) for each in _named(rankings, name)]))


@metric("GF_JSD", title="Group fairness by Jensen-Shannon divergence", reference=_SAKAI, sorted_is_best=False)
def gf_jsd(rankings: GradedAnnotatedRankings, *, set: SetName = "all", cutoff: Cut = None) -> Scores:
    """GF_JSD is the expected value of 1 - JSD at the rank at which a user stops, as in ERR.

    JSD, in bits, compares the mean membership of the documents down to this rank with the target. A document without
    memberships belongs to each group alike. If the user does not stop, the value is 0. JSD is for groups without order.
    """
    return _mean_fairness(rankings, set, jensen_shannon, cutoff)


@metric("GF_NMD", title="Group fairness by normalised match distance", reference=_SAKAI, sorted_is_best=False)
def gf_nmd(rankings: GradedAnnotatedRankings, *, set: SetName = "all", cutoff: Cut = None) -> Scores:
    """GF_NMD is GF_JSD with the normalised match distance, for groups that have an order.

    It is the sum of the absolute differences of cumulative shares, divided by the number of groups less 1.
    """
    return _mean_fairness(rankings, set, match_distance, cutoff)


@metric("GF_RNOD", title="Group fairness by order-aware divergence", reference=_SAKAI, sorted_is_best=False)
def gf_rnod(rankings: GradedAnnotatedRankings, *, set: SetName = "all", cutoff: Cut = None) -> Scores:
    """GF_RNOD is GF_JSD with the root normalised order-aware divergence, for groups that have an order.

    A squared difference of shares counts as often as its group is away from another one. The mean over the groups that
    the target gives a share is divided by the number of groups less 1, and the root is taken.
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
    parts = [rankings.score(_RELEVANCE[component], rankings.gains, cutoff)]
    for each in _named(rankings, "all"):
        divergence = _ORDINAL[ordinal] if each.is_ordinal else jensen_shannon
        parts.append(_fairness(rankings, each, divergence, cutoff))
    return _mean(np.array(parts))


@metric("AWRF", title="Attention-weighted rank fairness", reference=_RAJ, sorted_is_best=False)
def attention_weighted_rank_fairness(
    rankings: AnnotatedRankings, *, set: SetName = "all", times: Times = "none", cutoff: Cut = None
) -> Scores:
    """AWRF is 1 - JSD of the attention that groups get and of the target, with JSD in nats.

    The document at rank r gets the attention 1/log2(max(r, 2)). A document without memberships is left out with its
    attention. `times=nDCG` multiplies it with the binary nDCG of the same weights, which is the score of TREC Fair.
    """
    parts = []
    for each in _named(rankings, set):
        are_members, of_topics = _members(rankings, each)
        scores = np.tile(of_topics, (rankings.shape[0], 1))
        for table in rankings.tables(cutoff):
            is_known = are_members[table.document] & table.is_there
            attention = np.where(is_known, 1.0 / np.log2(np.maximum(table.rank, 2)), 0.0)[..., np.newaxis]
            total = last_sum(attention)
            achieved = last_sum(attention * np.nan_to_num(each.vectors[table.document])) / total
            divergence = jensen_shannon(achieved, each.target) * np.log(2.0)
            # Without a document that has memberships, nothing is fair.
            scores[table.where] += np.where(total[:, 0] > 0, 1.0 - divergence, 0.0)
        parts.append(scores)
    fairness = _mean(np.array(parts))
    flat = parse_gains("flat", rankings.runs.judgments.level_counts.shape[1] - 1)
    return fairness if times == "none" else np.asarray(fairness * rankings.score(ndcg, flat, cutoff))

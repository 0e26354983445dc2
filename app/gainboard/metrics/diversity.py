"""Metrics of diversified rankings, which need judgments by intent (subtopic)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Final

import numpy as np

from gainboard.metrics.catalogue import ScoreLimits, metric
from gainboard.metrics.gains import MICROSOFT, Discount, GainSetting, Geometric, format_number, read_number
from gainboard.metrics.intent_views import GradedIntentRankings, IntentRankings
from gainboard.metrics.parameters import GAINS, Beta, Parameter, Persistence, choice
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.stopping import expected_reciprocal_rank

_SAKAI = "Sakai and Song, Evaluating diversified search results using per-intent graded relevance, SIGIR 2011"
_CLARKE = "Clarke, Kolla, Cormack et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008"
_NRBP = "Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and underspecified queries, ICTIR 2009"
_NDEVAL = "Clarke, Craswell, Soboroff and Cormack, Overview of the TREC 2010 Web Track; ndeval"


def _share(name: str, description: str, *, only_in_expressions: bool = False) -> Parameter:
    def read(text: str, scale: Any) -> float | None:
        value = read_number(text)
        return value if value is not None and 0 <= value <= 1 else None

    return Parameter(
        name=name,
        description=description,
        limits="a number from 0 to 1",
        schema={"type": "number", "minimum": 0, "maximum": 1},
        read_text=read,
        write=format_number,
        always_shown=True,
        only_in_expressions=only_in_expressions,
    )


Alpha = Annotated[
    float,
    _share(
        "alpha",
        "How much of an intent a relevant document meets, so that later ones are worth less.",
        only_in_expressions=True,  # elsewhere, alpha is a level of significance
    ),
]
Gamma = Annotated[float, _share("gamma", "The weight of I-rec in D#-nDCG and D#-Q, compared with the D-measure.")]
Goes = Annotated[float, replace(Persistence.__metadata__[0], space=None)]
IntentBeta = Annotated[float, replace(Beta.__metadata__[0], space=None)]
IntentsCounted = Annotated[
    str,
    choice(
        *("intents", "The intents that count: those with a relevant document, or all of the topic.", "relevant", "all"),
        only_in_expressions=True,
    ),
]
Form = Annotated[
    str,
    replace(
        choice("form", "The definition: that of TREC's ndeval, or that of Chapelle et al.", "ndeval", "chapelle"),
        always_shown=True,
        only_in_expressions=True,
    ),
]
FormAlpha = Annotated[float, replace(Alpha.__metadata__[0], only_with=("form", "ndeval"))]
FormGains = Annotated[GainSetting, replace(GAINS, only_with=("form", "chapelle"))]


_MOST_RANKS: Final = 1_000_000
"""The largest depth of a collection. No ranking is deeper."""


def _logarithmic(rankings: IntentRankings, cutoff: int) -> Scores:
    return MICROSOFT.weights(rankings.deepest(cutoff))[1:]


def _reciprocal(rankings: IntentRankings, cutoff: int) -> Scores:
    return 1.0 / np.arange(1.0, rankings.deepest(cutoff) + 1)


def _geometric(rankings: IntentRankings, p: float) -> Scores:
    return Geometric(p).weights(rankings.deepest(_MOST_RANKS))[1:]


def _novelty(rankings: IntentRankings, alpha: float, cutoff: int, weights: Scores) -> Scores:
    """Return the novelty gain of the first `cutoff` documents of each ranking. `weights` are by rank, from 1."""
    relevant = rankings.relevant(cutoff)
    # Rows beyond the cut-off are in no sum, so their weight does not matter.
    return rankings.total(relevant.sum(relevant.novelty(alpha) * weights.take(relevant.rank - 1, mode="clip")))


def _above_greedy(limits: ScoreLimits) -> float:
    """Return how many times the novelty gain of the greedy ideal ranking the best ranking can have.

    Each document adds less, the more documents are above it. So the first documents of the greedy ranking have at least
    1 - 1/e of the gain that as many documents can have (Nemhauser, Wolsey and Fisher, Mathematical Programming, 1978).
    """
    return 1.0 / (1.0 - math.exp(-1.0))


@lru_cache(maxsize=64)
def _all_at_every_rank(alpha: float, discount: Discount | None, cutoff: int) -> float:
    """Return the sum of (1-alpha)^(r-1) over the first `cutoff` ranks r, discounted, or by default divided by r."""
    upto = min(cutoff, _MOST_RANKS)
    powers = np.cumprod(np.concatenate([[1.0], np.full(upto - 1, 1.0 - alpha)]))
    weighted = powers * discount.weights(upto)[1:] if discount else powers / np.arange(1.0, upto + 1)
    return float(np.cumsum(weighted)[-1])


@metric("Irec", aliases=["I-rec"], title="Intent Recall", reference=_SAKAI, sorted_is_best=False)
def intent_recall(rankings: IntentRankings, *, intents: IntentsCounted = "relevant", cutoff: int) -> Scores:
    """Irec@l is the share of a topic's intents that have a relevant document among the first l.

    Only intents with at least one relevant document in the qrels are counted. With `intents=all`, all intents of the
    topic are counted, as NTCIREVAL does. TREC calls the first form subtopic recall.
    """
    met = rankings.total(np.minimum(rankings.relevant(cutoff).number, 1.0))
    counted = rankings.intents.relevant_intents(rankings.rel)
    return np.asarray(met / (np.diff(rankings.intents.starts) if intents == "all" else counted))


@metric("DnDCG", aliases=["D-nDCG"], title="D-nDCG", reference=_SAKAI, sorted_is_best=False)
def d_ndcg(rankings: GradedIntentRankings, *, cutoff: int) -> Scores:
    """DnDCG@l is MSnDCG@l with global gains.

    The global gain of a document is its expected gain over the intents, by their probabilities. The discount is
    1/log2(r+1) at every rank r. The ideal ranking has the highest global gains first.
    """
    relevant = rankings.relevant(cutoff)
    gained = relevant.sum(relevant.gain * MICROSOFT.at(relevant.rank))
    return np.asarray(rankings.expected(gained) / rankings.ideal_gain(cutoff, MICROSOFT))


@metric("DQ", aliases=["D-Q"], title="D-Q", reference=_SAKAI, sorted_is_best=False)
def d_q(rankings: GradedIntentRankings, *, beta: IntentBeta = 1.0, cutoff: int) -> Scores:
    """DQ@l is Q-measure with global gains, which are expected gains over the intents.

    A document is relevant if it has a global gain. The sum of blended ratios is divided by the number of relevant
    documents, or by l if l is smaller.
    """
    documents, ideal = rankings.documents(cutoff), rankings.ideal_gains
    cumulated = np.cumsum(ideal, axis=1)
    width = max(1, cumulated.shape[1])
    # After its last document, the ideal ranking gains nothing more.
    at = np.minimum(documents.rank, width) - 1
    reached = cumulated[documents.ranking % max(1, rankings.topics), at] if len(documents.rank) else np.zeros(0)
    blended = (beta * documents.cumulative_gain + documents.count) / (beta * reached + documents.rank)
    return np.asarray(documents.sum(blended) / np.minimum((ideal > 0).sum(axis=1), cutoff))


@metric("DsharpnDCG", aliases=["D#-nDCG"], title="D#-nDCG", reference=_SAKAI, sorted_is_best=False)
def d_sharp_ndcg(
    rankings: GradedIntentRankings, *, gamma: Gamma = 0.5, intents: IntentsCounted = "relevant", cutoff: int
) -> Scores:
    """DsharpnDCG@l is `gamma` times Irec@l plus 1 - `gamma` times DnDCG@l."""
    return _sharp(rankings, gamma, intents, cutoff, d_ndcg.kernel(rankings, cutoff=cutoff))


@metric("DsharpQ", aliases=["D#-Q"], title="D#-Q", reference=_SAKAI, sorted_is_best=False)
def d_sharp_q(
    rankings: GradedIntentRankings,
    *,
    beta: IntentBeta = 1.0,
    gamma: Gamma = 0.5,
    intents: IntentsCounted = "relevant",
    cutoff: int,
) -> Scores:
    """DsharpQ@l is `gamma` times Irec@l plus 1 - `gamma` times DQ@l."""
    return _sharp(rankings, gamma, intents, cutoff, d_q.kernel(rankings, beta=beta, cutoff=cutoff))


def _sharp(rankings: GradedIntentRankings, gamma: float, intents: str, cutoff: int, measured: Scores) -> Scores:
    recall: Scores = intent_recall.kernel(rankings, intents=intents, cutoff=cutoff)
    return np.asarray(gamma * recall + (1.0 - gamma) * measured)


@metric(
    "alphanDCG", aliases=["alpha-nDCG"], title="alpha-nDCG", reference=_CLARKE, span=_above_greedy, sorted_is_best=False
)
def alpha_ndcg(rankings: IntentRankings, *, alpha: Alpha = 0.5, cutoff: int) -> Scores:
    """alphanDCG@l is the discounted novelty gain of the first l documents, divided by that of the ideal ranking.

    For each intent to which it is relevant, a document gains (1-alpha)^c, where c is the number of documents above it
    that are relevant to the intent. The discount is 1/log2(r+1) at every rank r. The ideal ranking takes at each rank
    the judged document of the largest novelty gain. Of documents with equal ones, it takes that of the largest id. A
    better ranking may exist, because finding the best one is too hard.
    """
    weights = _logarithmic(rankings, cutoff)
    return _novelty(rankings, alpha, cutoff, weights) / rankings.ideal_novelty(alpha, weights)


@metric("alphaDCG", aliases=["alpha-DCG"], title="alpha-DCG", reference=_NDEVAL, sorted_is_best=False)
def alpha_dcg(rankings: IntentRankings, *, alpha: Alpha = 0.5, cutoff: int) -> Scores:
    """alphaDCG@l is the novelty gain of alphanDCG, divided by that of a list with all intents at every rank.

    The divisor is the sum of M(1-alpha)^(r-1)/log2(r+1), where M is the number of intents with a relevant document. So
    it does not depend on the ideal ranking.
    """
    gained = _novelty(rankings, alpha, cutoff, _logarithmic(rankings, cutoff))
    return gained / (rankings.intents.relevant_intents(rankings.rel) * _all_at_every_rank(alpha, MICROSOFT, cutoff))


@metric("ERRIA", aliases=["ERR-IA"], title="Intent-aware ERR", reference=_NDEVAL, sorted_is_best=False)
def intent_aware_err(
    rankings: IntentRankings,
    *,
    form: Form = "ndeval",
    alpha: FormAlpha = 0.5,
    gains: FormGains = "linear",  # type: ignore[assignment]
    cutoff: int,
) -> Scores:
    """ERRIA@l is the novelty gain of the first l documents, divided by that of a list with all intents at every rank.

    The novelty gain at rank r is that of alphanDCG, divided by r. The divisor is the sum of M(1-alpha)^(r-1)/r, where
    M is the number of intents with a relevant document. So it does not depend on the ideal ranking. With
    `form=chapelle`, ERRIA is the expected ERR@l over the intents, by their probabilities: ERR(ia=true)@l.
    """
    if form == "chapelle":
        return rankings.average(rankings.score(expected_reciprocal_rank, gains, cutoff))
    gained = _novelty(rankings, alpha, cutoff, _reciprocal(rankings, cutoff))
    return gained / (rankings.intents.relevant_intents(rankings.rel) * _all_at_every_rank(alpha, None, cutoff))


@metric(
    "nERRIA",
    aliases=["nERR-IA"],
    title="Normalised intent-aware ERR",
    reference=_NDEVAL,
    span=_above_greedy,
    sorted_is_best=False,
)
def normalised_intent_aware_err(rankings: IntentRankings, *, alpha: Alpha = 0.5, cutoff: int) -> Scores:
    """nERRIA@l is the novelty gain of the first l documents, each divided by its rank, divided by that of the ideal.

    The ideal ranking is that of alphanDCG.
    """
    weights = _reciprocal(rankings, cutoff)
    return _novelty(rankings, alpha, cutoff, weights) / rankings.ideal_novelty(alpha, weights)


@metric("NRBP", title="Novelty- and rank-biased precision", reference=_NRBP, sorted_is_best=False)
def novelty_and_rank_biased_precision(rankings: IntentRankings, *, alpha: Alpha = 0.5, p: Goes = 0.5) -> Scores:
    """NRBP is the sum of the novelty gains of alphanDCG, the one at rank r times p^(r-1), times (1-(1-alpha)p)/M.

    M is the number of intents with a relevant document. A list with all intents at every rank has the score 1.
    """
    gained = _novelty(rankings, alpha, _MOST_RANKS, _geometric(rankings, p))
    return gained * (1.0 - (1.0 - alpha) * p) / rankings.intents.relevant_intents(rankings.rel)


@metric(
    "nNRBP",
    title="Normalised novelty- and rank-biased precision",
    reference=_NRBP,
    span=_above_greedy,
    sorted_is_best=False,
)
def normalised_nrbp(rankings: IntentRankings, *, alpha: Alpha = 0.5, p: Goes = 0.5) -> Scores:
    """nNRBP is the NRBP of the run divided by that of the ideal ranking, which is that of alphanDCG."""
    weights = _geometric(rankings, p)
    return _novelty(rankings, alpha, _MOST_RANKS, weights) / rankings.ideal_novelty(alpha, weights)

"""Normalised Cumulative Utility: users stop at relevant documents and find a utility there.

The names consist of the distribution of users over relevant documents and the utility. `gu` is graded-uniform, `rb` is
rank-biased. `P` is precision, `BR` is the blended ratio. With users who stop at each relevant document alike, these
are Average Precision and Q-measure.
"""

from __future__ import annotations

from gainboard.metrics.blended import blended_ratio
from gainboard.metrics.catalogue import metric
from gainboard.metrics.discounts import Geometric
from gainboard.metrics.parameters import Beta, Decay, Stops
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings, Found, GradedRankings

_SAKAI = "Sakai and Robertson, Modelling a user population for designing information retrieval metrics, EVIA 2008"


def rank_biased_share(rankings: BinaryRankings, found: Found, gamma: Decay) -> Value:
    """Return the share of users who stop at each relevant document: gamma^(count(r)-1), over the sum for all R."""
    return found.discount_at(found.count, Geometric(gamma)) / rankings.geometric_sum(gamma)


@metric("NCUguP", title="NCU, graded-uniform, with precision", reference=_SAKAI, sorted_is_best=False)
def graded_uniform_precision(rankings: GradedRankings, *, stops: Stops = None) -> Value:
    """NCUguP is the expected precision at the relevant document at which a user stops.

    The probability of a document is in proportion to the value of its level in `stops`, which are the gains by default.
    A user who stops at a document that is not retrieved finds 0.
    """
    found = rankings.relevant()
    return found.sum(found.stop_share * found.count / found.rank)


@metric("NCUguBR", title="NCU, graded-uniform, with the blended ratio", reference=_SAKAI, sorted_is_best=False)
def graded_uniform_blended_ratio(rankings: GradedRankings, *, beta: Beta = 1.0, stops: Stops = None) -> Value:
    """NCUguBR is the expected blended ratio at the relevant document at which a user stops.

    Users stop as in NCUguP. Q-measure defines the blended ratio.
    """
    found = rankings.relevant()
    return found.sum(found.stop_share * blended_ratio(found, beta))


@metric("NCUrbP", title="NCU, rank-biased, with precision", reference=_SAKAI)
def rank_biased_uniform_precision(rankings: BinaryRankings, *, gamma: Decay = 0.95) -> Value:
    """NCUrbP is the expected precision at the relevant document at which a user stops.

    Each relevant document in the ranking has `gamma` times as many users who stop at it as the relevant document above.
    A user who stops at a document that is not retrieved finds 0.
    """
    found = rankings.relevant()
    return found.sum(rank_biased_share(rankings, found, gamma) * found.count / found.rank)


@metric("NCUrbBR", title="NCU, rank-biased, with the blended ratio", reference=_SAKAI)
def rank_biased_blended_ratio(rankings: GradedRankings, *, beta: Beta = 1.0, gamma: Decay = 0.95) -> Value:
    """NCUrbBR is the expected blended ratio at the relevant document at which a user stops.

    Users stop as in NCUrbP. Q-measure defines the blended ratio.
    """
    found = rankings.relevant()
    return found.sum(rank_biased_share(rankings, found, gamma) * blended_ratio(found, beta))

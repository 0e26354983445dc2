"""Views of a judged run: the values that a metric can use.

The type of the first parameter of a metric's function is its view: `BinaryRankings` (relevant or not), `GradedRankings`
(with gains), `ScoredRankings` (with gains and the run's own scores), `WholeRankings` (with all judged documents) or
`WholeGradedRankings` (with these and gains).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from gainboard.metrics.gains import Discount, Geometric
from gainboard.metrics.parameters import Rank
from gainboard.metrics.values import Number, Setting, Space, Value, spread, value

AnyDiscount: TypeAlias = Discount | Geometric
WHOLE: Final = 10**9
"""A rank beyond the end of every ideal ranking."""


class BinaryRankings:
    """The view for metrics of binary relevance: documents are relevant (level >= `rel`) or not."""

    def __init__(self, rel: int, condensed: bool) -> None:
        self.rel = rel
        self.condensed = condensed

    @property
    def relevant_count(self) -> Value:
        """R, the number of relevant documents of each topic, retrieved or not."""
        return value("relevant_count", Space.TOPIC, fixed=(self.rel,))

    @property
    def worth(self) -> Value:
        """R. The score of a topic is defined if this value is not 0."""
        return self.relevant_count

    @property
    def nonrelevant_count(self) -> Value:
        """The number of judged nonrelevant documents of each topic (0 <= level < `rel`), retrieved or not."""
        at_zero = value("judged_at_zero", Space.RANKING)
        return at_zero if self.rel == 1 else at_zero + (BinaryRankings(1, False).relevant_count - self.relevant_count)

    def relevant(self, *, upto: Number | None = None) -> Found:
        """Return the relevant documents retrieved at ranks <= `upto`; all that are retrieved if it is None."""
        return Found(self, self._rows(upto))

    @property
    def found_count(self) -> Value:
        """The number of relevant documents retrieved, at any rank."""
        # As a sum, because the count at the last rank would seem to depend on the order of documents.
        one = value("relevant_only", Space.ROW, spread(1.0, Space.ROW), fixed=(self.rel,))
        return value("sum", Space.RANKING, one, self._rows(None))

    def geometric_sum(self, ratio: Number) -> Value:
        """Return 1 + ratio + ratio**2 + ..., with R terms."""
        # In an ideal ranking in which all gains are 1, this is the discounted gain.
        settings = (("flat", self.rel), weights_of(Geometric(ratio)))
        return value("ideal_gain", Space.TOPIC, fixed=(WHOLE,), open=settings)

    def at_highest_level(self, by_level: Value) -> Value:
        """Return the number of `by_level` for the highest level at which a document of the topic is judged."""
        return value("at_highest_level", Space.TOPIC, by_level)

    def _rows(self, upto: Number | None) -> Value:
        if upto is None:
            return value("all_rows", Space.RANKING)
        return value("rows_upto", Space.RANKING, spread(upto, Space.RANKING), fixed=(int(self.condensed),))


class GradedRankings(BinaryRankings):
    """The view for metrics of graded relevance: each relevant document has a gain."""

    @property
    def ideal(self) -> IdealRankings:
        """The ideal ranking of each topic."""
        return IdealRankings(self.rel)

    @property
    def worth(self) -> Value:
        """The gain of the whole ideal ranking. The score of a topic is defined if this value is not 0."""
        return self.ideal.total

    @property
    def gains(self) -> Value:
        """The gain of each level. It is 0 for levels below `rel`."""
        return value("gains", Space.LEVEL, open=(gains_above(self.rel),))

    def highest_gain(self, level: int | None = None) -> Value:
        """Return H, the gain of `level` before adjustment; if `level` is None, of the scale's highest level."""
        return value("number", Space.NUMBER, open=(("highest_gain", level),))

    def relevant(self, *, upto: Number | None = None) -> GradedFound:
        """Return the relevant documents retrieved at ranks <= `upto`; all that are retrieved if it is None."""
        return GradedFound(self, self._rows(upto))

    def expected_utility(self, go_on: str, gain: str, expected: float, rest: str | Literal[False] = False) -> Value:
        """Return EU of a user model: see `UserModel`. With `rest`, users read on without end."""
        model = ("user_model", go_on, gain, expected, rest or "", self.rel, self.condensed)
        return value("expected_utility", Space.RANKING, open=(model,))


class ScoredRankings(GradedRankings):
    """The view for metrics that also need the run's own retrieval scores."""

    def system_scores(self, *, raw: bool) -> Value:
        """Return the run's score of each relevant document retrieved, `raw` or scaled to [0, 1] over its ranking."""
        return value("system_score", Space.ROW, fixed=self._scale(raw))

    def system_distance(self, *, raw: bool) -> Value:
        """Return the sum of |score| over the documents retrieved. In a condensed ranking, only judged ones count."""
        return value("system_distance", Space.RANKING, fixed=self._scale(raw))

    def documents(self, *, raw: bool) -> Value:
        """Return the number of documents judged or retrieved. In a condensed ranking, only judged documents count."""
        # It is kept with the scores of the scale, so that a metric reads one of them.
        return value("documents", Space.RANKING, fixed=self._scale(raw))

    def _scale(self, raw: bool) -> tuple[int, int]:
        return int(raw), int(self.condensed)


class WholeRankings(BinaryRankings):
    """The view for metrics that also need the other documents of a ranking: judged nonrelevant ones, and the length."""

    @property
    def retrieved_count(self) -> Value:
        """L, the number of documents retrieved. In a condensed ranking, only judged documents count."""
        return value("retrieved", Space.RANKING, fixed=(int(self.condensed),))

    def judged_weight(self, discount: AnyDiscount, *, upto: int | None = None) -> Value:
        """Return the sum of the weights of the ranks <= `upto` with a judged document, whatever its level."""
        fixed = (int(self.condensed), WHOLE if upto is None else upto)
        return value("judged_weight", Space.RANKING, fixed=fixed, open=(weights_of(discount),))


class WholeGradedRankings(GradedRankings, WholeRankings):
    """The view for metrics of graded relevance that also need the length of a ranking."""


class Found:
    """The relevant documents of a ranking, retrieved at a given rank or above: values by document, and their sums."""

    def __init__(self, rankings: BinaryRankings, rows: Value) -> None:
        self._rankings = rankings
        self._rows = rows

    @property
    def rank(self) -> Value:
        """The rank r, from 1. In a condensed ranking, it is the rank among the judged documents."""
        return value("rank", Space.ROW, fixed=(int(self._rankings.condensed),))

    @property
    def count(self) -> Value:
        """count(r), the number of relevant documents at this rank and above it."""
        return value("count", Space.ROW, fixed=(self._rankings.rel,))

    @property
    def judged_rank(self) -> Value:
        """The rank among the judged documents."""
        return value("judged_rank", Space.ROW, fixed=(1,))

    @property
    def pooled_rank(self) -> Value:
        """The rank among the documents of level 0 or higher. bpref and infAP take lower levels as unjudged."""
        return value("judged_rank", Space.ROW, fixed=(2,))

    def discount(self, discount: AnyDiscount) -> Value:
        """Return the weight that the discount gives to the rank."""
        condensed = int(self._rankings.condensed)
        return value("weight", Space.ROW, fixed=(condensed,), open=(weights_of(discount),))

    def discount_at(self, rank: Value, discount: AnyDiscount) -> Value:
        """Return the weight that the discount gives to another rank than the document's, from 0 to the document's."""
        return value("weight_at", Space.ROW, rank, open=(weights_of(discount),))

    def by_level(self, by_level: Value) -> Value:
        """Return the number of `by_level` for the level of each document."""
        return value("by_level", Space.ROW, by_level)

    def product_above(self, by_level: Value) -> Value:
        """Return the product of the numbers of `by_level` for the documents above this document.

        Documents that are not relevant count as 1.
        """
        return value("product_above", Space.ROW, by_level, fixed=(self._rankings.rel,))

    @property
    def number(self) -> Value:
        """The number of these documents in each ranking."""
        # The count at the last document, which is looked up. A sum would have to add ones.
        return value("at_last", Space.RANKING, self.count, self._rows)

    def sum(self, by_document: Value) -> Value:
        """Return the sum over the documents of each ranking."""
        return value("sum", Space.RANKING, self._relevant_only(by_document), self._rows)

    def largest(self, by_document: Value) -> Value:
        """Return the largest number of `by_document`, which must be >= 0, for each ranking; 0 if it has none."""
        return value("largest", Space.RANKING, self._relevant_only(by_document), self._rows)

    def at_first(self, by_document: Value) -> Value:
        """Return the number of `by_document` for each ranking's first relevant document; 0 if there is none."""
        return value("at_first", Space.RANKING, by_document, self._rows, fixed=(self._rankings.rel,))

    def at_preferred(self, by_document: Value) -> Value:
        """Return the number of `by_document` for the first document of the highest level found; 0 if there is none."""
        return value("at_preferred", Space.RANKING, by_document, self._rows, fixed=(self._rankings.rel,))

    @property
    def preferred_rank(self) -> Value:
        """The rank of the first document of the highest level found; 0 if there is none."""
        return self.at_preferred(self.rank)

    def _relevant_only(self, by_document: Value) -> Value:
        # Rows are all documents of level >= 1. Those below `rel` must not add to a sum.
        rel = self._rankings.rel
        return by_document if rel == 1 else value("relevant_only", Space.ROW, by_document, fixed=(rel,))


class GradedFound(Found):
    """The relevant documents of a ranking, retrieved at a given rank or above it, with their gains."""

    def __init__(self, rankings: GradedRankings, rows: Value) -> None:
        super().__init__(rankings, rows)
        self._graded = rankings

    @property
    def gain(self) -> Value:
        """g(r), the gain of the document."""
        return self.by_level(self._graded.gains)

    @property
    def cumulative_gain(self) -> Value:
        """cg(r), the gain of this document and of those above it."""
        return value("cumulative_gain", Space.ROW, open=(gains_above(self._graded.rel),))

    @property
    def ideal_cumulative_gain(self) -> Value:
        """cg_I(r), the gain of the first r documents of the ideal ranking."""
        rel, condensed = self._graded.rel, int(self._graded.condensed)
        return value("ideal_cumulative_gain", Space.ROW, fixed=(condensed,), open=(gains_above(rel),))

    @property
    def ideal_cost(self) -> Value:
        """The sum of max(1, g_I(i)) over the ranks i down to this document's rank."""
        settings = (gains_above(self._graded.rel),)
        return value("ideal_cost", Space.ROW, fixed=(int(self._graded.condensed),), open=settings)

    def discounted_gain(self, discount: Discount) -> Value:
        """Return the discounted gain of this document and of those above it."""
        return value("running_sum", Space.ROW, self._relevant_only(self.gain * self.discount(discount)))

    def ideal_discounted_gain(self, discount: Discount) -> Value:
        """Return the discounted gain of the first r documents of the ideal ranking, where r is this document's rank."""
        return self._at_rank("ideal_discounted_gain", discount)

    @property
    def stop_share(self) -> Value:
        """The share of users who stop at the document: its number in `stops`, over the sum for all relevant ones."""
        stops = ("stops", self._graded.rel)
        total = value("ideal_total", Space.TOPIC, open=(stops,))
        return self.by_level(value("gains", Space.LEVEL, open=(stops,))) / total

    def reciprocals(self, discount: Discount, upto: int) -> Value:
        """Return the sum of 1/cg_I(i) over the ranks i from this document's rank to `upto`; cg_I(i) is discounted."""
        return self._at_rank("reciprocals", discount, upto)

    def reciprocals_at_falls(self, discount: Discount) -> Value:
        """Return the sum of 1/cg_I(i) over the ranks i >= this document's rank before a fall, with discounted cg_I(i).

        Such a rank is the last rank of the ideal ranking with its gain: see `IdealRankings.falls`.
        """
        return self._at_rank("reciprocals_at_falls", discount)

    def _at_rank(self, operation: str, discount: Discount, *fixed: int) -> Value:
        settings = (gains_above(self._graded.rel), weights_of(discount))
        return value(operation, Space.ROW, fixed=(int(self._graded.condensed), *fixed), open=settings)


class IdealRankings:
    """The ideal ranking of each topic: all its relevant documents, highest gain first. It has values by topic."""

    def __init__(self, rel: int) -> None:
        self._rel = rel

    @property
    def total(self) -> Value:
        """The gain of all relevant documents."""
        return value("ideal_total", Space.TOPIC, open=(gains_above(self._rel),))

    def expected_reciprocal_rank(self, stop: Value, upto: Rank | None) -> Value:
        """Return ERR of the first `upto` ranks. `stop` are the stop probabilities of levels, 0 for levels below `rel`.

        If `upto` is a value, it must be R.
        """
        return value("ideal_stopping", Space.TOPIC, stop, fixed=(upto if isinstance(upto, int) else WHOLE,))

    def stopping_weight(self, stop: Value, weights: AnyDiscount, upto: Rank | None) -> Value:
        """Return the sum of P_stop(r) times the weight of r over the first `upto` ranks. Arguments are as for ERR."""
        fixed = (upto if isinstance(upto, int) else WHOLE,)
        return value("ideal_stopping_weight", Space.TOPIC, stop, fixed=fixed, open=(weights_of(weights),))

    @property
    def falls(self) -> Value:
        """The number of different gains above 0. After the last document of each of them, the gain falls."""
        return value("ideal_falls", Space.TOPIC, open=(gains_above(self._rel),))

    @property
    def generalised_precision_sum(self) -> Value:
        """The sum of cg_I(r)/r over the ranks r = 1..R."""
        return value("ideal_precisions", Space.TOPIC, fixed=(self._rel,), open=(gains_above(self._rel),))

    def cumulative_gain(self, upto: Rank | None, discount: AnyDiscount) -> Value:
        """Return the discounted gain of the first `upto` ranks, or of all. If `upto` is a value, it must be R."""
        settings = (gains_above(self._rel), weights_of(discount))
        # The first R ranks are the whole ideal ranking.
        return value("ideal_gain", Space.TOPIC, fixed=(upto if isinstance(upto, int) else WHOLE,), open=settings)


def gains_above(rel: int) -> Setting:
    """Return the setting for gains, with `rel` as the lowest relevant level."""
    return ("gains", rel)


def weights_of(discount: AnyDiscount) -> Setting:
    """Return the setting for the weights of ranks. The base or ratio of the discount may be a parameter."""
    number = discount.ratio if isinstance(discount, Geometric) else discount.base
    named = number.open[0] if isinstance(number, Value) else ("constant", number)
    return ("geometric", named) if isinstance(discount, Geometric) else ("discount", named, discount.shift)

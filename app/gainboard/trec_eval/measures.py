"""trec_eval's measures in the order in which it prints them. A measure is one function; there is no other list of them.

Each function takes a topic and the values of its parameters, and returns a number, a list with one for each cut-off, or
a text. The definitions are those of trec_eval 10, with its peculiarities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from gainboard.trec_eval.files import UNJUDGED, UNPOOLED
from gainboard.trec_eval.parameters import Pairs, Reader, cutoffs, nothing, numbers, pairs, shares
from gainboard.trec_eval.topic import Floats, TopicResult, discount_gains, total

Form: TypeAlias = Literal["mean", "sum", "geometric", "queries", "run", "text"]
"""The value over all topics: a mean; a sum, a whole number; a geometric mean of what is printed for no topic; the
number of topics; the run's name; or nothing, of a measure that is a text by topic."""
Value: TypeAlias = float | list[float] | str
Compute = TypeVar("Compute", bound=Callable[[TopicResult, Any], Value])
RANKS: Final = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS: Final = tuple(tenth / 10 for tenth in range(11))
FIFTHS: Final = tuple(fifth / 5 for fifth in range(1, 11))
LEAST: Final = 1e-5
"""The least value in a geometric mean."""


class CannotCompute(Exception):
    """A measure that cannot be computed with these parameters. The message is trec_eval's."""


class Measure(NamedTuple):
    """A measure: its name, the reader of its parameters, and what is printed over all topics."""

    name: str
    read: Reader
    form: Form
    compute: Callable[[TopicResult, Any], Value]

    @property
    def is_count(self) -> bool:
        """True for the sizes that trec_eval prints first."""
        return self.name in ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")

    @property
    def reads_ranking(self) -> bool:
        """False for a measure that has a value also where a document is judged or retrieved twice."""
        return self.form not in ("run", "queries")

    @property
    def explanation(self) -> str:
        """The definition in prose, which is the docstring of the function."""
        return self.compute.__doc__ or ""


MEASURES: Final[dict[str, Measure]] = {}


def measure(name: str, read: Reader = nothing, form: Form = "mean") -> Callable[[Compute], Compute]:
    """Enter a function into the table of measures."""

    def enter(compute: Compute) -> Compute:
        MEASURES[name] = Measure(name, read, form, compute)
        return compute

    return enter


@measure("runid", form="run")
def _runid(topic: TopicResult, _: object) -> Value:
    """The name of the run, from the last line of the results."""
    return 0.0


@measure("num_q", form="queries")
def _num_q(topic: TopicResult, _: object) -> Value:
    """The number of topics."""
    return 1.0


@measure("num_ret", form="sum")
def _num_ret(topic: TopicResult, _: object) -> Value:
    """The number of retrieved documents."""
    return topic.retrieved


@measure("num_rel", form="sum")
def _num_rel(topic: TopicResult, _: object) -> Value:
    """The number of relevant documents, R."""
    return topic.relevant


@measure("num_rel_ret", form="sum")
def _num_rel_ret(topic: TopicResult, _: object) -> Value:
    """The number of relevant documents that are retrieved."""
    return topic.found


@measure("map")
def _map(topic: TopicResult, _: object) -> float:
    """Average precision."""
    return _over(total(topic.precisions), topic.relevant)


@measure("gm_map", form="geometric")
def _gm_map(topic: TopicResult, _: object) -> Value:
    """Average precision, with a geometric mean over topics."""
    return math.log(max(_map(topic, _), LEAST))


@measure("Rprec")
def _rprec(topic: TopicResult, _: object) -> Value:
    """Precision at rank R."""
    return _over(topic.relevant_within(topic.relevant), topic.relevant)


@measure("bpref")
def _bpref(topic: TopicResult, _: object) -> float:
    """The share of pairs of a relevant and a nonrelevant judged document that are in the right order."""
    above = np.cumsum(topic.is_nonrelevant)[topic.judged_positions]
    every = int(topic.counts[: max(topic.threshold, 0)].sum())
    lost = np.minimum(above, topic.relevant) / max(min(every, topic.relevant), 1)
    return _over(total(np.where(above > 0, 1.0 - lost, 1.0)), topic.relevant)


@measure("recip_rank")
def _recip_rank(topic: TopicResult, _: object) -> Value:
    """The reciprocal of the rank of the first relevant document."""
    return 1.0 / (int(topic.positions[0]) + 1) if len(topic.positions) else 0.0


@measure("iprec_at_recall", shares(*TENTHS))
def _iprec_at_recall(topic: TopicResult, recalls: Sequence[float]) -> list[float]:
    """Interpolated precision at recall points: the highest precision at this recall or a higher one."""
    # Halves are rounded away from 0, as C's `lround` does.
    counts = [math.floor(recall * topic.relevant + 0.5) for recall in recalls]
    # trec_eval counts down from the last of the positions, so below threshold 0 it sees the last of them alone.
    last = topic.positions[len(topic.positions) - topic.found :]
    precisions = np.arange(1, topic.found + 1) / (last + 1)
    highest = np.maximum.accumulate(precisions[::-1])[::-1].tolist()
    # Without retrieved documents, trec_eval divides 0 by 0.
    best = highest[0] if highest else (0.0 if topic.retrieved else math.nan)
    precision_at, seen = [0.0] * len(counts), len(highest)
    point = len(counts) - 1
    while point >= 0 and counts[point] > len(highest):
        point -= 1
    # trec_eval takes the points as ascending; out of that order, the rest of them get the highest precision.
    while point >= 0 and 0 < counts[point] <= seen:
        seen = counts[point]
        precision_at[point] = highest[seen - 1]
        point -= 1
    precision_at[: point + 1] = [best] * (point + 1)
    return precision_at


@measure("P", cutoffs(*RANKS))
def _precision(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """Precision at ranks."""
    return [topic.relevant_within(rank) / rank for rank in ranks]


@measure("relstring", numbers(10.0), form="text")
def _relstring(topic: TopicResult, lengths: Sequence[float]) -> Value:
    """The levels of the first documents, a character each: - is unjudged, . has a level below 0, > one above 9."""
    signs = {UNPOOLED: "-", UNJUDGED: "."}
    levels = topic.levels[: max(int(lengths[0]), 0)].tolist()
    return "".join(signs.get(level) or (">" if level > 9 else str(level)) for level in levels)


@measure("recall", cutoffs(*RANKS))
def _recall(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """Recall at ranks."""
    return [_over(topic.relevant_within(rank), topic.relevant) for rank in ranks]


@measure("infAP")
def _infap(topic: TopicResult, _: object) -> Value:
    """Inferred average precision (Yilmaz and Aslam, CIKM 2006), for judgments of a sample of the pool."""
    epsilon = 0.00001  # INFAP_EPSILON of trec_eval
    ranks = topic.judged_positions.astype(float)
    relevant = np.arange(len(ranks), dtype=float)
    nonrelevant = np.cumsum(topic.is_nonrelevant)[topic.judged_positions]
    unjudged = np.cumsum(topic.levels == UNJUDGED)[topic.judged_positions]
    # A document at rank 1 has none above it: its value is set below.
    with np.errstate(all="ignore"):
        in_pool = (relevant + nonrelevant + unjudged) / ranks
        share = (relevant + epsilon) / (relevant + nonrelevant + 2 * epsilon)
        expected = 1.0 / (ranks + 1) + (ranks / (ranks + 1)) * in_pool * share
    return _over(total(np.where(ranks == 0, 1.0, expected)), topic.relevant)


@measure("gm_bpref", form="geometric")
def _gm_bpref(topic: TopicResult, _: object) -> Value:
    """bpref, with a geometric mean over topics."""
    return math.log(max(_bpref(topic, _), LEAST))


@measure("Rprec_mult", shares(*FIFTHS))
def _rprec_mult(topic: TopicResult, multiples: Sequence[float]) -> Value:
    """Precision at multiples of R."""
    # trec_eval rounds up in this way, so less than a tenth above a whole number is rounded down.
    ranks = [int(multiple * topic.relevant + 0.9) for multiple in multiples]
    # As for interpolated precision, trec_eval counts down from the last of the positions.
    unseen = len(topic.positions) - topic.found
    return [max(topic.relevant_within(rank) - unseen, 0) / rank if rank > 0 else 0.0 for rank in ranks]


@measure("utility", numbers(1.0, -1.0, 0.0, 0.0))
def _utility(topic: TopicResult, weights: Sequence[float]) -> Value:
    """The weighted sum of the relevant and nonrelevant documents, retrieved and not. The last ones need `-N`."""
    if len(weights) != 4:
        raise CannotCompute("trec_eval.calc_utility: improper number of coefficients")
    hits, retrieved, relevant = topic.found, topic.retrieved, topic.relevant
    rest = topic.documents + hits - retrieved - relevant
    one, two, three, four = weights
    return one * hits + two * (retrieved - hits) + three * (relevant - hits) + four * rest


@measure("11pt_avg", numbers(*TENTHS))
def _eleven_points(topic: TopicResult, recalls: Sequence[float]) -> Value:
    """The mean of interpolated precision at recall points."""
    return total(_iprec_at_recall(topic, recalls)[::-1]) / len(recalls)


@measure("binG")
def _bin_g(topic: TopicResult, _: object) -> Value:
    """The mean over relevant documents of 1 / log2(2 + documents above it that are not relevant)."""
    above = topic.positions - np.arange(len(topic.positions))
    return _over(total(1.0 / np.log2(2.0 + above)), topic.relevant)


@measure("G", pairs)
def _g(topic: TopicResult, parameters: Pairs) -> Value:
    """Gains, each over log2(2 + the ideal cumulative gain - the cumulative gain), over the sum of all gains."""
    gains = topic.gains(parameters)
    # A rank beyond the ideal ranking costs as much as one with a gain below 1.
    cost = np.ones(topic.retrieved)
    shared = min(len(gains.ideal), topic.retrieved)
    cost[:shared] = np.maximum(gains.ideal[:shared], 1.0)
    with np.errstate(all="ignore"):
        parts = gains.by_rank / np.log2(2.0 + np.cumsum(cost) - np.cumsum(gains.by_rank))
    return _over(total(np.where(gains.by_rank != 0, parts, 0.0)), total(gains.ideal))


@measure("dcg", pairs)
def _dcg(topic: TopicResult, parameters: Pairs) -> Value:
    """Discounted cumulative gain: gains over log2(rank + 1)."""
    return _last(discount_gains(topic.gains(parameters).by_rank))


@measure("ideal_dcg", pairs)
def _ideal_dcg(topic: TopicResult, parameters: Pairs) -> Value:
    """Discounted cumulative gain of the ideal ranking."""
    return _last(discount_gains(topic.gains(parameters).ideal))


@measure("ndcg", pairs)
def _ndcg(topic: TopicResult, parameters: Pairs) -> Value:
    """Normalised discounted cumulative gain of the whole ranking. Gains are the levels, or those of `1=3,2=9`."""
    gains = topic.gains(parameters)
    return _over(_last(discount_gains(gains.by_rank)), _last(discount_gains(gains.ideal)))


@measure("ndcg_rel", pairs)
def _ndcg_rel(topic: TopicResult, parameters: Pairs) -> Value:
    """nDCG, averaged over the ranks of relevant documents. Those that are not retrieved count with the last rank."""
    gains = topic.gains(parameters)
    discounted, relevant = discount_gains(gains.by_rank), len(gains.ideal)
    ideal = discount_gains(gains.ideal) if relevant else np.zeros(1)
    at = np.flatnonzero(gains.by_rank > 0)
    with np.errstate(all="ignore"):  # without an ideal ranking, C divides by 0, too
        sums = discounted[at] / ideal[np.minimum(at, len(ideal) - 1)]
        sum_of_ratios = total(sums) + (relevant - len(at)) * _last(discounted) / ideal[-1]
        return float(np.float64(sum_of_ratios) / relevant) if sum_of_ratios > 0 else 0.0


@measure("Rndcg", pairs)
def _rndcg(topic: TopicResult, parameters: Pairs) -> Value:
    """nDCG, averaged over the ranks at which the gain of the ideal ranking changes, and the last rank."""
    if topic.relevant == 0:
        return 0.0
    gains = topic.gains(parameters)
    discounted, ideal = discount_gains(gains.by_rank), discount_gains(gains.ideal)
    ends = [*(np.flatnonzero(np.diff(gains.ideal)) + 1).tolist(), *([len(ideal)] if len(ideal) else [])]
    ratios = [_last(discounted[:end]) / float(ideal[end - 1]) for end in ends]
    # Not `> len(ideal)`: trec_eval leaves out the end of a ranking of R + 1 documents.
    if len(ideal) and topic.retrieved > len(ideal) + 1:
        ratios.append(_last(discounted) / float(ideal[-1]))
    return total(ratios) / len(ratios) if ratios else math.nan


@measure("ndcg_cut", cutoffs(*RANKS))
def _ndcg_cut(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """nDCG at ranks. Gains are the levels."""
    gains = topic.gains(())
    discounted, ideal = discount_gains(gains.by_rank), discount_gains(gains.ideal)
    return [_over(_last(discounted[:rank]), _last(ideal[:rank])) for rank in ranks]


@measure("map_cut", cutoffs(*RANKS))
def _map_cut(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """Average precision of the first documents."""
    return [_over(total(topic.precisions[: topic.relevant_within(rank)]), topic.relevant) for rank in ranks]


@measure("relative_P", cutoffs(*RANKS))
def _relative_precision(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """Precision at ranks over the highest possible one."""
    return [_over(topic.relevant_within(rank), min(rank, topic.relevant)) for rank in ranks]


@measure("success", cutoffs(1, 5, 10))
def _success(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """1 if a relevant document is among the first ones, else 0."""
    return [float(topic.relevant_within(rank) > 0) for rank in ranks]


@measure("set_P")
def _set_precision(topic: TopicResult, _: object) -> float:
    """The share of relevant documents among the retrieved ones."""
    return _over(topic.found, topic.retrieved)


@measure("set_relative_P")
def _set_relative_precision(topic: TopicResult, _: object) -> Value:
    """`set_P` over the highest possible one."""
    return _over(topic.found, min(topic.retrieved, topic.relevant))


@measure("set_recall")
def _set_recall(topic: TopicResult, _: object) -> float:
    """The share of retrieved documents among the relevant ones."""
    return _over(topic.found, topic.relevant)


@measure("set_map")
def _set_map(topic: TopicResult, _: object) -> Value:
    """`set_P` times `set_recall`."""
    return _over(float(topic.found) ** 2, float(topic.retrieved * topic.relevant))


@measure("set_F", numbers(1.0))
def _set_f(topic: TopicResult, weights: Sequence[float]) -> Value:
    """The weighted harmonic mean of `set_P` and `set_recall`; the parameter is the weight of recall."""
    if not topic.found:
        return 0.0
    precision, recall, weight = _set_precision(topic, ()), _set_recall(topic, ()), weights[0]
    return (weight + 1.0) * precision * recall / (weight * precision + recall)


@measure("num_nonrel_judged_ret", form="sum")
def _num_nonrel_judged_ret(topic: TopicResult, _: object) -> Value:
    """The number of retrieved documents that were judged nonrelevant."""
    return int(topic.is_nonrelevant.sum())


@measure("yaap")
def _yaap(topic: TopicResult, _: object) -> Value:
    """The logarithm of (1 + s) / (1 + R - s), where s is the sum of precisions (Robertson, ECIR 2012)."""
    precisions = total(topic.precisions)
    rest = 1.0 + topic.relevant - precisions
    if rest <= 0:  # below threshold 0 alone
        return math.inf if rest == 0 else math.nan
    return math.log((1.0 + precisions) / rest)


@measure("rbp", pairs)
def _rbp(topic: TopicResult, parameters: Pairs) -> Value:
    """Rank-biased precision; `p=0.8` is the persistence (default 0.9), and `1=3,2=9` are gains, scaled to [0, 1].

    trec_eval compares the gains with numbers that it never sets. Here these are 0, as they are on most machines.
    """
    persistence, gains = _persistence(parameters), topic.gains(parameters).by_rank
    levels = topic.gain_levels(parameters)
    low, high = (bound([0.0, *(level.gain for level in levels)]) for bound in (min, max))
    if low < 0 or high > 1:
        judged = np.isin(topic.levels, [level.level for level in levels])
        gains = np.where(judged, (gains - low) / (high - low), 0.0)
    return (1.0 - persistence) * total(gains * persistence ** np.arange(topic.retrieved))


@measure("rbp_resid", pairs)
def _rbp_resid(topic: TopicResult, parameters: Pairs) -> Value:
    """The part of `rbp` that unjudged documents could add. 0 if no retrieved document is unjudged."""
    persistence, unjudged = _persistence(parameters), np.flatnonzero(topic.levels < 0)
    if not len(unjudged):
        return 0.0
    return float(persistence**topic.retrieved) + (1.0 - persistence) * total(persistence ** unjudged.astype(float))


@measure("unj", cutoffs(5, 10, 20))
def _unj(topic: TopicResult, ranks: Sequence[int]) -> Value:
    """The share of unjudged documents among the first ones."""
    return [float(np.count_nonzero(topic.levels[:rank] < 0)) / rank for rank in ranks]


NICKNAMES: Final[Mapping[str, Sequence[str]]] = {
    "official": list(MEASURES)[: 1 + list(MEASURES).index("P")],
    "set": [name for name in MEASURES if name.startswith("set_") or name == "utility" or MEASURES[name].is_count],
    "all_trec": [name for name in MEASURES if name not in ("dcg", "ideal_dcg", "yaap")],
}
"""Names for several measures."""
REFUSED: Final = ("all_prefs", "prefs", "qrels_jg")
"""Nicknames of measures for other formats of judgments."""


def _over(value: float, divisor: float) -> float:
    """Return a quotient, or 0 if the divisor is 0."""
    return value / divisor if divisor else 0.0


def _last(values: Floats) -> float:
    return float(values[-1]) if len(values) else 0.0


def _persistence(parameters: Pairs) -> float:
    """Return the last `p`, or the default."""
    return next((value for name, value in reversed(parameters) if name == "p"), 0.9)

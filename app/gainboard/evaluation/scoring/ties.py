"""Ties of a run: which documents have equal retrieval scores, and what other orders of them would score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.metrics import (
    BoundMetric,
    JudgedRun,
    JudgedRuns,
    Judgments,
    TiedRun,
    expected_form,
    expected_scores,
    is_without_order,
    mean_all,
    score_all,
)
from gainboard.trec import Ranking, single_precision
from gainboard.vocabulary import OrderBy, TiesAsked

Floats = NDArray[np.float64]
ORDERS: Final = 1000
"""The number of orders that are drawn where the expectation has no closed form."""
SEED: Final = 0
"""The seed of these orders: equal requests have equal answers."""


@dataclass
class RunTies:
    """The tie groups of a run, in the precision of its order; none if ranks order it.

    `groups` int32 [groups, 2] by topic are the first rank, from 1, and the number of documents of each group of at
    least two. `cut` is the number of topics whose last group goes on beyond the depth, where documents are not kept.
    """

    order_by: OrderBy
    groups: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    documents: int = 0
    tied: int = 0
    cut: int = 0

    @classmethod
    def of(cls, rankings: Iterable[Ranking], order_by: OrderBy, depth: int) -> RunTies:
        """Return the ties of rankings, which must be one document deeper than `depth` to show what is cut."""
        ties = cls(order_by)
        for ranking in rankings:
            ties.documents += min(len(ranking.scores), depth)
            if order_by == "rank":
                continue
            keys = single_precision(ranking.scores) if order_by == "score32" else ranking.scores
            ties.cut += int(len(keys) > depth and keys[depth - 1] == keys[depth])
            keys = keys[:depth]
            # Rankings are sorted by these keys, so equal ones are neighbours.
            starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
            sizes = np.diff(np.append(starts, len(keys)))
            tied = sizes > 1
            if tied.any():
                ties.groups[ranking.topic] = np.stack([starts[tied] + 1, sizes[tied]], axis=1).astype(np.int32)
                ties.tied += int(sizes[tied].sum())
        return ties

    @property
    def tied_share(self) -> float | None:
        """The share of the documents that are tied with a neighbour; None if ranks order the run."""
        return None if self.order_by == "rank" else self.tied / max(self.documents, 1)

    @property
    def nbytes(self) -> int:
        """The approximate number of bytes in memory."""
        return sum(groups.nbytes + 200 for groups in self.groups.values()) + 200

    def tied_run(self, run: JudgedRun, topics: Sequence[str]) -> TiedRun:
        """Return the judged run, whose `topics` are these, with the tie group of each row."""
        first = run.rank.astype(np.int64)
        size = np.ones(len(first), np.int64)
        for number, topic in enumerate(topics):
            rows = slice(*run.starts[number : number + 2])
            if (groups := self.groups.get(topic)) is None or rows.start == rows.stop:
                continue
            group = np.searchsorted(groups[:, 0], first[rows], side="right") - 1
            begin, length = groups[group].T.astype(np.int64)
            inside = (group >= 0) & (first[rows] < begin + length)
            first[rows], size[rows] = np.where(inside, begin, first[rows]), np.where(inside, length, 1)
        return TiedRun(run, first, size)


class TiedScores(NamedTuple):
    """Scores of one run under other orders of its ties: float64 [metrics, topics] and their means [metrics].

    For `range`, `names` are `worst` and `best`. For `expected`, they are `expected` and `standard_error`, which is 0
    for exact expectations. The standard error of a geometric mean is NaN.
    """

    scores: Mapping[str, Floats]
    means: Mapping[str, Floats]


def range_of(metrics: Sequence[BoundMetric], tied: TiedRun, judgments: Judgments, name: str) -> TiedScores:
    """Return the lowest and the highest score of each topic over all orders of its ties, of the run called `name`.

    Raise InvalidRequest for a metric for which sorted documents need not be best, if there are too many orders.
    """
    ends = JudgedRuns.of([tied.order_ties(best_first=best) for best in (False, True)], judgments)
    # Where a high score is not good, as for RBPresidual, descending levels have the lowest score.
    scores = score_all(metrics, ends)
    worst, best = scores.min(axis=1), scores.max(axis=1)
    unsorted = [row for row, metric in enumerate(metrics) if not metric.metric.sorted_is_best]
    tried = [metrics[row] for row in unsorted]
    for topic in tied.mixed_topics if tried else ():
        if (orders := tied.every_order(topic, judgments)) is None:
            message = (
                f"{tried[0].label} has no range for the run {name!r}: sorting tied documents need not be best for it, "
                "and a topic has too many orders to try (a group of more than 6 tied documents, or too many groups). "
                "Leave this metric out, or ask for `ties=expected`."
            )
            raise InvalidRequest.at("query.ties", "too-many-orders", message)
        by_order = score_all(tried, orders)[:, :, 0]
        worst[unsorted, topic], best[unsorted, topic] = by_order.min(axis=1), by_order.max(axis=1)
    scores_by_end = {"worst": worst, "best": best}
    return TiedScores(scores_by_end, {end: mean_all(metrics, table) for end, table in scores_by_end.items()})


def is_drawn(metric: BoundMetric) -> bool:
    """Return whether the metric's expectation has no closed form, so that orders are drawn."""
    return expected_form(metric.formula) is None and not is_without_order(metric)


def expected_of(metrics: Sequence[BoundMetric], tied: TiedRun, judgments: Judgments) -> TiedScores:
    """Return the expected score of each topic over all orders of its ties, and its standard error.

    The error is 0 for exact expectations. Others are means of 1,000 orders that are drawn.
    """
    shape = (len(metrics), judgments.topics)
    expected, error = np.empty(shape), np.zeros(shape)
    exact = [row for row, metric in enumerate(metrics) if expected_form(metric.formula)]
    expected[exact] = expected_scores([metrics[row] for row in exact], tied, judgments)
    if rest := [row for row in range(len(metrics)) if row not in exact]:
        expected[rest] = score_all([metrics[row] for row in rest], JudgedRuns.of([tied.run], judgments))[:, 0]
        drawn = [row for row in rest if is_drawn(metrics[row])]
        for topic in tied.mixed_topics if drawn else ():
            runs = tied.arrange_topic(topic, judgments, _draw_slots(tied, topic), ORDERS)
            scores = score_all([metrics[row] for row in drawn], runs)[:, :, 0]
            expected[drawn, topic] = scores.mean(axis=1)
            error[drawn, topic] = scores.std(axis=1, ddof=1) / np.sqrt(ORDERS)
    error[np.isnan(expected)] = np.nan
    defined = ~np.isnan(error)
    squares = np.where(defined, error, 0.0) ** 2
    # A metric that no topic defines divides 0 by 0, and NaN is the right answer.
    with np.errstate(invalid="ignore"):
        of_means: Floats = np.sqrt(squares.sum(axis=1)) / defined.sum(axis=1)
    # Orders are drawn for each topic by itself, so their errors are independent; those of logarithms are not known.
    of_means[[metric.is_geometric and bool(squares[row].any()) for row, metric in enumerate(metrics)]] = np.nan
    means = {"expected": mean_all(metrics, expected), "standard_error": of_means}
    return TiedScores({"expected": expected, "standard_error": error}, means)


def _draw_slots(tied: TiedRun, topic: int) -> Iterator[NDArray[np.int64]]:
    from gainboard.statistics.draws import Draws  # noqa: PLC0415 (with all tests of significance)

    # Each topic has a stream of its own, so that draws do not change with the other runs and metrics of a request.
    draws = Draws(SEED, "ties", topic)
    for rows in tied.mixed_groups(topic):
        size = int(tied.size[rows.start])
        yield draws.permutations(ORDERS, 1, size)[:, 0, : rows.stop - rows.start].astype(np.int64)


def refuse_by_intent(metrics: Sequence[BoundMetric]) -> None:
    """Raise InvalidRequest for a metric that needs to know documents: orders of ties are known by level only."""
    for metric in metrics:
        if metric.needs_intents or metric.metric.needs_annotations:
            message = f"{metric.label} depends on which documents are tied, not only on their levels. Leave it out."
            raise InvalidRequest.at("query.metric", "needs-intents", message)


def tied_scores(
    asked: TiesAsked, metrics: Sequence[BoundMetric], tied: TiedRun, judgments: Judgments, name: str
) -> TiedScores:
    """Return what is asked about the ties of a run. Raise InvalidRequest as `range_of` does."""
    return range_of(metrics, tied, judgments, name) if asked == "range" else expected_of(metrics, tied, judgments)


def as_json(
    ties: RunTies, scored: TiedScores, labels: Sequence[str], topics: Sequence[str], per_topic: bool
) -> dict[str, Any]:
    """Return the ties and the scores of a run as JSON has them, over HTTP and offline."""
    shown: dict[str, Any] = {"tied_share": ties.tied_share, "topics_cut": ties.cut}
    for name, means in scored.means.items():
        shown[name] = {"mean": dict(zip(labels, map(_or_none, means.tolist()), strict=True))}
        if per_topic:
            shown[name]["topics"] = {
                label: dict(zip(topics, map(_or_none, row), strict=True))
                for label, row in zip(labels, scored.scores[name].tolist(), strict=True)
            }
    return shown


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number

"""Curves of one judged run: gain by rank, and precision by recall, averaged over topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.columns import Rankings
from gainboard.metrics.gains import NO_DISCOUNT, Discount, GainSetting, LevelGains
from gainboard.metrics.rankings import JudgedRun, JudgedRuns
from gainboard.metrics.retrieval import Scores

RECALL_STEPS: Final = 10
"""Precision is interpolated at recall 0/10, 1/10, ..., 10/10."""
_VALUES = 1 << 18
"""The largest table, in topics x ranks (2 MB). More topics are computed in several blocks."""


class CurvesOfRun:
    """The data for the curves of one judged run.

    `run` is its position in `runs`, `rel` the lowest relevant level. With `condensed`, unjudged documents are removed
    before ranks are counted.
    """

    def __init__(self, runs: JudgedRuns, run: int, rel: int = 1, condensed: bool = False) -> None:
        rankings = Rankings(runs, np.array([run]))
        row = rankings.relevant_rows(rel)
        self._classes = runs.judgments.classes
        self._rel = rel
        self._topic = rankings.ranking.take(row)
        self._rank = rankings.ranks[condensed].take(row)
        self._level = rankings.level.take(row)

    def gain(self, setting: GainSetting, base: float, upto: int) -> Mapping[str, Scores]:
        """Return the means of CG, DCG, nCG and nDCG, by name, at every cut-off from 1 to `upto`: float64 [upto] each.

        All use one gain setting and one logarithm base. The means are those of the metrics: a topic that the run lacks
        counts 0, and a topic whose ideal ranking has gain 0 is left out. All means are NaN if every topic is left out.
        """
        # If every topic is left out, 0 is divided by 0, and NaN is the right answer.
        with np.errstate(all="ignore"):
            curves = _GainCurves(self, LevelGains.of((setting, self._rel), self._classes), upto)
            return {
                "CG": curves.average_gain(NO_DISCOUNT),
                "DCG": curves.average_gain(Discount(base)),
                "nCG": curves.average_normalised_gain(NO_DISCOUNT),
                "nDCG": curves.average_normalised_gain(Discount(base)),
            }

    def ideal_gain(self, setting: GainSetting, upto: int) -> Scores:
        """Return the mean CG of the ideal rankings at every cut-off from 1 to `upto`: float64 [upto].

        The mean is over the same topics as that of `gain`, and NaN if there are none.
        """
        classes, gains = self._classes, LevelGains.of((setting, self._rel), self._classes)
        topics = np.bincount(classes.topic_class, minlength=len(classes.counts)) * (gains.worth(classes.last) > 0)
        ranks, curve = np.arange(1, upto + 1), np.zeros(upto)
        for chosen in _blocks(len(topics), upto):
            curve += topics[chosen] @ gains.gain_by_rank(classes, chosen, ranks, NO_DISCOUNT)
        return curve / (topics.sum() or np.nan)

    def precision_recall(self) -> Scores:
        """Return the mean interpolated precision at recall 0, 0.1, ..., 1, as in trec_eval: float64 [11].

        The mean is over the topics with relevant documents. Interpolated precision at recall x is the highest precision
        at a rank where the share x of the relevant documents, and at least one of them, has been found. It is 0 if
        there is no such rank. For a few topics, trec_eval asks for one document fewer at recall 0.3 or 0.7, for
        example for two of three at 0.7, because it computes the number of documents in floating point.
        """
        relevant = self._classes.last[:, self._rel].take(self._classes.topic_class)
        number = np.bincount(self._topic, minlength=len(relevant))
        # In integers, because 0.3 times 10 documents in floating point would be rounded up to 4 documents.
        needed = np.maximum(1, -(-relevant[:, np.newaxis] * np.arange(RECALL_STEPS + 1) // RECALL_STEPS))
        end = np.cumsum(number)[:, np.newaxis]
        start = end - number[:, np.newaxis] + needed - 1
        reached = start < end
        spans = np.stack(np.broadcast_arrays(start, end), axis=-1)[reached].ravel()
        count = np.arange(1, len(self._rank) + 1) - (np.cumsum(number) - number).take(self._topic)
        # Only ranks of relevant documents matter, because precision falls between them. The zero at the end allows the
        # last span to end with the rows.
        at_rows = np.append(count / self._rank, 0.0)
        precision = np.zeros(start.shape)
        precision[reached] = np.maximum.reduceat(at_rows, spans)[::2]
        return np.asarray(precision.sum(axis=0) / (np.count_nonzero(relevant) or np.nan))


def judged_share(run: JudgedRun, upto: int) -> Scores:
    """Return the share of judged documents among the first r of a topic, for r from 1 to `upto`: float64 [upto].

    It is the mean over the topics of which the run has a ranking, and NaN if there are none. A ranking that ends before
    rank r counts with all its documents.
    """
    length = run.retrieved
    judged = np.diff(run.starts)
    # Each judged document counts at the ranks from its own to the end of the ranking, there with a share of 1/r.
    last = np.minimum(np.repeat(length, judged), upto)
    seen = run.rank <= upto
    gone = np.bincount(last[seen], minlength=upto + 1)[:upto]
    growing = np.bincount(run.rank[seen] - 1, minlength=upto) - gone
    # Rankings that have ended keep the share of all their documents.
    ended = (length > 0) & (length < upto)
    kept = np.bincount(length[ended], judged[ended] / length[ended], upto)[:upto]
    shares = np.cumsum(growing) / np.arange(1, upto + 1) + np.cumsum(kept)
    return np.asarray(shares / (np.count_nonzero(length) or np.nan))


class _GainCurves:
    def __init__(self, run: CurvesOfRun, gains: LevelGains, upto: int) -> None:
        kept = run._rank <= upto
        self._topic, self._rank, level = run._topic[kept], run._rank[kept], run._level[kept]
        self._classes, self._gains, self._upto = run._classes, gains, upto
        self._gain = np.broadcast_to(gains.gain, self._classes.counts.shape)[
            self._classes.topic_class.take(self._topic), level
        ]

    @cached_property
    def _defined(self) -> float:
        """The number of topics in the means, or NaN if there are none."""
        worth = self._gains.worth(self._classes.last).take(self._classes.topic_class)
        return float(np.count_nonzero(worth)) or np.nan

    def average_gain(self, discount: Discount) -> Scores:
        return self._by_rank(self._gain * discount.at(self._rank)) / self._defined

    def average_normalised_gain(self, discount: Discount) -> Scores:
        classes, upto = self._classes, self._upto
        gain = self._gain * discount.at(self._rank)
        shallow = min(upto, classes.deepest)
        # At deeper ranks, no ideal ranking gains more. There each document adds its gain divided by the total ideal
        # gain, and no table is needed.
        whole = self._gains.ideal_gain(classes, upto, discount).take(classes.topic_class)
        curve = self._by_rank(_share(gain, whole[self._topic]))
        curve[:shallow] = 0.0
        for topics in _blocks(len(classes.topic_class), shallow):
            ideal = self._gains.gain_by_rank(classes, classes.topic_class[topics], np.arange(1, shallow + 1), discount)
            first, last = np.searchsorted(self._topic, (topics[0], topics[-1] + 1))
            rows = np.arange(first, last)[self._rank[first:last] <= shallow]
            gained = np.zeros((len(topics), shallow))  # the discounted gain of the first r ranks of each topic
            gained[self._topic[rows] - topics[0], self._rank[rows] - 1] = gain[rows]
            np.cumsum(gained, axis=1, out=gained)
            curve[:shallow] += _share(gained, ideal).sum(axis=0)
        return curve / self._defined

    def _by_rank(self, values: Scores) -> Scores:
        """Return the sums over all topics and the first r ranks, for r from 1 to the last rank of the curve."""
        # For empty input, bincount returns integers.
        sums = np.bincount(self._rank - 1, values, self._upto).astype(np.float64, copy=False)
        return np.cumsum(sums, out=sums)


def _share(part: Scores, whole: Scores) -> Scores:
    """Return `part` divided by `whole`; 0 where `whole` is not above 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _blocks(rows: int, ranks: int) -> Iterator[NDArray[np.intp]]:
    """Return the numbers of all rows, topics or classes, in blocks of which each has a table that is not too large."""
    size = max(1, _VALUES // max(1, ranks))
    return (np.arange(start, min(start + size, rows)) for start in range(0, rows, size))

"""From dictionaries, which tests can be read in, to the arrays that metrics compute on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics import (
    BoundMetric,
    JudgedRun,
    JudgedRuns,
    Judgments,
    RetrievalScores,
    Scale,
    resolve,
    score_all,
)

Qrels = Mapping[str, Mapping[str, int]]
Ranking = Mapping[str, float] | Sequence[str]
"""Documents in order of rank, with their scores if these matter."""


def judgments(qrels: Qrels, highest_level: int = 3) -> Judgments:
    counts = np.zeros((len(qrels), highest_level + 1), dtype=np.int64)
    negative = np.zeros(len(qrels), dtype=np.int64)
    for topic, levels in enumerate(qrels.values()):
        for level in levels.values():
            if level < 0:
                negative[topic] += 1
            else:
                counts[topic, level] += 1
    return Judgments(counts, negative)


def judged(qrels: Qrels, run: Mapping[str, Ranking], highest_level: int = 3) -> JudgedRuns:
    """One run joined with the qrels."""
    return JudgedRuns.of([joined(qrels, run)], judgments(qrels, highest_level))


def scores_of(metric: BoundMetric, runs: JudgedRuns) -> NDArray[np.float64]:
    """The scores of the first run by topic."""
    return np.asarray(score_all([metric], runs)[0, 0])


def joined(qrels: Qrels, run: Mapping[str, Ranking]) -> JudgedRun:
    """The run joined with the qrels, document by document."""
    ranks, levels, starts = [], [], [0]
    rankings = [_scored(run.get(topic, ())) for topic in qrels]
    for ranking, known in zip(rankings, qrels.values(), strict=True):
        found = [(rank, known[document]) for rank, document in enumerate(ranking, 1) if document in known]
        ranks += [rank for rank, _ in found]
        levels += [level for _, level in found]
        starts.append(len(ranks))
    return JudgedRun(
        starts=np.array(starts),
        rank=np.array(ranks, dtype=np.uint16),
        level=np.array(levels, dtype=np.int8),
        retrieved=np.array([len(ranking) for ranking in rankings]),
        retrieval_scores=_retrieval_scores(rankings, list(qrels.values())),
    )


def score(expression: str, levels: Mapping[str, int], ranking: Ranking, h: int = 3, **query: str) -> float:
    """The score of one ranking of one topic."""
    metric = resolve(expression, Scale(h), query=query)
    return float(scores_of(metric, judged({"t": levels}, {"t": ranking}, h))[0])


def _scored(ranking: Ranking) -> Mapping[str, float]:
    if isinstance(ranking, Mapping):
        return ranking
    return {document: float(len(ranking) - rank) for rank, document in enumerate(ranking)}


def _retrieval_scores(rankings: Sequence[Mapping[str, float]], qrels: Sequence[Mapping[str, int]]) -> RetrievalScores:
    lowest, highest, scaled, absolute, of_judged = [], [], [], [], []
    for ranking, known in zip(rankings, qrels, strict=True):
        low, high = min(ranking.values(), default=0.0), max(ranking.values(), default=0.0)
        unjudged = [value for document, value in ranking.items() if document not in known]
        lowest.append(low)
        highest.append(high)
        scaled.append(sum((value - low) / (high - low) if high > low else 1.0 for value in unjudged))
        absolute.append(sum(abs(value) for value in unjudged))
        of_judged += [value for document, value in ranking.items() if document in known]
    columns = (of_judged, lowest, highest, scaled, absolute)
    return RetrievalScores(*(np.array(column, dtype=np.float64) for column in columns))

"""From dictionaries, which tests can be read in, to the arrays that metrics compute on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gainboard.metrics import (
    Annotations,
    AttributeSet,
    Intents,
    JudgedRun,
    JudgedRuns,
    Judgments,
    RetrievalScores,
    Scale,
    every_metric,
    resolve,
    score_all,
)

Qrels = Mapping[str, Mapping[str, int]]
Ranking = Mapping[str, float] | Sequence[str]
"""Documents in order of rank, with their scores if these matter."""


def ordinary_metrics():
    return [metric for metric in every_metric() if metric.has_formula]


def judgments(qrels, highest_level=3):
    counts = np.zeros((len(qrels), highest_level + 1), dtype=np.int64)
    negative = np.zeros(len(qrels), dtype=np.int64)
    for topic, levels in enumerate(qrels.values()):
        for level in levels.values():
            if level < 0:
                negative[topic] += 1
            else:
                counts[topic, level] += 1
    return Judgments(counts, negative, one_intent(qrels), annotations(qrels))


def annotations(qrels):
    """Every judged document in a pool of one stratum that was judged completely, and in one of two groups."""
    levels = [level for known in qrels.values() for _, level in sorted(known.items(), reverse=True)]
    starts = np.cumsum([0, *map(len, qrels.values())])
    groups = np.eye(2)[[number % 2 for number in range(len(levels))]].reshape(-1, 2)
    groups = AttributeSet("half", False, np.array([0.5, 0.5]), groups)
    return Annotations(starts, np.array(levels, np.int8), np.ones(len(levels), np.int64), (groups,))


def one_intent(qrels):
    """Each topic with a single intent, so that metrics of diversified rankings can score everything, too."""
    relevant = [
        (topic, numbers[document], level)
        for topic, levels in enumerate(qrels.values())
        for numbers in [numbered(levels)]
        for document, level in levels.items()
        if level > 0
    ]
    rows = np.array(sorted(relevant), dtype=np.int64).reshape(-1, 3)
    starts = np.cumsum([0, *map(len, qrels.values())])
    return Intents(
        np.arange(len(qrels) + 1), np.ones(len(qrels)), starts, rows[:, 0], rows[:, 1], rows[:, 2].astype(np.int8)
    )


def numbered(levels):
    return {document: number for number, document in enumerate(sorted(levels, reverse=True))}


def judged(qrels, run, highest_level=3):
    return JudgedRuns.of([joined(qrels, run)], judgments(qrels, highest_level))


def scores_of(metric, runs):
    return np.asarray(score_all([metric], runs)[0, 0])


def table_of(metrics, runs):
    """The scores of the first run: [metrics, topics]."""
    return np.asarray(score_all(metrics, runs)[:, 0])


def joined(qrels, run):
    ranks, levels, starts, documents = [], [], [0], []
    rankings = [_scored(run.get(topic, ())) for topic in qrels]
    for ranking, known in zip(rankings, qrels.values(), strict=True):
        found = [(rank, known[document]) for rank, document in enumerate(ranking, 1) if document in known]
        ranks += [rank for rank, _ in found]
        numbers = numbered(known)
        documents += [numbers[document] for document in ranking if document in known]
        levels += [level for _, level in found]
        starts.append(len(ranks))
    run = JudgedRun(
        starts=np.array(starts),
        rank=np.array(ranks, dtype=np.uint16),
        level=np.array(levels, dtype=np.int8),
        retrieved=np.array([len(ranking) for ranking in rankings]),
        retrieval_scores=_retrieval_scores(rankings, list(qrels.values())),
        document=np.array(documents, dtype=np.uint32),
    )
    return replace(run, annotated=run)


def score(expression, levels, ranking, h=3, **query):
    metric = resolve(expression, Scale(h, intents=True), defaults=query)
    return float(scores_of(metric, judged({"t": levels}, {"t": ranking}, h))[0])


def _scored(ranking):
    if isinstance(ranking, Mapping):
        return ranking
    return {document: float(len(ranking) - rank) for rank, document in enumerate(ranking)}


def _retrieval_scores(rankings, qrels):
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

"""Judgments by intent and runs, from dictionaries that tests can be read in, as the service joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.judging import QrelsIndex, judge
from gainboard.metrics import JudgedRuns, Scale, resolve, score_all
from gainboard.trec import Ranking, read_intent_qrels

ByIntent = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Topic -> intent -> document -> level. Intent 0 is none."""
Probabilities = Mapping[str, Mapping[str, float]]
Run = Mapping[str, Sequence[str]]


def text_of(qrels: ByIntent, probabilities: Probabilities | None = None) -> bytes:
    """The qrels as one file."""
    lines = [
        f"{topic} {intent} {document} {level}"
        for topic, intents in qrels.items()
        for intent, levels in intents.items()
        for document, level in levels.items()
    ]
    for topic, intents in (probabilities or {}).items():
        lines += [f"{topic} {intent} {probability!r}" for intent, probability in intents.items()]
    return "\n".join([*lines, ""]).encode()


def index_of(qrels: ByIntent, probabilities: Probabilities | None = None, h: int = 3) -> QrelsIndex:
    return QrelsIndex.of(read_intent_qrels([text_of(qrels, probabilities)], levels=h), h)


def judged(index: QrelsIndex, *runs: Run) -> JudgedRuns:
    joined = [
        judge(
            [
                Ranking(topic, [each.encode() for each in documents], np.arange(len(documents), 0, -1.0))
                for topic, documents in run.items()
            ],
            index,
        ).run
        for run in runs
    ]
    return JudgedRuns.of(joined, index.topics.judgments)


def scores(
    expression: str, qrels: ByIntent, run: Run, probabilities: Probabilities | None = None
) -> NDArray[np.float64]:
    """The scores of a run by topic, in byte order of the topics."""
    return np.asarray(all_scores([expression], qrels, run, probabilities)[0])


def all_scores(
    expressions: Sequence[str], qrels: ByIntent, run: Run, probabilities: Probabilities | None = None
) -> NDArray[np.float64]:
    """The scores of a run: [expressions, topics]."""
    metrics = [resolve(expression, Scale(3, intents=True)) for expression in expressions]
    return np.asarray(score_all(metrics, judged(index_of(qrels, probabilities), run))[:, 0])

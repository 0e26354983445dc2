"""Judgments by intent and runs, from dictionaries that tests can be read in, as the service joins them."""

import numpy as np

from gainboard.evaluation.runs.join import QrelsIndex, judge
from gainboard.metrics import JudgedRuns, Scale, resolve, score_all
from gainboard.trec import Ranking, read_intent_qrels


def text_of(qrels, probabilities=None):
    lines = [
        f"{topic} {intent} {document} {level}"
        for topic, intents in qrels.items()
        for intent, levels in intents.items()
        for document, level in levels.items()
    ]
    for topic, intents in (probabilities or {}).items():
        lines += [f"{topic} {intent} {probability!r}" for intent, probability in intents.items()]
    return "\n".join([*lines, ""]).encode()


def index_of(qrels, probabilities=None, h=3):
    return QrelsIndex.of(read_intent_qrels([text_of(qrels, probabilities)], levels=h), h)


def judged(index, *runs):
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


def scores(expression, qrels, run, probabilities=None):
    """The scores of a run by topic, in byte order of the topics."""
    return np.asarray(all_scores([expression], qrels, run, probabilities)[0])


def all_scores(expressions, qrels, run, probabilities=None):
    metrics = [resolve(expression, Scale(3, intents=True)) for expression in expressions]
    return np.asarray(score_all(metrics, judged(index_of(qrels, probabilities), run))[:, 0])

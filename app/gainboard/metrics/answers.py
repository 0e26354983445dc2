"""Metrics of answers: how many nuggets an answer has, and how well what it cites supports it.

Verdicts are digits: 0 not, 1 partly, 2 fully; a label that is none of these (3) counts as 0. They come from files
(`trec/nuggets.py`), so these metrics have no formula over rankings, and their scores are stored as score matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NUGGET_METRICS: Final = ("vital_strict", "vital", "weighted_strict", "weighted", "all_strict", "all")
"""The metrics of nuggets; the first one is that of TREC RAG."""
SUPPORT_METRICS: Final = ("precision", "recall")
METRICS_OF_ANSWERS: Final = {"nuggets": NUGGET_METRICS, "support": SUPPORT_METRICS}
_WORTH: Final = np.array([0.0, 0.5, 1.0, 0.0])
_STRICT_WORTH: Final = np.array([0.0, 0.0, 1.0, 0.0])
_VITAL, _OKAY = 0, 1


def score_nuggets(importance: Mapping[str, str], answers: Sequence[Mapping[str, str]]) -> dict[str, Floats]:
    """Return the scores of each metric, float64 [runs, topics], of answers to the topics of `importance`.

    `importance` has a digit for each nugget of a topic (0 vital, 1 okay, 2 neither), and an answer the digit of its
    verdict, or an empty text where the run has no answer, which is 0. A topic that was not judged is NaN. `vital` is
    the mean worth of the vital nuggets, and 0 without any; `all` is that of all nuggets; `weighted` counts an okay
    nugget half, and one that is neither not at all. `strict` gives nothing for a partial verdict (Pradeep et al., The
    great nugget recall, SIGIR 2025).
    """
    sizes = np.array([len(digits) for digits in importance.values()], np.intp)
    starts = np.cumsum(sizes) - sizes
    kind = _digits("".join(importance.values()))
    texts = ["".join(of_run.get(t) or "0" * len(kinds) for t, kinds in importance.items()) for of_run in answers]
    verdicts = _digits("".join(texts)).reshape(len(answers), len(kind))
    unjudged = np.array([[topic not in of_run for topic in importance] for of_run in answers], np.bool_)
    is_vital, is_okay = kind == _VITAL, kind == _OKAY
    weights = {"vital": is_vital * 1.0, "weighted": is_vital + 0.5 * is_okay, "all": np.ones(len(kind))}
    scores = {}
    for name in NUGGET_METRICS:
        weight = weights[name.removesuffix("_strict")]
        worth = (_STRICT_WORTH if name.endswith("_strict") else _WORTH)[verdicts]
        # All terms are multiples of 1/4, so the sums are exact in any order.
        most = np.add.reduceat(weight, starts)
        total = np.add.reduceat(worth * weight, starts, axis=1)
        scores[name] = np.where(unjudged, np.nan, np.where(most > 0, total / np.where(most > 0, most, 1.0), 0.0))
    return scores


def score_support(topics: Sequence[str], answers: Sequence[Mapping[str, Sequence[str]]]) -> dict[str, Floats]:
    """Return the scores of each metric, float64 [runs, topics], of answers whose sentences cite documents.

    A sentence has a digit for each citation with a verdict. `precision` is the mean worth of all citations of the
    answer, `recall` the mean over its sentences of their best citation, and 0 for a sentence without any (Thakur et
    al., Support evaluation for the TREC 2024 RAG track, SIGIR 2025). Both are 0 without a citation, and NaN for a topic
    that was not judged.
    """
    scores = {name: np.full((len(answers), len(topics)), np.nan) for name in SUPPORT_METRICS}
    for row, of_run in enumerate(answers):
        for column, topic in enumerate(topics):
            if topic in of_run:
                sentences = [_WORTH[_digits(digits)] for digits in of_run[topic]]
                citations = sum(map(len, sentences))
                best = sum(worth.max(initial=0.0) for worth in sentences)
                scores["precision"][row, column] = sum(worth.sum() for worth in sentences) / max(citations, 1)
                scores["recall"][row, column] = best / max(len(sentences), 1)
    return scores


def _digits(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8) - ord("0")

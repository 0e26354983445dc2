"""Runs of files, scored as the service scores those that it stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainboard.cli.asked_scores import expressions_of
from gainboard.cli.files import Reading
from gainboard.cli.findings import faults_of
from gainboard.cli.parallel import Count
from gainboard.errors import Fault, GainboardError
from gainboard.evaluation.binding import DEFAULT_METRICS, bind_all
from gainboard.evaluation.judging import QrelsIndex
from gainboard.evaluation.reading import RunFile, no_common_topics, topic_warnings
from gainboard.metrics import BoundMetric, JudgedRankings, Scale, expand, mean_all, score_all
from gainboard.trec import FileWarning

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredFile:
    """A run: its `scores` float64 [metrics, topics], NaN where undefined, their `means` [metrics], and what is said."""

    tag: str
    warnings: Sequence[FileWarning]
    topics_missing: int
    scores: Floats
    means: Floats


@dataclass(frozen=True)
class RefusedFile:
    """A file with faults: as many as are kept, and how many there are."""

    faults: Sequence[Fault]
    total: int


@dataclass(frozen=True)
class Scoring:
    """How runs are scored: what `each_file` does to each."""

    reading: Reading
    qrels: str
    """The name of their file."""
    index: QrelsIndex
    metrics: Sequence[BoundMetric]

    def __call__(self, name: str, count: Count) -> ScoredFile | RefusedFile:
        try:
            file = self.reading.run(name, self.index, count)
            warnings = [*file.warnings, *about_topics(file, self.index, self.qrels)]
        except GainboardError as error:
            return RefusedFile(*faults_of(error))
        assert file.joined is not None
        run = file.joined.run
        scores = score_all(self.metrics, JudgedRankings(run, self.index.topics.judgments))
        missing = int(np.count_nonzero(run.retrieved == 0))
        return ScoredFile(file.tag, warnings, missing, scores, mean_all(self.metrics, scores))


def about_topics(file: RunFile, index: QrelsIndex, qrels: str) -> list[FileWarning]:
    """What the service says of a run's topics at its upload. Raises FaultyFile where none of them is judged."""
    assert file.joined is not None
    if not any(topic in index.levels for topic in file.topics):
        raise no_common_topics("run", file.topics[0], qrels, index.levels)
    missing = int(np.count_nonzero(file.joined.run.retrieved == 0))
    return topic_warnings(file.joined.topics_unknown, missing, "qrels")


def metrics_of(
    given: Sequence[str], scale: Scale, query: Mapping[str, str]
) -> tuple[list[BoundMetric], dict[str, str]]:
    """The metrics of `-m`, or the service's usual ones, and the label that each expression became.

    `query` are defaults for parameters. Raises BadExpression or BadGains.
    """
    words = [expression for text in given for expression in expressions_of(text)]
    return bind_all(expand(words or DEFAULT_METRICS, scale.highest_level), scale, query, gains="linear")

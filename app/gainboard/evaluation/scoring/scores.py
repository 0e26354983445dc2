"""Scores of runs under metrics: one table for stored runs and for files, with the forms in which it is printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.exhibits import csv_line
from gainboard.metrics import (
    NUMBERS,
    BoundMetric,
    JudgedRun,
    JudgedRuns,
    Judgments,
    Scale,
    five_numbers,
    mean_all,
    mean_if_relevant,
    notes_on_names,
    trec_eval_name,
)
from gainboard.notation.texts import why_left_out
from gainboard.vocabulary import round_score

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
_TOPICS_NAMED = 10


@dataclass(frozen=True)
class ScoreArrays:
    """The numbers of a table of scores, which can be kept: they do not depend on who asks.

    - `by_topic` float64 [metrics, runs, topics]: NaN where a metric is undefined.
    - `means` float64 [metrics, runs]: the means over the topics for which a metric is defined, NaN if there are none.
    - `undefined` bool [metrics, topics]: true if the metric is undefined for the topic, so that no run has a score.
    - `topics_missing` int64 [runs]: the number of topics that each run lacks.
    """

    by_topic: Floats
    means: Floats
    undefined: NDArray[np.bool_]
    topics_missing: NDArray[np.int64]
    lacks: NDArray[np.bool_] | None = None
    """The topics that each run lacks, bool [runs, topics], where it is known."""
    rows: Floats | None = None
    """The scores of the replicates whose means `by_topic` has, float64 [metrics, rows, topics]; None without any."""
    row_means: Floats | None = None
    groups: Indices | None = None
    """The system of each row, as `collapse` takes it."""
    noise: Floats | None = None
    """The variance of each mean by `noise_of_replicates`, if replicates are drawn anew: float64 [metrics, runs]."""

    def collapsed(
        self, metrics: Sequence[BoundMetric], groups: Indices | None, *, redraws: bool = False
    ) -> ScoreArrays:
        """Return the scores of systems, whose replicates are the runs of these arrays; with `redraws`, their noise.

        A topic that a replicate lacks, but not every replicate of its system, has no score of this replicate, where a
        run without replicates scores 0. Query variants and generations are rarely of one number on all topics.
        """
        if groups is None:
            return self
        from gainboard.statistics.means import collapse, lacks_beside_others, noise_of_replicates  # noqa: PLC0415 (see above)

        rows, missing = self.by_topic, self.topics_missing
        if self.lacks is not None:
            is_computed = np.array([not metric.is_uploaded for metric in metrics])[:, np.newaxis, np.newaxis]
            rows = np.where(is_computed & lacks_beside_others(self.lacks, groups), np.nan, rows)
            missing = np.count_nonzero(collapse(self.lacks.astype(np.float64), groups) == 1, axis=1)
        by_topic = collapse(rows, groups)
        means, row_means = mean_all(metrics, by_topic), mean_all(metrics, rows)
        noise = noise_of_replicates(rows, groups) if redraws else None
        return ScoreArrays(by_topic, means, self.undefined, missing, None, rows, row_means, groups, noise)

    def repeated(self, topics: Sequence[str], others: Sequence[tuple[Sequence[str], ScoreArrays]]) -> ScoreArrays:
        """Return the scores of the runs under one judgment set and then under others, NaN where a set lacks a topic."""
        place, tables, undefined = {topic: at for at, topic in enumerate(topics)}, [self.by_topic], self.undefined
        for named, arrays in others:
            if more := set(named) - place.keys():
                message = f"`judgments` lacks the topic {min(more)!r} of a set in `repeats`. Name the widest set there."
                raise InvalidRequest.at("query.repeats", "more-topics", message)
            tables.append(np.full_like(self.by_topic, np.nan))
            tables[-1][:, :, [place[topic] for topic in named]] = arrays.by_topic
            undefined = undefined & np.isnan(tables[-1]).all(axis=1)
        lacks = None if self.lacks is None else np.tile(self.lacks, (len(tables), 1))
        return replace(self, by_topic=np.concatenate(tables, axis=1), undefined=undefined, lacks=lacks)

    def rounded(self, shown: Callable[[Floats], Floats]) -> ScoreArrays:
        """Return the numbers as they may be shown. Of single replicates, these are means alone."""
        means, row_means = shown(self.means), None if self.row_means is None else shown(self.row_means)
        return replace(self, by_topic=shown(self.by_topic), means=means, rows=None, row_means=row_means)

    @property
    def means_of_runs(self) -> Floats:
        """The means of runs, each replicate by itself: float64 [metrics, runs]."""
        return self.means if self.row_means is None else self.row_means

    @property
    def nbytes(self) -> int:
        """The bytes of the large arrays."""
        return self.by_topic.nbytes + self.undefined.nbytes + (0 if self.lacks is None else self.lacks.nbytes)

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """The lower and the upper ends of the confidence intervals of the means, float64 [metrics, runs] both."""
        from gainboard.statistics import mean_intervals  # noqa: PLC0415 (it takes as long as to score a small file)

        return mean_intervals(self.by_topic, noise=0.0 if self.noise is None else self.noise)


@dataclass(frozen=True)
class ScoreTable:
    """Scores of runs under metrics, by topic and in the mean, in the precision that may be shown."""

    metrics: Sequence[BoundMetric]
    label_by_expression: Mapping[str, str]
    """The label of each expression that was asked for."""
    names: Sequence[str]
    """The names of the runs."""
    topics: Sequence[str]
    arrays: ScoreArrays

    @property
    def by_topic(self) -> Floats:
        """The scores: float64 [metrics, runs, topics]."""
        return self.arrays.by_topic

    @property
    def means(self) -> Floats:
        """The means over topics: float64 [metrics, runs]."""
        return self.arrays.means

    @property
    def is_rationed(self) -> bool:
        """True while the judgments are hidden: then nothing is said of single topics."""
        return False

    @cached_property
    def labels(self) -> list[str]:
        """The labels of the metrics, which contain the parameters."""
        return [metric.label for metric in self.metrics]

    def topics_undefined(self) -> dict[str, list[str]] | None:
        """Return the topics left out of the mean, by label. Return None if scores are rationed."""
        if self.is_rationed:
            return None
        rows = zip(self.labels, self.arrays.undefined, strict=True)
        return {label: [self.topics[topic] for topic in row.nonzero()[0]] for label, row in rows}

    def topics_scored(self) -> dict[str, int] | None:
        """Return the number of topics in the mean, by label. Return None if scores are rationed."""
        if self.is_rationed:
            return None
        return dict(zip(self.labels, np.count_nonzero(~self.arrays.undefined, axis=1).tolist(), strict=True))

    def means_over(self, topics: NDArray[np.intp]) -> Floats:
        """Return the means over some of the topics, by their places: float64 [metrics, runs]."""
        return mean_all(self.metrics, np.ascontiguousarray(self.by_topic[:, :, topics]))

    def remarks(self) -> Iterator[str]:
        """Yield what a reader of the means should know: names that mean something else elsewhere, topics left out.

        The sentences have no full stop.
        """
        yield from (note.removesuffix(".") for note in notes_on_names(self.metrics))
        left_out: dict[tuple[str, ...], list[str]] = {}
        for label, topics in (self.topics_undefined() or {}).items():
            left_out.setdefault(tuple(topics), []).append(label)
        for undefined, labels in left_out.items():
            if undefined:
                more = f" and {len(undefined) - _TOPICS_NAMED} more" if len(undefined) > _TOPICS_NAMED else ""
                means = "all means" if len(labels) == len(self.metrics) else f"the means of {', '.join(labels)}"
                count, named = f"{len(undefined)} of {len(self.topics)} topics", ", ".join(undefined[:_TOPICS_NAMED])
                yield f"{count} are left out of {means}, {why_left_out(labels)}: {named}{more}"

    def run_as_json(self, run: int, *, per_topic: bool) -> dict[str, Any]:
        """Return a run's scores as JSON has them, over HTTP and offline: undefined ones are None."""
        shown: dict[str, Any] = {"mean": dict(zip(self.labels, self._listed(self.means[:, run]), strict=True))}
        if per_topic:
            shown["topics"] = {
                label: dict(zip(self.topics, self._listed(scores), strict=True))
                for label, scores in zip(self.labels, self.by_topic[:, run], strict=True)
            }
        return shown

    def _listed(self, scores: Floats) -> list[float | None]:
        values: list[float | None] = scores.tolist()
        return [None if math.isnan(value or 0) else value for value in values] if self._has_undefined else values

    @cached_property
    def _has_undefined(self) -> bool:
        # Asked once for all runs: to look at each number by itself would take as long as to write it.
        return bool(np.isnan(self.by_topic).any() or np.isnan(self.means).any())

    def csv(self, *, per_topic: bool) -> Iterator[str]:
        """Yield lines of CSV, by run and metric. A mean's topic is `all`; scores of topics come before their mean."""
        yield "run,topic,metric,value\r\n"
        for column, run in enumerate(self.names):
            for row, label in enumerate(self.labels):
                if per_topic:
                    for topic, value in zip(self.topics, self.by_topic[row, column].tolist(), strict=True):
                        yield csv_line((run, topic, label, value))
                yield csv_line((run, "all", label, float(self.means[row, column])))

    def trec_eval(self, tags: Sequence[str], scale: Scale, *, per_topic: bool) -> Iterator[str]:
        """Yield lines of trec_eval for each run, by its tag. Undefined scores have no line.

        A metric with the same definition has trec_eval's own name, and the others have their labels.
        """
        names = [trec_eval_name(metric, scale) or metric.label for metric in self.metrics]
        counts = self.topics_scored()
        for run, tag in enumerate(tags):
            for topic, scores in zip(self.topics, self.by_topic[:, run].T.tolist(), strict=True) if per_topic else ():
                for name, value in zip(names, scores, strict=True):
                    if not math.isnan(value):
                        yield f"{name:<22s}\t{topic}\t{value:6.4f}\n"
            yield f"{'runid':<22s}\tall\t{tag}\n"
            if counts is not None:
                yield f"{'num_q':<22s}\tall\t{max(counts.values())}\n"
            for name, mean in zip(names, self.means[:, run].tolist(), strict=True):
                if not math.isnan(mean):
                    yield f"{name:<22s}\tall\t{mean:6.4f}\n"


def score_beside(
    metrics: Sequence[BoundMetric], run: JudgedRun, judgments: Judgments, scores: Floats, *, bounds: bool, cwl: bool
) -> dict[str, dict[str, float]]:
    """Return what is asked for beside the mean scores of a run, by label; metrics without a mean have nothing.

    `bounds` are the means if every unjudged document retrieved were nonrelevant, as scores have it, and if it were of
    the highest level. `cwl` are the means of the `NUMBERS` of users. `scores` are float64 [metrics, topics].
    """
    runs, means = JudgedRuns.of([run], judgments), mean_all(metrics, scores)
    highest = mean_if_relevant(metrics, run, judgments, scores) if bounds else means
    beside: dict[str, dict[str, float]] = {}
    for metric, of_metric, *ends in zip(metrics, scores, means.tolist(), highest.tolist(), strict=True):
        numbers: dict[str, float] = {}
        if math.isnan(ends[0]):
            continue
        if bounds and not math.isnan(ends[1]):
            numbers |= zip(("unjudged_nonrelevant", "unjudged_relevant"), ends, strict=True)
        if cwl and metric.user_model is not None:
            of_users = five_numbers(metric.user_model, runs, np.arange(1))[:, 0, ~np.isnan(of_metric)]
            numbers |= zip(NUMBERS, of_users.mean(axis=1).tolist(), strict=True)
        if numbers:
            beside[metric.label] = numbers
    return beside


def rank_by_mean(names: Sequence[str], means: Floats) -> list[tuple[int, int]]:
    """Return rank and index of each run, in the order of a board: the highest mean first, and equal ones by name.

    `means` is float64 [runs]. Equal means share a rank, and so do the runs without one (NaN), which are last.
    """
    keys = [(True, 0.0) if math.isnan(mean) else (False, -round_score(mean)) for mean in means.tolist()]
    ranked: list[tuple[int, int]] = []
    for place, run in enumerate(sorted(range(len(keys)), key=lambda run: (keys[run], names[run])), start=1):
        is_equal = bool(ranked) and keys[ranked[-1][1]] == keys[run]
        ranked.append((ranked[-1][0] if is_equal else place, run))
    return ranked

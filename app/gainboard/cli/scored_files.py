"""The scoring of run files without a server, as the service scores stored runs, and the formats of printed scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.cli.files import FileReader, without_suffix
from gainboard.cli.options import split_expressions
from gainboard.cli.parallel import Count
from gainboard.cli.printing import DIGITS, format_table, list_faults, mark_best
from gainboard.errors import Fault, GainboardError
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import RunFile, judged_run_warnings, no_common_topics
from gainboard.evaluation.scoring.binding import DEFAULT_METRICS, bind_all, in_our_names
from gainboard.evaluation.scoring.score_texts import csv_of, remarks_on_means, trec_eval_names, trec_eval_of
from gainboard.evaluation.scoring.ties import RunTies, TiedScores, as_json, tied_scores
from gainboard.exhibits import Cell, Column, Table
from gainboard.metrics import BoundMetric, JudgedRuns, Names, Scale, mean_all, notes_on_names, score_all
from gainboard.trec import FileWarning
from gainboard.vocabulary import TiesAsked

Floats = NDArray[np.float64]


class ScoredFile(NamedTuple):
    """A scored run: `scores` is float64 [metrics, topics], NaN if undefined; `means` is [metrics]; and its warnings."""

    tag: str
    warnings: Sequence[FileWarning]
    topics_missing: int
    scores: Floats
    means: Floats
    ties: tuple[RunTies, TiedScores] | None = None
    """The ties, and scores under other orders of them, if these are asked for."""


class RefusedFile(NamedTuple):
    """A file with faults: the faults that are kept, and the number of all faults."""

    faults: Sequence[Fault]
    total: int


@dataclass(frozen=True)
class FileScoring:
    """The task of `process_files` that scores a run."""

    reading: FileReader
    qrels: str
    """The name of the qrels file."""
    index: QrelsIndex
    metrics: Sequence[BoundMetric]
    ties: TiesAsked | None = None

    def __call__(self, name: str, count: Count) -> ScoredFile | RefusedFile:
        try:
            file, ties = self._read(name, count)
            warnings = [*file.warnings, *check_topics(file, self.index, self.qrels)]
        except GainboardError as error:
            faults, total, _ = list_faults(error)
            return RefusedFile(faults, total)
        assert file.joined is not None
        runs = JudgedRuns.of([file.joined.run], self.index.topics.judgments)
        scores = score_all(self.metrics, runs)[:, 0]
        missing = int(np.count_nonzero(runs.missing))
        return ScoredFile(file.tag, warnings, missing, scores, mean_all(self.metrics, scores), ties)

    def _read(self, name: str, count: Count) -> tuple[RunFile, tuple[RunTies, TiedScores] | None]:
        if self.ties is None:
            return self.reading.run(name, self.index, count), None
        file, ties = self.reading.tied_run(name, self.index, count)
        assert file.joined is not None
        topics = self.index.topics
        tied = ties.tied_run(file.joined.run, topics.topics)
        return file, (ties, tied_scores(self.ties, self.metrics, tied, topics.judgments, name))


def check_topics(file: RunFile, index: QrelsIndex, qrels: str) -> list[FileWarning]:
    """Return the service's warnings about topics and documents of a run. Raises FaultyFile if no topic is judged."""
    if not any(topic in index.rows for topic in file.topics):
        raise no_common_topics("run", file.topics[0], qrels, index.rows)
    return judged_run_warnings(file, index)


def bind_metrics(
    given: Sequence[str], scale: Scale, query: Mapping[str, str], names: Names = "gainboard"
) -> tuple[list[BoundMetric], dict[str, str]]:
    """Return the metrics of `-m`, or the service's default metrics, and the label of each expression.

    `query` has defaults for parameters, `names` is the tool whose names `given` uses. Raise BadExpression or BadGains.
    """
    words = [expression for text in given for expression in split_expressions(text)]
    meant = in_our_names(words or DEFAULT_METRICS, names if words else "gainboard", scale.highest_level)
    return bind_all(meant, scale, query, gains="linear")


@dataclass(frozen=True)
class ScoredFiles:
    """The scores of all files. `runs` holds each run's name, file and scores."""

    qrels: str
    scale: Scale
    metrics: Sequence[BoundMetric]
    labels_by_expression: Mapping[str, str]
    topics: Sequence[str]
    undefined: NDArray[np.bool_]
    """[metrics, topics]: true if no run has a score because the topic has no relevant document."""
    runs: Sequence[tuple[str, str, ScoredFile]]
    refused: Mapping[str, RefusedFile]
    per_topic: bool
    """True if scores of single topics are printed beside their means."""

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics."""
        return [metric.label for metric in self.metrics]

    @property
    def names(self) -> list[str]:
        """Return the names of the runs."""
        return [name for name, _, _ in self.runs]

    @property
    def means(self) -> Floats:
        """Return the means [metrics, runs], NaN where a metric is undefined for all topics."""
        return np.array([run.means for _, _, run in self.runs]).reshape(-1, len(self.metrics)).T

    @property
    def by_topic(self) -> Floats | None:
        """Return the scores [metrics, runs, topics], NaN where undefined; None if only means are printed."""
        shape = (len(self.runs), len(self.metrics), len(self.topics))
        tables = np.array([run.scores for _, _, run in self.runs]).reshape(shape)
        return tables.swapaxes(0, 1) if self.per_topic else None

    @property
    def topics_scored(self) -> dict[str, int]:
        """Return the number of topics in the means, by label."""
        return dict(zip(self.labels, np.count_nonzero(~self.undefined, axis=1).tolist(), strict=True))

    def topics_undefined(self) -> dict[str, list[str]]:
        """Return the topics left out of the means, by label."""
        rows = zip(self.labels, self.undefined, strict=True)
        return {label: [self.topics[topic] for topic in row.nonzero()[0]] for label, row in rows}

    def best_first(self, label: str) -> ScoredFiles:
        """Return the same with the runs sorted by their means under one of the metrics, equal means by name."""
        means = self.means[self.labels.index(label)]
        # The same mean, summed in another order, may differ in its last bits. 12 decimals decide, as everywhere.
        means = np.round(np.where(np.isnan(means), -np.inf, means), 12)
        order = sorted(range(len(self.runs)), key=lambda place: (-means[place], self.names[place]))
        return replace(self, runs=[self.runs[place] for place in order])

    def remarks(self) -> Iterator[str]:
        """Yield what a reader of the means should know. The sentences have no full stop."""
        return remarks_on_means(self.metrics, self.topics, self.undefined)


def make_table(found: ScoredFiles) -> Table:
    """Make a table with one row per run, or per topic and mean of a run. The best means are marked."""
    if any(run.ties for _, _, run in found.runs):
        return _ties_table(found)
    texts = [Column("run", align="left"), *([Column("topic", align="left")] if found.per_topic else [])]
    columns = [*texts, *(Column(label, digits=DIGITS) for label in found.labels)]
    caption = f"{'Scores by topic and their means' if found.per_topic else 'Mean scores'}, by {found.qrels}"
    missing = [f"{name} ({run.topics_missing})" for name, _, run in found.runs if run.topics_missing]
    notes = [*found.remarks(), *([f"Runs that lack topics, which score 0: {', '.join(missing)}"] if missing else [])]
    mark = "the highest mean under a metric" if len(found.runs) > 1 else ""
    return Table("scores", caption, columns, list(_rows(found)), mark=mark, notes=[f"{note}." for note in notes])


def _rows(found: ScoredFiles) -> Iterator[list[Cell]]:
    by_topic, means = found.by_topic, mark_best([_numbers(row) for row in found.means])
    for place, name in enumerate(found.names):
        if by_topic is not None:
            scores = by_topic[:, place].T.tolist()
            yield from ([name, topic, *row] for topic, row in zip(found.topics, scores, strict=True))
        yield [name, *(["all"] if found.per_topic else []), *means[place]]


def _ties_table(found: ScoredFiles) -> Table:
    """Make the table with the scores under other orders of ties beside each score."""
    columns = [Column("run", align="left"), *([Column("topic", align="left")] if found.per_topic else [])]
    columns.append(Column("tied", digits=1, percent=True))
    beside = list(_scores_beside(found))
    columns += [Column(name, digits=DIGITS) for name, _ in beside]
    rows: list[list[Cell]] = []
    for place, (name, _, run) in enumerate(found.runs):
        every = np.array([scores[place] for _, scores in beside]).T.tolist()
        if found.per_topic:
            # the last row is the mean
            rows += ([name, topic, None, *row] for topic, row in zip(found.topics, every, strict=False))
        share = run.ties[0].tied_share if run.ties else None
        rows.append([name, *(["all"] if found.per_topic else []), share, *every[-1]])
    cut = [f"{name} ({run.ties[0].cut})" for name, _, run in found.runs if run.ties and run.ties[0].cut]
    lost = [f"Runs with topics whose ties go on beyond the depth: {', '.join(cut)}."] if cut else []
    caption = f"Scores under the order of the files, and under other orders of tied documents, by {found.qrels}"
    return Table("ties", caption, columns, rows, notes=[*(f"{each}." for each in found.remarks()), *lost])


def _scores_beside(found: ScoredFiles) -> Iterator[tuple[str, Floats]]:
    """Yield each heading, and the scores of all runs by topic with their means at the end: float64 [runs, topics + 1].

    Standard errors are left out where all of them are 0.
    """
    for row, label in enumerate(found.labels):
        yield label, np.array([[*run.scores[row], run.means[row]] for _, _, run in found.runs])
        ties = [run.ties[1] for _, _, run in found.runs if run.ties]
        for name in ties[0].means:
            scores = np.array([[*each.scores[name][row], each.means[name][row]] for each in ties])
            if name != "standard_error" or np.nan_to_num(scores).any():
                yield f"{label} {name.replace('_', ' ')}", scores


def _text(found: ScoredFiles, weights: bool) -> Iterable[str]:
    return [format_table(make_table(found), weights=weights)] if found.runs else []


def _latex(found: ScoredFiles, weights: bool) -> Iterable[str]:
    from gainboard.exhibits.latex import as_latex  # noqa: PLC0415 (few ask for it)

    return [as_latex(make_table(named_for_paper(found)))] if found.runs else []


def named_for_paper(found: ScoredFiles) -> ScoredFiles:
    """Return the same without folders, which a paper does not show. Runs of files that are named alike get numbers."""
    names = [without_suffix(Path(name).name) for name in found.names]
    times, seen = Counter(names), Counter[str]()
    runs: list[tuple[str, str, ScoredFile]] = []
    for name, (_, file, run) in zip(names, found.runs, strict=True):
        seen[name] += 1
        runs.append((f"{name} ({seen[name]})" if times[name] > 1 else name, file, run))
    return replace(found, qrels=Path(found.qrels).name, runs=runs)


def _csv(found: ScoredFiles, weights: bool) -> Iterable[str]:
    return csv_of(found.names, found.labels, found.topics, found.means, found.by_topic)


def _trec_eval(found: ScoredFiles, weights: bool) -> Iterator[str]:
    names, by_topic = trec_eval_names(found.metrics, found.scale), found.by_topic
    for place, (_, _, run) in enumerate(found.runs):
        topics = by_topic[:, place] if by_topic is not None else None
        yield from trec_eval_of(run.tag, names, found.topics, max(found.topics_scored.values()), run.means, topics)


def _json(found: ScoredFiles, weights: bool) -> Iterable[str]:
    answer = {
        "qrels": found.qrels,
        "metrics": found.labels,
        "asked": dict(found.labels_by_expression),
        "runs": [_run_as_json(found, place) for place in range(len(found.runs))],
        "topics_scored": found.topics_scored,
        "topics_undefined": found.topics_undefined(),
        "notes": notes_on_names(found.metrics),
        "faulty": list_refused(found.refused),
    }
    return [json.dumps(answer, indent=2, ensure_ascii=False), "\n"]


def list_refused(refused: Mapping[str, RefusedFile]) -> list[dict[str, Any]]:
    """Return the files with faults as JSON has them."""
    return [
        {"file": name, "errors": [fault.as_json() for fault in file.faults], "errors_total": file.total}
        for name, file in refused.items()
    ]


def _run_as_json(found: ScoredFiles, place: int) -> dict[str, Any]:
    name, file, run = found.runs[place]
    shown: dict[str, Any] = {"name": name, "file": file, "tag": run.tag, "topics_missing": run.topics_missing}
    shown["mean"] = dict(zip(found.labels, _numbers(run.means), strict=True))
    if found.per_topic:
        shown["topics"] = {
            label: dict(zip(found.topics, _numbers(scores), strict=True))
            for label, scores in zip(found.labels, run.scores, strict=True)
        }
    if run.ties:
        shown["ties"] = as_json(*run.ties, found.labels, found.topics, found.per_topic)
    return shown | {"warnings": [warning.as_json() for warning in run.warnings]}


def _numbers(values: Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


FORMS: Mapping[str, Callable[[ScoredFiles, bool], Iterable[str]]] = {
    "table": _text,
    "csv": _csv,
    "json": _json,
    "trec_eval": _trec_eval,
    "latex": _latex,
}
"""The formats of scores, by name. The second argument says whether the best means may be bold."""

"""`gainboard.score`: the scores of files, frames and dictionaries, without a service."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput
from gainboard.evaluation.binding import DEFAULT_METRICS, bind_all, in_our_names
from gainboard.evaluation.judging import QrelsIndex
from gainboard.evaluation.reading import MOST_LEVELS, NO_LIMITS, read_judgments, read_run_file
from gainboard.metrics import (
    BoundMetric,
    JudgedRun,
    JudgedRuns,
    Names,
    Scale,
    mean_all,
    namesakes,
    query_parameters,
    score_all,
)
from gainboard.notation.sources import Source, Table, as_qrels, as_run, named_runs
from gainboard.store.run_order import RunOrder
from gainboard.trec import OrderBy, decompressed

Floats = NDArray[np.float64]
BY_SCORE = RunOrder("score", ignore_identical_ids=False)


@dataclass(frozen=True)
class FileScores:
    """Scores of runs under metrics, by topic and in the mean. NaN stands where a metric is undefined."""

    runs: Sequence[str]
    metrics: Sequence[str]
    """Labels, with all parameters."""
    topics: Sequence[str]
    by_topic: Floats
    """float64 [runs, metrics, topics]."""
    means: Floats
    """float64 [runs, metrics]: over the topics for which a metric is defined."""
    notes: Sequence[str] = ()
    """Sentences about names that mean something else in other tools."""

    def __repr__(self) -> str:
        return f"<FileScores: {len(self.runs)} runs, {len(self.metrics)} metrics, {len(self.topics)} topics>"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the means by run and metric."""
        rows = zip(self.runs, self.means.tolist(), strict=True)
        return {run: dict(zip(self.metrics, row, strict=True)) for run, row in rows}

    def to_pandas(self, *, topics: bool = False) -> Any:
        """Return the means as a frame of runs x metrics; with `topics`, the scores with a second index of topics.

        Raise ModuleNotFoundError without pandas.
        """
        pandas = import_module("pandas")  # only some people have it
        if not topics:
            return pandas.DataFrame(self.means, pandas.Index(self.runs, name="run"), list(self.metrics))
        index = pandas.MultiIndex.from_product([self.runs, self.topics], names=["run", "topic"])
        rows = self.by_topic.swapaxes(1, 2).reshape(-1, len(self.metrics))
        return pandas.DataFrame(rows, index, list(self.metrics))


@dataclass(frozen=True)
class FileJudgments:
    """Judgments of a file, a frame or a dictionary, prepared for the scoring of runs."""

    index: QrelsIndex
    scale: Scale

    @classmethod
    def of(cls, qrels: Table, *, intents: bool = False, depth: int = 1000) -> FileJudgments:
        """Read judgments, which are by intent if `intents`. The levels are those up to the highest one judged.

        Raise FaultyFile with the lines of faults, and BadInput if there is nothing to read.
        """
        with _opened(as_qrels(qrels)) as file:
            judged = read_judgments(decompressed(file, None, NO_LIMITS), MOST_LEVELS, intents, None, NO_LIMITS)
        highest = max(1, *judged.judgments.count_levels())
        return cls(QrelsIndex.of(judged, highest), Scale(highest, depth, intents))

    def metrics(
        self, expressions: Sequence[str], names: Names = "gainboard", parameters: Mapping[str, str] = {}
    ) -> list[BoundMetric]:
        """Return the metrics of expressions, with defaults for their parameters. Raise BadExpression or BadGains."""
        meant = in_our_names(expressions, names, self.scale.highest_level)
        return bind_all(meant, self.scale, parameters, gains="linear")[0]

    def run(self, run: Table, name: str, order: RunOrder = BY_SCORE) -> JudgedRun:
        """Read a run. Raise FaultyFile, and BadInput if none of its topics is judged."""
        with _opened(as_run(run, name)) as file:

            def chunks() -> Iterator[bytes]:
                file.seek(0)
                return decompressed(file, None, NO_LIMITS)

            read = read_run_file(chunks, order, self.scale.depth, NO_LIMITS, self.index)
        assert read.joined is not None
        if not any(topic in self.index.rows for topic in read.topics):
            some = read.topics[0]
            raise BadInput(f"No topic of the run {name!r} is judged, such as {some!r}. Check the topics' names.")
        return read.joined.run

    def scores(self, metrics: Sequence[BoundMetric], runs: Sequence[JudgedRun]) -> Floats:
        """Return scores float64 [metrics, runs, topics]; NaN where a metric is undefined."""
        return score_all(metrics, JudgedRuns.of(runs, self.index.topics.judgments))


def score(
    qrels: Table,
    runs: Any,
    metrics: Sequence[str] = (),
    *,
    names: Names = "gainboard",
    intents: bool = False,
    depth: int = 1000,
    order_by: OrderBy = "score",
    ignore_identical_ids: bool = False,
    **parameters: Any,
) -> FileScores:
    """Score runs by judgments, as the service and `gainboard score` do.

    `qrels` is a file, a data frame (columns as in ir_measures, PyTerrier or ranx), a dictionary
    `{topic: {document: level}}`, or `irds:ID` for a dataset of ir_datasets; with `intents`, they are by intent. `runs`
    is a file, a folder, a pattern such as `runs/*`, a frame, a dictionary `{topic: {document: score}}`, a dictionary
    of these by the runs' names, or a list of any of them. `metrics` are expressions such as `nDCG@10`, by default the
    service's; `parameters` are defaults of theirs, such as `gains="3:2:1"`, `beta=10` or `base=10`. `names` is the tool
    whose names the expressions use.

    Raise FaultyFile with the lines of faults, BadExpression or BadGains for a metric, and BadInput for anything else.
    """
    if unknown := parameters.keys() - query_parameters().keys():
        known = ", ".join(sorted(query_parameters()))
        raise BadInput(f"There is no parameter {min(unknown)!r}. Available: {known}.")
    judgments = FileJudgments.of(qrels, intents=intents, depth=depth)
    query = {name: str(value) for name, value in parameters.items()}
    bound = judgments.metrics(list(metrics) or DEFAULT_METRICS, names if metrics else "gainboard", query)
    found = named_runs(runs if isinstance(runs, list | tuple) else [runs])
    if not found:
        raise BadInput("There is no run to score. Give a file, a folder, a frame, or a dictionary.")
    order = RunOrder(order_by, ignore_identical_ids)
    scores = judgments.scores(bound, [judgments.run(each.table, each.name, order) for each in found])
    means = np.array([mean_all(bound, scores[:, run]) for run in range(len(found))])
    topics = judgments.index.topics.topics
    labels = [metric.label for metric in bound]
    names_of_runs = [each.name for each in found]
    return FileScores(names_of_runs, labels, topics, scores.swapaxes(0, 1), means, namesakes(bound))


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, str) and "\n" in source:
        source = source.encode()
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        try:
            with open(source, "rb") as file:
                yield file
        except OSError as error:
            raise BadInput(f"Cannot read {os.fspath(source)}: {error.strerror or error}.") from error
    else:
        yield source

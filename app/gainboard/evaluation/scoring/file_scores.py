"""`gainboard.score`: the scores of files, frames and dictionaries, without a service."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput, FaultyFile
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import NO_LIMITS, judged_run_warnings, read_judgments, read_run_file
from gainboard.evaluation.scoring.binding import DEFAULT_METRICS, bind_all, in_our_names, undefined
from gainboard.evaluation.scoring.scores import ScoreArrays, ScoreTable, score_beside
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, Names, Scale, mean_all, query_parameters, score_all
from gainboard.notation.sources import MOST_LEVELS, Source, Table, as_qrels, as_run, name_runs, optional_package
from gainboard.notation.texts import warning_lines
from gainboard.statistics.means import group_rows
from gainboard.trec import FileWarning, decompress_body
from gainboard.vocabulary import OrderBy, Resample, RunOrder

Floats = NDArray[np.float64]
BY_SCORE = RunOrder("score", ignore_identical_ids=False)


@dataclass(frozen=True)
class FileScores:
    """Scores of runs under metrics, by topic and in the mean. NaN stands where a metric is undefined."""

    scores: ScoreTable
    notes: Sequence[str] = ()
    """The lines of `gainboard score` on standard error: warnings after the names of their runs, then remarks on means.

    Remarks are sentences, without the name of a file.
    """
    numbers: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """The numbers of `bounds` and `cwl`, by run and metric, as JSON of `gainboard score` has them."""

    @property
    def runs(self) -> Sequence[str]:
        """The names of the runs."""
        return self.scores.names

    @property
    def metrics(self) -> Sequence[str]:
        """Labels, with all parameters."""
        return self.scores.labels

    @property
    def topics(self) -> Sequence[str]:
        """The topics of the judgments."""
        return self.scores.topics

    @property
    def by_topic(self) -> Floats:
        """The scores: float64 [runs, metrics, topics]."""
        return self.scores.by_topic.swapaxes(0, 1)

    @property
    def means(self) -> Floats:
        """The means over the topics for which a metric is defined: float64 [runs, metrics]."""
        return self.scores.means.T

    def __repr__(self) -> str:
        return f"<FileScores: {len(self.runs)} runs, {len(self.metrics)} metrics, {len(self.topics)} topics>"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the means by run and metric."""
        rows = zip(self.runs, self.means.tolist(), strict=True)
        return {run: dict(zip(self.metrics, row, strict=True)) for run, row in rows}

    def to_pandas(self, *, topics: bool = False) -> Any:
        """Return the means as a frame of runs x metrics; with `topics`, the scores with a second index of topics.

        Raise MissingPackage without pandas.
        """
        pandas = optional_package("pandas")
        if not topics:
            return pandas.DataFrame(self.means, pandas.Index(self.runs, name="run"), list(self.metrics))
        index = pandas.MultiIndex.from_product([self.runs, self.topics], names=["run", "topic"])
        rows = self.by_topic.swapaxes(1, 2).reshape(-1, len(self.metrics))
        return pandas.DataFrame(rows, index, list(self.metrics))

    def to_polars(self, *, topics: bool = False) -> Any:
        """Return the same as a frame of polars with a column `run` and, with `topics`, a column `topic`.

        Raise MissingPackage without polars.
        """
        polars = optional_package("polars")
        if not topics:
            return polars.DataFrame({"run": self.runs, **dict(zip(self.metrics, self.means.T, strict=True))})
        rows = self.by_topic.swapaxes(1, 2).reshape(-1, len(self.metrics))
        names = {"run": np.repeat(self.runs, len(self.topics)), "topic": np.tile(self.topics, len(self.runs))}
        return polars.DataFrame({**names, **dict(zip(self.metrics, rows.T, strict=True))})


@dataclass(frozen=True)
class FileJudgments:
    """Judgments of a file, a frame or a dictionary, prepared for the scoring of runs."""

    index: QrelsIndex
    scale: Scale
    warnings: Sequence[FileWarning]

    @classmethod
    def of(cls, qrels: Table, *, intents: bool = False, depth: int = 1000) -> FileJudgments:
        """Read judgments, which are by intent if `intents`. The levels are those up to the highest one judged.

        Raise FaultyFile with the lines of faults, and BadInput if there is nothing to read, or for a table's value.
        """
        with _opened(as_qrels(qrels)) as file:
            judged = read_judgments(decompress_body(file, None, NO_LIMITS), MOST_LEVELS, intents, None, NO_LIMITS)
        highest = max([1, *judged.judgments.count_levels()])
        return cls(QrelsIndex.of(judged, highest), Scale(highest, depth, intents), judged.warnings)

    def metrics(
        self, expressions: Sequence[str], names: Names = "gainboard", parameters: Mapping[str, str] = {}
    ) -> tuple[list[BoundMetric], dict[str, str]]:
        """Return the metrics of expressions, with defaults for their parameters, and the label of each expression.

        Raise BadExpression or BadGains.
        """
        meant = in_our_names(expressions, names, self.scale.highest_level)
        return bind_all(meant, self.scale, parameters, gains="linear")

    def run(self, run: Table, name: str, order: RunOrder = BY_SCORE) -> tuple[JudgedRun, Sequence[FileWarning]]:
        """Read a run, and its warnings. Raise FaultyFile, and BadInput if none of its topics is judged."""
        with _opened(as_run(run, name)) as file:

            def chunks() -> Iterator[bytes]:
                file.seek(0)
                return decompress_body(file, None, NO_LIMITS)

            try:
                read = read_run_file(chunks, order, self.scale.depth, NO_LIMITS, self.index)
            except FaultyFile as error:
                faults = [replace(fault, file=name) for fault in error.faults]
                raise FaultyFile(faults, error.total, is_minimum=error.is_minimum) from error
        assert read.joined is not None
        if not any(topic in self.index.rows for topic in read.topics):
            some = read.topics[0]
            raise BadInput(f"No topic of the run {name!r} is judged, such as {some!r}. Check the topics' names.")
        return read.joined.run, [*read.warnings, *judged_run_warnings(read, self.index)]

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
    replicates: str | None = None,
    resample: Resample = "topics",
    bounds: bool = False,
    cwl: bool = False,
    **parameters: Any,
) -> FileScores:
    """Score runs by judgments, as the service and `gainboard score` do.

    `qrels` is a file, a data frame (columns as in ir_measures, PyTerrier or ranx), a dictionary
    `{topic: {document: level}}`, Qrels of ir_measures, or `irds:ID` for a dataset of ir_datasets; with `intents`, they
    are by intent. `runs` is a file, a folder, a pattern such as `runs/*`, a frame, a dictionary
    `{topic: {document: score}}`, ScoredDocs of ir_measures, a dictionary of these by the runs' names, or a list of any
    of them. `metrics` are expressions such as `nDCG@10`, by default the
    service's; `parameters` are defaults of theirs, such as `gains="3:2:1"`, `beta=10` or `base=10`. `names` is the tool
    whose names the expressions use. With `replicates="@"`, runs named `bm25@1` and `bm25@2` are replicates of `bm25`,
    whose score on a topic is the mean of theirs. `resample="topics+replicates"` draws these anew, too. `bounds` and
    `cwl` add `numbers` to the answer: the means if unjudged documents were relevant, and what users find (EU to EI).
    Means of replicates have none.

    The answer's `notes` say what the command prints on standard error. Raise FaultyFile with the lines of faults,
    BadExpression or BadGains for a metric, and BadInput for anything else, such as a level that is no whole number.
    """
    if unknown := parameters.keys() - query_parameters().keys():
        available = ", ".join(sorted(query_parameters()))
        raise BadInput(f"There is no parameter {min(unknown)!r}. Available: {available}.")
    judgments = FileJudgments.of(qrels, intents=intents, depth=depth)
    query = {name: str(value) for name, value in parameters.items()}
    expressions = [metrics] if isinstance(metrics, str) else list(metrics)
    # The default metrics have our names, whichever tool's names the caller uses for others.
    if not expressions:
        expressions, names = list(DEFAULT_METRICS), "gainboard"
    bound, label_by_expression = judgments.metrics(expressions, names, query)
    tables = name_runs([runs])
    if not tables:
        raise BadInput("There is no run to score. Give a file, a folder, a frame, or a dictionary.")
    order = RunOrder(order_by, ignore_identical_ids)
    judged = {run.name: judgments.run(run.table, run.name, order) for run in tables}
    topics = judgments.index.topics
    runs_of_topics = JudgedRuns.of([run for run, _ in judged.values()], topics.judgments)
    by_topic = score_all(bound, runs_of_topics)
    missing = np.count_nonzero(runs_of_topics.missing, axis=1)
    means, none = mean_all(bound, by_topic), undefined(bound, topics)
    arrays = ScoreArrays(by_topic, means, none, missing, runs_of_topics.missing)
    systems = [run.split(replicates)[0] for run in tables] if replicates else list(judged)
    if replicates is not None:
        arrays = arrays.collapsed(bound, group_rows(systems), redraws=resample == "topics+replicates")
    numbers = {
        name: score_beside(bound, run, topics.judgments, by_topic[:, column], bounds=bounds, cwl=cwl)
        for column, (name, (run, _)) in enumerate(judged.items() if (bounds or cwl) and not replicates else ())
    }
    scores = ScoreTable(bound, label_by_expression, list(dict.fromkeys(systems)), topics.topics, arrays)
    notes = list(warning_lines("qrels", judgments.warnings))
    for name, (_, warnings) in judged.items():
        notes += warning_lines(name, warnings, beside=replicates is not None)
    return FileScores(scores, [*notes, *(f"{remark}." for remark in scores.remarks())], numbers)


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, io.TextIOBase):
        raise BadInput('A file that is open as text cannot be read. Open it as binary: open(path, "rb").')
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        try:
            with open(source, "rb") as file:
                yield file
        except (OSError, ValueError) as error:  # ValueError for a path that no file can have
            why = getattr(error, "strerror", None) or error
            path = os.fsdecode(source).encode(errors="backslashreplace").decode()
            raise BadInput(f"Cannot read {path}: {why}.") from error
    else:
        yield source

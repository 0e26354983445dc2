"""The scoring of run files without a server, as the service scores stored runs, and the formats of printed scores."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard import acceleration
from gainboard.cli.command import Argument, Option
from gainboard.cli.files import RUN_FILES, FileReader, Reading, short_names, text_size, total_size, without_suffix
from gainboard.cli.options import (
    STANDARD_INPUT,
    TOOL,
    Defaults,
    PerTopic,
    Quiet,
    metric_option,
    require_one_input,
    split_expressions,
)
from gainboard.cli.parallel import Count, PlainCount, choose_processes, process_files
from gainboard.cli.printing import DIGITS, fault_lines, format_table, list_faults, mark_best, table_beside
from gainboard.errors import BadSetting, Fault, GainboardError
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import NO_LIMITS, RunFile, judged_run_warnings, no_common_topics
from gainboard.evaluation.scoring.binding import DEFAULT_METRICS, bind_all, in_our_names, undefined
from gainboard.evaluation.scoring.scores import ScoreArrays, ScoreTable, rank_by_mean, score_beside
from gainboard.evaluation.scoring.ties import RunTies, TiedScores, as_json, refuse_by_intent, tied_scores
from gainboard.exhibits import Cell, Column, Table
from gainboard.metrics import BoundMetric, JudgedRuns, Names, Scale, mean_all, notes_on_names, score_all
from gainboard.notation.sources import as_utf8, run_name, split_replicate
from gainboard.notation.texts import order_topics, warning_lines
from gainboard.trec import FileWarning, QrelsFile
from gainboard.vocabulary import Resample, TiesAsked

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FilesToScore:
    """The files that `score` and `compare` score, and the options that say how."""

    qrels: Annotated[
        str,
        Argument("judgments in TREC's or NTCIR's layout; - is standard input"),
        Option("judgments; all arguments are then runs", metavar="QRELS"),
    ]
    runs: Annotated[
        Sequence[str], Argument("run files, plain, .gz or .zst, or folders of them", metavar="RUN_FILE"), RUN_FILES
    ]
    metrics: Annotated[Sequence[str], metric_option("AP, Q, nDCG@10")] = ()
    names: Annotated[Names, TOOL] = "gainboard"
    per_topic: PerTopic = False
    quiet: Quiet = False
    reading: Reading
    parameters: Defaults


class ScoredFile(NamedTuple):
    """A scored run: `scores` is float64 [metrics, topics], NaN if undefined; `means` is [metrics]; and its warnings."""

    tag: str
    warnings: Sequence[FileWarning]
    topics_missing: int
    scores: Floats
    means: Floats
    ties: tuple[RunTies, TiedScores] | None = None
    """The ties, and scores under other orders of them, if these are asked for."""
    lacks: NDArray[np.bool_] | None = None
    """True for each topic that it lacks: [topics]."""
    beside: Mapping[str, Mapping[str, float]] = {}
    """The answer of `score_beside`, if anything of it is asked for."""


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
    bounds: bool = False
    cwl: bool = False

    def __call__(self, name: str, count: Count) -> ScoredFile | RefusedFile:
        try:
            file, ties = self._read(name, count)
            warnings = [*file.warnings, *check_topics(file, self.index, self.qrels)]
        except GainboardError as error:
            faults, total, _ = list_faults(error)
            return RefusedFile(faults, total)
        assert file.joined is not None
        run, judgments = file.joined.run, self.index.topics.judgments
        runs = JudgedRuns.of([run], judgments)
        scores = score_all(self.metrics, runs)[:, 0]
        missing, means = int(np.count_nonzero(runs.missing)), mean_all(self.metrics, scores)
        asked = {"bounds": self.bounds, "cwl": self.cwl}
        beside = score_beside(self.metrics, run, judgments, scores, **asked) if any(asked.values()) else {}
        return ScoredFile(file.tag, warnings, missing, scores, means, ties, runs.missing[0], beside)

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
class ScoredFiles(ScoreTable):
    """The scores of all files that have no faults."""

    qrels: str
    scale: Scale
    runs: Sequence[ScoredFile]
    files: Sequence[str]
    """The file of each run."""
    refused: Mapping[str, RefusedFile]
    per_topic: bool
    """True if scores of single topics are printed beside their means."""

    def by_system(self, sign: str | None, resample: Resample) -> ScoredFiles:
        """Return the scores of systems, whose replicates the runs are, by the sign in their names."""
        if sign is None:
            return self
        from gainboard.statistics.means import group_rows  # noqa: PLC0415 (few ask for it)

        systems = name_systems(self.files, sign)
        names = list(dict.fromkeys(systems))
        arrays = replace(self.arrays, lacks=np.array([run.lacks for run in self.runs], np.bool_))
        arrays = arrays.collapsed(self.metrics, group_rows(systems), redraws=resample == "topics+replicates")
        columns = (arrays.topics_missing.tolist(), arrays.by_topic.swapaxes(0, 1), arrays.means.T)
        runs = [ScoredFile(name, (), *values) for name, *values in zip(names, *columns, strict=True)]
        return replace(self, names=names, files=names, arrays=arrays, runs=runs)

    def best_first(self, label: str) -> ScoredFiles:
        """Return the same with the runs sorted by their means under one of the metrics, equal means by name."""
        order = [run for _, run in rank_by_mean(self.names, self.means[self.labels.index(label)])]
        own, lists = self.arrays, ("names", "files", "runs")
        arrays = ScoreArrays(own.by_topic[:, order], own.means[:, order], own.undefined, own.topics_missing[order])
        ordered: dict[str, Any] = {name: [getattr(self, name)[run] for run in order] for name in lists}
        return replace(self, arrays=arrays, **ordered)


def name_systems(files: Sequence[str], sign: str | None) -> list[str]:
    """Return the system of each run file, by the sign in its printed name; without a sign, each is its own.

    A system is named as on a board, unless two would then have one name: `lone.txt` beside `lone@1.txt`.
    """
    if sign is None:
        return list(files)
    systems = [split_replicate(name, sign)[0] for name in short_names(files)]
    short = {system: run_name(Path(system)) for system in systems}
    times = Counter(short.values())
    return [short[system] if times[short[system]] == 1 else system for system in systems]


def make_table(scored: ScoredFiles) -> Table:
    """Make a table with one row per run, or per topic and mean of a run. The best means are marked."""
    columns = [Column("run", align="left"), *([Column("topic", align="left")] if scored.per_topic else [])]
    rows: list[list[Cell]] = []
    if any(run.ties for run in scored.runs):
        return _ties_table(scored, columns)
    if any(run.beside for run in scored.runs):
        return table_beside(scored.names, [run.beside for run in scored.runs])
    columns += [Column(label, digits=DIGITS) for label in scored.labels]
    shown_topics = order_topics(scored.topics, None)
    for run, means in enumerate(mark_best(scored.means.tolist())):
        name = scored.names[run]
        if scored.per_topic:
            by_topic = scored.by_topic[:, run].T.tolist()
            rows += ([name, scored.topics[topic], *by_topic[topic]] for topic in shown_topics)
        rows.append([name, *(["all"] if scored.per_topic else []), *means])
    missing = _runs_with(scored, (run.topics_missing for run in scored.runs))
    notes = [*scored.remarks(), *([f"Runs that lack topics, which score 0: {missing}"] if missing else [])]
    caption = f"{'Scores by topic and their means' if scored.per_topic else 'Mean scores'}, by {scored.qrels}"
    mark = "the highest mean under a metric" if len(scored.runs) > 1 else ""
    return Table("scores", caption, columns, rows, mark=mark, notes=[f"{note}." for note in notes])


def _runs_with(scored: ScoredFiles, counts: Iterable[int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in zip(scored.names, counts, strict=True) if count)


def _ties_table(scored: ScoredFiles, columns: list[Column]) -> Table:
    """Make the table with the scores under other orders of ties beside each score."""
    beside = list(_scores_beside(scored))
    columns += [Column("tied", digits=1, percent=True), *(Column(name, digits=DIGITS) for name, _ in beside)]
    rows: list[list[Cell]] = []
    for place, (name, run) in enumerate(zip(scored.names, scored.runs, strict=True)):
        every = np.array([scores[place] for _, scores in beside]).T.tolist()
        if scored.per_topic:
            rows += ([name, scored.topics[topic], None, *every[topic]] for topic in order_topics(scored.topics, None))
        share = run.ties[0].tied_share if run.ties else None
        # The last row is the mean.
        rows.append([name, *(["all"] if scored.per_topic else []), share, *every[-1]])
    cut = _runs_with(scored, (run.ties[0].cut if run.ties else 0 for run in scored.runs))
    lost = [f"Runs with topics whose ties go on beyond the depth: {cut}."] if cut else []
    caption = f"Scores under the order of the files, and under other orders of tied documents, by {scored.qrels}"
    return Table("ties", caption, columns, rows, notes=[*(f"{remark}." for remark in scored.remarks()), *lost])


def _scores_beside(scored: ScoredFiles) -> Iterator[tuple[str, Floats]]:
    """Yield each heading, and the scores of all runs by topic with their means at the end: float64 [runs, topics + 1].

    Standard errors are left out where all of them are 0.
    """
    for row, label in enumerate(scored.labels):
        yield label, np.array([[*run.scores[row], run.means[row]] for run in scored.runs])
        ties = [run.ties[1] for run in scored.runs if run.ties]
        for name in ties[0].means:
            scores = np.array([[*of_run.scores[name][row], of_run.means[name][row]] for of_run in ties])
            if name != "standard_error" or np.nan_to_num(scores).any():
                yield f"{label} {name.replace('_', ' ')}", scores


def named_for_paper(scored: ScoredFiles) -> ScoredFiles:
    """Return the same without folders, which a paper does not show. Runs of files that are named alike get numbers."""
    names = [without_suffix(Path(name).name) for name in scored.names]
    times, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})" if times[name] > 1 else name)
    return replace(scored, qrels=Path(scored.qrels).name, names=numbered)


def _text(scored: ScoredFiles, weights: bool) -> Iterable[str]:
    return [format_table(make_table(scored), weights=weights)] if scored.runs else []


def _latex(scored: ScoredFiles, weights: bool) -> Iterable[str]:
    from gainboard.exhibits.latex import as_latex  # noqa: PLC0415 (few ask for it)

    return [as_latex(make_table(named_for_paper(scored)))] if scored.runs else []


def _csv(scored: ScoredFiles, weights: bool) -> Iterable[str]:
    return scored.csv(per_topic=scored.per_topic)


def _trec_eval(scored: ScoredFiles, weights: bool) -> Iterable[str]:
    return scored.trec_eval([run.tag for run in scored.runs], scored.scale, per_topic=scored.per_topic)


def _json(scored: ScoredFiles, weights: bool) -> Iterable[str]:
    runs = []
    for place, (name, file, run) in enumerate(zip(scored.names, scored.files, scored.runs, strict=True)):
        shown: dict[str, Any] = {"name": name, "file": file, "tag": run.tag, "topics_missing": run.topics_missing}
        shown |= scored.run_as_json(place, per_topic=scored.per_topic)
        if run.ties:
            shown["ties"] = as_json(*run.ties, scored.labels, scored.topics, scored.per_topic)
        if run.beside:
            shown["numbers"] = run.beside
        runs.append(shown | {"warnings": [warning.as_json() for warning in run.warnings]})
    answer = {
        "qrels": scored.qrels,
        "metrics": scored.labels,
        "asked": dict(scored.label_by_expression),
        "runs": runs,
        "topics_scored": scored.topics_scored(),
        "topics_undefined": scored.topics_undefined(),
        "notes": notes_on_names(scored.metrics),
        "faulty": list_refused(scored.refused),
    }
    return [json.dumps(answer, indent=2, ensure_ascii=False), "\n"]


def list_refused(refused: Mapping[str, RefusedFile]) -> list[dict[str, Any]]:
    """Return the files with faults as JSON has them."""
    return [
        {"file": name, "errors": [fault.as_json() for fault in file.faults], "errors_total": file.total}
        for name, file in refused.items()
    ]


FORMS: Mapping[str, Callable[[ScoredFiles, bool], Iterable[str]]] = {
    "table": _text,
    "csv": _csv,
    "json": _json,
    "trec_eval": _trec_eval,
    "latex": _latex,
}
"""The formats of scores, by name. The second argument says whether the best means may be bold."""

WORTH_COMPILED = 48 << 20
"""The size of text for each process, in bytes, from which compiled code saves more time than loading it takes."""


def score_files(said: FilesToScore, files: Sequence[str], **beside: Any) -> ScoredFiles | None:
    """Score run files by the qrels and under the metrics of a command line.

    `beside` are fields of `FileScoring`: what else is asked for. Faults and warnings are printed on standard error, and
    so is what is left out of means. Return None if the qrels have faults.
    """
    require_one_input([said.qrels, *files, *([said.reading.iprob] if said.reading.iprob else [])])
    reading = FileReader.of(said.reading, NO_LIMITS)
    try:
        qrels = reading.qrels(said.qrels, PlainCount())
    except GainboardError as error:
        _print_notes(fault_lines(said.qrels, *list_faults(error)))
        return None
    if not said.quiet:
        _print_notes(warning_lines(said.qrels, qrels.warnings))
    scored = _score_by(said, files, reading, qrels, beside)
    if not said.quiet:
        _print_notes(f"{said.qrels}: note: {remark}" for remark in scored.remarks())
        if beside.get("bounds") and (unbound := [it.label for it in scored.metrics if it.metric.needs_annotations]):
            why = "nobody can say to which group or stratum an unjudged document belongs"
            print(f"{said.qrels}: note: --bounds has none for {', '.join(unbound)}: {why}", file=sys.stderr)
    return scored


def _score_by(
    said: FilesToScore, files: Sequence[str], reading: FileReader, qrels: QrelsFile, beside: Mapping[str, Any]
) -> ScoredFiles:
    scale = Scale(reading.highest_level(qrels), reading.depth, reading.intents)
    metrics, asked = bind_metrics(said.metrics, scale, said.parameters, said.names)
    if beside.get("ties"):
        refuse_by_intent(metrics)
    if beside.get("cwl") and not any(metric.user_model for metric in metrics):
        raise BadSetting("--cwl: none of the metrics has a user model. Ask for some that have: -m 'RBP INST P@10 RR'")
    task = FileScoring(reading, said.qrels, reading.index(qrels), metrics, **beside)
    size = total_size(files)
    processes = choose_processes(files, size)
    load_compiled(files, processes)
    runs: list[tuple[str, str, ScoredFile]] = []
    refused: dict[str, RefusedFile] = {}
    slight: dict[str, list[str]] = {}
    done = process_files(task, files, label="scoring", size=size, processes=processes)
    for file, name, run in zip(files, short_names(files), done, strict=True):
        if isinstance(run, RefusedFile):
            _print_notes(fault_lines(file, run.faults, run.total))
            refused[file] = run
            continue
        for warning in () if said.quiet else run.warnings:
            # With many runs, a line for each of these would hide the warnings that matter.
            if warning.is_slight and len(files) > 1:
                slight.setdefault(warning.code, []).append(file)
            else:
                _print_notes(warning_lines(file, [warning], beside=bool(getattr(said, "replicates", None))))
        runs.append((run.tag if file == STANDARD_INPUT else name, file, run))
    for code, named in slight.items():
        few = "less than 1 % of the documents"
        print(f"{len(named)} of {len(files)} runs: warning: {code}: {few}, such as in {named[0]}", file=sys.stderr)
    names, scored_files, scored = [list(column) for column in zip(*runs, strict=True)] or ([], [], [])
    topics, shape = task.index.topics, (len(runs), len(metrics))
    by_run = np.array([run.scores for run in scored]).reshape(*shape, len(topics.topics))
    arrays = ScoreArrays(
        np.ascontiguousarray(by_run.swapaxes(0, 1)),
        np.array([run.means for run in scored]).reshape(shape).T,
        undefined(metrics, topics),
        np.array([run.topics_missing for run in scored], np.int64),
    )
    qrels_name, per_topic = as_utf8(said.qrels), said.per_topic
    return ScoredFiles(
        metrics, asked, names, topics.topics, arrays, qrels_name, scale, scored, scored_files, refused, per_topic
    )


def load_compiled(names: Sequence[str], processes: int) -> None:
    """Load compiled reading and scoring if the files are large enough and `gainboard warm` has compiled them."""
    if text_size(names) >= WORTH_COMPILED * processes:
        acceleration.load_kept()


def _print_notes(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)

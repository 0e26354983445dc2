"""`gainboard.leaderboard`, `compare`, `gate` and `table` of files, frames and dictionaries.

These have runs and judgments, or scores that were computed elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gainboard.errors import BadInput
from gainboard.evaluation.boards.adjusted_boards import CorrectedBoard, TopicsJudgedTwice
from gainboard.evaluation.boards.gates import Gate, gate_scores, paired_scores
from gainboard.evaluation.boards.leaderboard import BoardGroups, corrected_groups, tested_groups
from gainboard.evaluation.boards.pair_statistics import CORRECTIONS, PairComparison, compare_pairs, pair_up
from gainboard.evaluation.boards.paper_tables import MeansTable, paper_table
from gainboard.evaluation.scoring.binding import DEFAULT_METRICS
from gainboard.evaluation.scoring.file_scores import FileScores, score
from gainboard.evaluation.scoring.score_files import as_file_scores, read_score_files
from gainboard.evaluation.scoring.scores import ScoreTable, rank_by_mean
from gainboard.notation.sources import Framed, Table
from gainboard.statistics.significance import Correction
from gainboard.trec.score_matrices import ScoresFile
from gainboard.vocabulary import Combination


class FileRank(NamedTuple):
    """A run on a board, with its means by label. Without a test of the runs, it has no rank set and no groups."""

    rank: int
    run: str
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float] | None]
    """The 95 % intervals of the means, Student's t over topics; None for a geometric mean, and for a single topic."""
    rank_set: tuple[int, int] | None
    groups: tuple[str, ...]


@dataclass(frozen=True)
class FileBoard(Framed):
    """Runs ranked by their means under the metric `by`: equal means share a rank, and runs without one are last."""

    by: str
    metrics: Sequence[str]
    rows: Sequence[FileRank]
    groups: BoardGroups | str
    """The test of all pairs, or why there is none."""
    notes: Sequence[str]
    """The notes of `FileScores`."""
    scores: ScoreTable

    def __repr__(self) -> str:
        return f"<FileBoard: {len(self.rows)} runs by {self.by}>"

    def columns(self) -> dict[str, list[Any]]:
        """Return rank, run, the mean under each label, and what is said of that under `by`: its interval (`low`,
        `high`), the rank set (`best_rank`, `worst_rank`) and `groups`.
        """
        ends = [row.rank_set or (None, None) for row in self.rows]
        intervals = [row.intervals[self.by] or (None, None) for row in self.rows]
        return {
            "rank": [row.rank for row in self.rows],
            "run": [row.run for row in self.rows],
            **{label: [row.means[label] for row in self.rows] for label in self.metrics},
            "low": [low for low, _ in intervals],
            "high": [high for _, high in intervals],
            "best_rank": [best for best, _ in ends],
            "worst_rank": [worst for _, worst in ends],
            "groups": ["".join(row.groups) for row in self.rows],
        }


def leaderboard(
    qrels: Table = None,
    runs: Any = None,
    metrics: Sequence[str] = (),
    *,
    scores: Any = None,
    by: str | None = None,
    corrected_by: Any = None,
    **options: Any,
) -> FileBoard:
    """Rank runs by the metric `by`, the first one by default, as the service and `gainboard leaderboard` do.

    Everything else is as for `gainboard.score`. Runs that share a letter under `groups` are not told apart by the
    bootstrap range test (alpha 0.05); the rank set of a run has the ranks that it may have by the same test.

    `scores` stand in place of judgments and runs: a frame of pandas or polars with a row for each system and a column
    for each topic, or with columns `system`, `topic` and `value`; a dictionary by system and topic; or a file of scores
    (`gainboard leaderboard --scores`). Then `metrics` are those of the scores, all by default. The options are then
    `direction` ("up", or "down" if lower scores are better), `missing` (a number, "leave-out" or "refuse"), `columns`
    and `measure`. With a file of `nuggets`, the scores are files of verdicts on answers, and `stray` may be "count".
    `corrected_by` are the scores of people on a random sample of the topics, which correct the means.

    Raise BadInput if `by` is a preset of several metrics, and what `gainboard.score` raises.
    """
    expressions = [metrics] if isinstance(metrics, str) else list(metrics)
    if by and not expressions and scores is None and options.get("names", "gainboard") == "gainboard":
        expressions = list(DEFAULT_METRICS)
    if by and by not in expressions and (expressions or scores is None):
        expressions.append(by)
    reading = {name: options[name] for name in ("columns", "nuggets", "stray") if name in options}
    scored = _scored(qrels, runs, scores, expressions, options)
    table, labels = scored.scores, scored.scores.labels
    label = table.label_by_expression.get(by) if by else labels[0]
    if label is None and scores is not None:
        raise BadInput(f"There are no scores of the metric {by!r}. Available: {', '.join(labels)}.")
    if label is None:
        raise BadInput(f"{by!r} stands for several metrics, and one can rank. Use one of: {', '.join(labels)}.")
    row = labels.index(label)
    corrected, notes = None, list(scored.notes)
    if corrected_by is not None:
        if scores is None:
            raise BadInput("corrected_by is for scores that were computed elsewhere: scores=FILE.")
        is_read = isinstance(corrected_by, ScoresFile)
        people = corrected_by if is_read else read_score_files(corrected_by, sample=True, **reading)
        corrected = correct_files(table, people)
        (trusted, topics), weight = corrected.by_metric[row].counted, corrected.by_metric[row].weight
        notes.append(
            f"Means are corrected by people on {trusted} of {topics} topics (weight {weight:.2f}). This holds only if "
            "these topics are a random sample."
        )
    every = corrected.means if corrected else table.means
    metric, means = table.metrics[row], every[row]
    ranked = rank_by_mean(table.names, -means if metric.is_reversed else means)
    tested = [run for _, run in ranked if not math.isnan(means[run])]
    names = [table.names[run] for run in tested]
    groups: BoardGroups | str
    if corrected and len(tested) > 1:
        groups = corrected_groups(corrected.by_metric[row], metric, names, means, tested)
    else:
        noise = None if table.arrays.noise is None else table.arrays.noise[row, tested]
        groups = tested_groups(metric, names, table.by_topic[row, tested], noise)
    letters, rank_sets = (groups.letters, groups.rank_sets) if isinstance(groups, BoardGroups) else ({}, {})
    low, high = (ends.T.tolist() for ends in (corrected.intervals if corrected else table.arrays.intervals))
    geometric = [metric.is_geometric for metric in table.metrics]
    rows = []
    for rank, run in ranked:
        name, means_of_run = table.names[run], dict(zip(labels, every[:, run].tolist(), strict=True))
        intervals = {
            label: None if has_none or math.isnan(ends[0]) else (ends[0], ends[1])
            for label, has_none, *ends in zip(labels, geometric, low[run], high[run], strict=True)
        }
        rows.append(FileRank(rank, name, means_of_run, intervals, rank_sets.get(name), letters.get(name, ())))
    return FileBoard(label, labels, rows, groups, notes, table)


def correct_files(table: ScoreTable, people: ScoresFile) -> CorrectedBoard:
    """Return the correction of scores by those of people on some topics. Raise BadInput if it is not possible."""

    def refuse(code: str, message: str) -> BadInput:
        return BadInput(message)

    if len(table.labels) == len(people.scores) == 1:
        # The only metric of a file may be named after the file.
        people = replace(people, scores={table.labels[0]: next(iter(people.scores.values()))})
    row_of = {name: row for row, name in enumerate(people.systems)}
    runs = np.array([column for column, name in enumerate(table.names) if name in row_of], np.intp)
    same = [row_of[table.names[column]] for column in runs.tolist()]
    by_metric = []
    for row, label in enumerate(table.labels):
        if label not in people.scores:
            raise BadInput(f"corrected_by has no scores of {label!r}, but of {', '.join(people.scores)}.")
        by_topic = people.scores[label][same]
        judged = np.flatnonzero(~np.isnan(by_topic).all(axis=0))
        named = [people.topics[topic] for topic in judged.tolist()]
        counts = ~table.arrays.undefined[row]
        topics = TopicsJudgedTwice.of((table.topics, counts), (named, np.ones(len(named), np.bool_)))
        by_metric.append(topics.correct(label, table.by_topic[row][runs], by_topic[:, judged], runs, refuse))
    return CorrectedBoard("people", None, by_metric, len(table.names))


def _scored(qrels: Table, runs: Any, scores: Any, metrics: Sequence[str], options: dict[str, Any]) -> FileScores:
    """Return the scores of runs by judgments, or those that were computed elsewhere."""
    metrics = [metrics] if isinstance(metrics, str) else metrics
    if scores is None:
        if qrels is None or runs is None:
            raise BadInput("Give judgments and runs, or scores=FRAME, which were computed elsewhere.")
        if unknown := options.keys() & {"bounds", "cwl"}:
            raise BadInput(f"{min(unknown)} is for gainboard.score alone. Leave it out.")
        return score(qrels, runs, metrics, **options)
    if qrels is not None or runs is not None:
        raise BadInput("Scores stand in place of judgments and runs. Leave out either.")
    reading = {name: options.pop(name) for name in ("columns", "measure", "nuggets", "stray") if name in options}
    if unknown := options.keys() - {"direction", "missing", "systems", "resample"}:
        raise BadInput(f"{min(unknown)} is not for scores, which were computed already. Leave it out.")
    file = scores if isinstance(scores, ScoresFile) else read_score_files(scores, **reading)
    return as_file_scores(file, metrics, **options)


@dataclass(frozen=True)
class FilePairs(Framed):
    """Pairs of runs under each metric: differences by topic, intervals, tests, and topics that decide."""

    pairs: Sequence[PairComparison]
    notes: Sequence[str]
    """The notes of `FileScores`."""

    def __repr__(self) -> str:
        return f"<FilePairs: {len(self.pairs)} pairs of runs under metrics>"

    def columns(self) -> dict[str, list[Any]]:
        """Return a row for each pair under each metric, with the levels of all tests; `holm` is that of the t-test.

        The columns from `difference` on are empty where no test is possible.
        """
        rows = []
        for pair in self.pairs:
            row: dict[str, Any] = {"metric": pair.label, "run": pair.names[0], "baseline": pair.names[1]}
            row |= {"a": pair.means[0], "b": pair.means[1], "won": pair.won, "lost": pair.lost, "tied": pair.tied}
            if gaps := pair.statistics:
                row |= {"difference": gaps.difference, "low": gaps.low, "high": gaps.high}
                row |= {"effect_size": gaps.effect_size, "detectable": gaps.detectable}
                row |= {test.name: test.asl for test in gaps.tests}
                row |= {name: gaps.corrected(name) for name in CORRECTIONS}
                if equivalence := gaps.equivalence:
                    row |= {"tost": equivalence.asl, "tost_holm": equivalence.asl_holm}
            rows.append(row)
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}


def compare(
    qrels: Table = None,
    runs: Any = None,
    metrics: Sequence[str] = (),
    *,
    scores: Any = None,
    baseline: str | Sequence[str] | None = None,
    margin: float | None = None,
    **options: Any,
) -> FilePairs:
    """Compare two runs, or every other run with each `baseline`, as the service and `gainboard compare` do.

    Everything else is as for `gainboard.leaderboard`; of `scores`, `runs` are the names of the two that are compared.
    Levels are corrected for exactly these pairs, under each metric. `margin` also asks whether runs are equivalent
    (TOST): it is the largest mean difference that does not matter.

    Raise BadInput for a baseline that is no run, for a margin that is not above 0, and for other than two runs without
    a baseline.
    """
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
    if scores is not None and runs is not None:
        options["systems"], runs = [*([runs] if isinstance(runs, str) else runs), *baselines], None
    scored = _scored(qrels, runs, scores, metrics, options)
    if unknown := [name for name in baselines if name not in scored.runs]:
        raise BadInput(f"There is no run {unknown[0]!r} to be a baseline. Available: {', '.join(scored.runs)}.")
    if margin is not None and not margin > 0:
        raise BadInput(f"The margin {margin} is not above 0. Use a number such as 0.02.")
    if not (len(scored.runs) == 2 if not baselines else set(scored.runs) - set(baselines)):
        raise BadInput(
            f"Two runs can be compared, but the number of runs is {len(scored.runs)}. Give two, or say with which run "
            "the others are compared: baseline=NAME."
        )
    pairs = pair_up(scored.runs, baselines)
    return FilePairs(list(compare_pairs(scored.scores, pairs, margin)), scored.notes)


def gate(
    qrels: Table = None,
    old: Any = None,
    new: Any = None,
    metrics: Sequence[str] = (),
    *,
    margin: float | str,
    scores: Any = None,
    combination: Combination = "holm",
    **options: Any,
) -> Gate:
    """Return whether the run `new` is worse than the run `old`, or surely not by the `margin` or more.

    `margin` is in the units of the metrics, or a share of the old run's mean: `"2%"`. `combination` says how several
    metrics make one verdict: "holm", "all" or "any". Everything else is as for `gainboard.leaderboard`; of `scores`,
    `old` and `new` are names of systems, and otherwise a table each.

    Raise BadInput for a margin that is not above 0, and for fewer than two topics on which both runs have a score.
    """
    if old is None or new is None or (scores is not None and old == new):
        raise BadInput("Two runs are needed, the old one and the new one: gate(qrels, old, new, margin=0.01).")
    names, runs = ("old", "new"), None if scores is not None else {"old": old, "new": new}
    if scores is not None:
        options["systems"] = names = (str(old), str(new))
    scored = _scored(qrels, runs, scores, metrics, options)
    pairs = paired_scores(scored.scores, *scored.scores.by_topic.swapaxes(0, 1))
    return gate_scores(names, pairs, margin, combination, scored.notes)


def table(
    qrels: Table = None,
    runs: Any = None,
    metrics: Sequence[str] = (),
    *,
    scores: Any = None,
    baseline: str | None = None,
    correction: Correction = "holm",
    caption: str | None = None,
    label: str = "means",
    asl: bool = False,
    **options: Any,
) -> MeansTable:
    """Return the table of a paper, as `gainboard table` does: means, and where runs differ from the `baseline`.

    Without a baseline, runs have letters as on a board. `asl` adds the corrected levels in print. Everything else is
    as for `gainboard.leaderboard`. Raise BadInput for a baseline that is no run, or a label that is no slug.
    """
    scored = _scored(qrels, runs, scores, metrics, options)
    return paper_table(scored.scores, baseline=baseline, correction=correction, caption=caption, label=label, asl=asl)

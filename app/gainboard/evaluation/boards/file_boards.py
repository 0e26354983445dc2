"""`gainboard.leaderboard` and `gainboard.compare`: boards and comparisons of files, frames and dictionaries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gainboard.errors import BadInput
from gainboard.evaluation.boards.leaderboard import BoardGroups, tested_groups
from gainboard.evaluation.boards.pair_statistics import PairComparison, compare_pairs, pair_up
from gainboard.evaluation.scoring.binding import DEFAULT_METRICS
from gainboard.evaluation.scoring.file_scores import score
from gainboard.evaluation.scoring.scores import rank_by_mean
from gainboard.notation.frames import Framed
from gainboard.notation.sources import Table


class FileRank(NamedTuple):
    """A run on a board, with its means by label. Without a test of the runs, it has no rank set and no groups."""

    rank: int
    run: str
    means: Mapping[str, float]
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

    def __repr__(self) -> str:
        return f"<FileBoard: {len(self.rows)} runs by {self.by}>"

    def columns(self) -> dict[str, list[Any]]:
        """Return rank, run, the mean under each label, the rank set (`best_rank`, `worst_rank`) and `groups`."""
        ends = [row.rank_set or (None, None) for row in self.rows]
        return {
            "rank": [row.rank for row in self.rows],
            "run": [row.run for row in self.rows],
            **{label: [row.means[label] for row in self.rows] for label in self.metrics},
            "best_rank": [best for best, _ in ends],
            "worst_rank": [worst for _, worst in ends],
            "groups": ["".join(row.groups) for row in self.rows],
        }


def leaderboard(
    qrels: Table, runs: Any, metrics: Sequence[str] = (), *, by: str | None = None, **options: Any
) -> FileBoard:
    """Rank runs by the metric `by`, the first one by default, as the service and `gainboard leaderboard` do.

    Everything else is as for `gainboard.score`. Runs that share a letter under `groups` are not told apart by the
    bootstrap range test (alpha 0.05); the rank set of a run has the ranks that it may have by the same test.

    Raise BadInput if `by` is a preset of several metrics, and what `gainboard.score` raises.
    """
    expressions = [metrics] if isinstance(metrics, str) else list(metrics)
    if by and not expressions and options.get("names", "gainboard") == "gainboard":
        expressions = list(DEFAULT_METRICS)
    scored = score(qrels, runs, [*expressions, *([by] if by and by not in expressions else [])], **options)
    scores, labels = scored.scores, scored.scores.labels
    label = scores.label_by_expression.get(by) if by else labels[0]
    if label is None:
        raise BadInput(f"{by!r} stands for several metrics, and one can rank. Use one of: {', '.join(labels)}.")
    row = labels.index(label)
    metric, means = scores.metrics[row], scores.means[row]
    ranked = rank_by_mean(scores.names, -means if metric.is_reversed else means)
    tested = [run for _, run in ranked if not math.isnan(means[run])]
    groups = tested_groups(metric, [scores.names[run] for run in tested], scores.by_topic[row, tested])
    letters, rank_sets = (groups.letters, groups.rank_sets) if isinstance(groups, BoardGroups) else ({}, {})
    rows = []
    for rank, run in ranked:
        name, means_of_run = scores.names[run], dict(zip(labels, scores.means[:, run].tolist(), strict=True))
        rows.append(FileRank(rank, name, means_of_run, rank_sets.get(name), letters.get(name, ())))
    return FileBoard(label, labels, rows, groups, scored.notes)


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
        rows = [_row(pair) for pair in self.pairs]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}


def _row(pair: PairComparison) -> dict[str, Any]:
    row: dict[str, Any] = {
        "metric": pair.label,
        "run": pair.names[0],
        "baseline": pair.names[1],
        "a": pair.means[0],
        "b": pair.means[1],
        "won": pair.won,
        "lost": pair.lost,
        "tied": pair.tied,
    }
    if gaps := pair.statistics:
        row |= {"difference": gaps.difference, "low": gaps.low, "high": gaps.high, "effect_size": gaps.effect_size}
        row |= {test.name: test.asl for test in gaps.tests}
        row |= {"holm": gaps.tests[0].asl_holm, "benjamini-hochberg": gaps.tests[0].asl_benjamini_hochberg}
        row["max-t"] = next((test.asl_max_t for test in gaps.tests if test.asl_max_t is not None), None)
        if equivalence := gaps.equivalence:
            row |= {"tost": equivalence.asl, "tost_holm": equivalence.asl_holm}
    return row


def compare(
    qrels: Table,
    runs: Any,
    metrics: Sequence[str] = (),
    *,
    baseline: str | Sequence[str] | None = None,
    margin: float | None = None,
    **options: Any,
) -> FilePairs:
    """Compare two runs, or every other run with each `baseline`, as the service and `gainboard compare` do.

    Everything else is as for `gainboard.score`. Levels are corrected for exactly these pairs, under each metric.
    `margin` also asks whether runs are equivalent (TOST): it is the largest mean difference that does not matter.

    Raise BadInput for a baseline that is no run, for a margin that is not above 0, and for other than two runs without
    a baseline.
    """
    scored = score(qrels, runs, metrics, **options)
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
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

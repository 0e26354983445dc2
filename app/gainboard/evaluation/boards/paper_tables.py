"""`gainboard.table`: the table of a paper, with a row for each run and a column for each metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gainboard.errors import BadInput
from gainboard.evaluation.boards.leaderboard import tested_groups
from gainboard.evaluation.boards.pair_statistics import ALPHA, PairComparison, compare_pairs, pair_up
from gainboard.evaluation.scoring.scores import ScoreTable
from gainboard.exhibits import Cell, Column, Marked, Noted, Table, csv_line, mark_best_of_column
from gainboard.metrics import short_labels
from gainboard.notation.frames import Framed
from gainboard.statistics.significance import Correction

DIGITS: Final = 4
LEVEL_DIGITS: Final = 3
SIGNS: Final = {"better": "†", "worse": "‡", "": ""}
CORRECTIONS: Final[dict[Correction, str]] = {
    "holm": "paired t-test, corrected by Holm's method",
    "benjamini-hochberg": "paired t-test, corrected by Benjamini and Hochberg's method",
    "max-t": "paired bootstrap, corrected by max-T",
    "none": "paired t-test, not corrected",
}


class PaperScore(NamedTuple):
    """A mean. `level` is that of the difference from the baseline, corrected; `letters` are those of the groups."""

    mean: float
    level: float | None = None
    verdict: str = ""
    """`better` or `worse` than the baseline, or nothing."""
    letters: Sequence[str] = ()


@dataclass(frozen=True)
class PaperTable(Framed):
    """The means of runs under metrics, and where they differ: from a baseline, or from one another by letters."""

    runs: Sequence[str]
    metrics: Sequence[str]
    is_reversed: Sequence[bool]
    """By metric, whether lower scores are better."""
    scores: Sequence[Sequence[PaperScore]]
    """By metric, then run."""
    baseline: str | None
    caption: str
    label: str
    notes: Sequence[str]
    has_asl: bool = False

    def __repr__(self) -> str:
        return f"<PaperTable: {len(self.runs)} runs, {len(self.metrics)} metrics>"

    def columns(self) -> dict[str, list[Any]]:
        """Return the column `run`, and for each label the mean, and what is said of it in further columns.

        With a baseline, these are `LABEL level`, None for the baseline itself, and `LABEL mark`: `better`, `worse` or
        nothing. Without one, they are `LABEL letters`.
        """
        columns: dict[str, list[Any]] = {"run": list(self.runs)}
        for label, of_metric in zip(self.metrics, self.scores, strict=True):
            columns[label] = [score.mean for score in of_metric]
            if self.baseline is not None:
                columns[f"{label} level"] = [score.level for score in of_metric]
                columns[f"{label} mark"] = [score.verdict for score in of_metric]
            else:
                columns[f"{label} letters"] = ["".join(score.letters) for score in of_metric]
        return columns

    def table(self) -> Table:
        """Return the table for print: the best means are marked, and signs or letters stand behind the means."""
        short, columns = short_labels(self.metrics), [(Column("run", align="left"), list[Cell](self.runs))]
        for label, is_reversed, of_metric in zip(self.metrics, self.is_reversed, self.scores, strict=True):
            signs = [SIGNS[score.verdict] or "".join(score.letters) for score in of_metric]
            width = max(map(len, signs))
            best = mark_best_of_column([score.mean for score in of_metric], is_reversed=is_reversed)
            cells: list[Cell] = []
            for score, sign, cell in zip(of_metric, signs, best, strict=True):
                noted = Noted(score.mean, f"{sign:{width}}") if width else score.mean
                cells.append(Marked(noted) if isinstance(cell, Marked) else noted)
            if self.has_asl and self.baseline is not None:
                columns.append((Column("mean", digits=DIGITS, group=short[label]), cells))
                levels: list[Cell] = [score.level for score in of_metric]
                columns.append((Column("ASL", digits=LEVEL_DIGITS, group=short[label], level=True), levels))
            else:
                columns.append((Column(short[label], digits=DIGITS), cells))
        settings = [f"{short[label]} is {label}" for label in self.metrics if short[label] != label]
        notes = [*([f"{', '.join(settings)}."] if settings else []), *self.notes]
        return Table.of_columns(self.label, self.caption, columns, mark="the best mean under a metric", notes=notes)

    def to_csv(self) -> str:
        """Return the columns as CSV."""
        columns = self.columns()
        return "".join(map(csv_line, [list(columns), *zip(*columns.values(), strict=True)]))

    def to_latex(self) -> str:
        """Return the table as LaTeX (booktabs) with its caption and the label `tab:LABEL`, for `\\input`."""
        from gainboard.exhibits.latex import as_latex  # noqa: PLC0415 (few ask for it)

        return as_latex(self.table())

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        from gainboard.exhibits.tables import as_markdown  # noqa: PLC0415 (as above)

        return as_markdown(self.table())

    def to_html(self) -> str:
        """Return the table as a `<table>` and paragraphs."""
        from gainboard.exhibits.tables import as_html  # noqa: PLC0415 (as above)

        return as_html(self.table())

    _repr_html_ = to_html


def paper_table(
    scores: ScoreTable,
    *,
    baseline: str | None = None,
    correction: Correction = "holm",
    caption: str | None = None,
    label: str = "means",
    asl: bool = False,
    notes: Sequence[str] = (),
) -> PaperTable:
    """Return the table of a paper. Without a baseline, runs that share no letter under a metric are told apart.

    Differences from the baseline are those of `gainboard.compare`, and letters those of `gainboard.leaderboard`. Raise
    BadInput for a baseline that is no run, or the only one.
    """
    if baseline is not None and (baseline not in scores.names or len(scores.names) < 2):
        raise BadInput(f"The baseline {baseline!r} needs other runs beside it. Available: {', '.join(scores.names)}.")
    said = list(notes)
    if baseline is None:
        cells = []
        for metric, by_run, means in zip(scores.metrics, scores.by_topic, scores.means.tolist(), strict=True):
            groups = tested_groups(metric, scores.names, by_run)
            if isinstance(groups, str):
                said.append(f"{metric.label} has no letters. {groups}")
            letters = {} if isinstance(groups, str) or not groups.different_pairs else groups.letters
            cells.append(
                [PaperScore(mean, letters=letters.get(run, ())) for run, mean in zip(scores.names, means, strict=True)]
            )
        how = f"Runs that share no letter under a metric are told apart (bootstrap range test, {ALPHA:g})."
    else:
        pairs = compare_pairs(scores, pair_up(scores.names, [baseline]))
        compared = {(pair.label, pair.names[0]): pair for pair in pairs}
        cells = [
            [
                _beside_baseline(mean, compared.get((metric.label, run)), correction)
                for run, mean in zip(scores.names, means, strict=True)
            ]
            for metric, means in zip(scores.metrics, scores.means.tolist(), strict=True)
        ]
        others = f"{len(scores.names) - 1} runs" if len(scores.names) > 2 else "one run"
        how = (
            f"† better, ‡ worse than {baseline} ({CORRECTIONS[correction]} for {others} under each metric, {ALPHA:g})."
        )
    return PaperTable(
        scores.names,
        scores.labels,
        [metric.is_reversed for metric in scores.metrics],
        cells,
        baseline,
        caption or f"Mean scores over {max((scores.topics_scored() or {'': 0}).values())} topics",
        label.removeprefix("tab:"),
        [how, *said],
        asl,
    )


def _beside_baseline(mean: float, pair: PairComparison | None, correction: Correction) -> PaperScore:
    if pair is None or (own := pair.statistics) is None:  # the baseline itself, or a metric without tests
        return PaperScore(mean)
    of_t = own.tests[0]
    level = {
        "none": of_t.asl,
        "holm": of_t.asl_holm,
        "benjamini-hochberg": of_t.asl_benjamini_hochberg,
        "max-t": next((test.asl_max_t for test in own.tests if test.asl_max_t is not None), None),
    }[correction]
    if level is None or math.isnan(level) or level >= ALPHA:
        return PaperScore(mean, level)
    return PaperScore(mean, level, "better" if own.difference > 0 else "worse")

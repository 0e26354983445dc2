"""The table of a paper: a row for each run, a column for each metric, and marks where runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gainboard.errors import BadInput
from gainboard.evaluation.boards.leaderboard import tested_groups
from gainboard.evaluation.boards.pair_statistics import ALPHA, compare_pairs, pair_up
from gainboard.evaluation.scoring.scores import ScoreTable
from gainboard.exhibits import Cell, Column, Marked, Noted, Table, csv_line, mark_best_of_column
from gainboard.exhibits.latex import as_latex
from gainboard.exhibits.tables import as_html, as_markdown
from gainboard.metrics import short_labels
from gainboard.notation.sources import Framed
from gainboard.statistics.significance import Correction

DIGITS: Final = 4
LEVEL_DIGITS: Final = 3
SIGNS: Final = {"better": "†", "worse": "‡"}
TESTS: Final[Mapping[Correction, str]] = {
    "holm": "paired t-test, corrected by Holm's method",
    "benjamini-hochberg": "paired t-test, corrected by Benjamini and Hochberg's method",
    "max-t": "paired bootstrap, corrected by max-T",
    "none": "paired t-test, not corrected",
}


@dataclass(frozen=True)
class MeansTable(Framed):
    """The means of runs under metrics, as values and for print."""

    values: Mapping[str, list[Any]]
    printed: Table

    def __repr__(self) -> str:
        return f"<MeansTable: {len(self.printed.rows)} runs>"

    def columns(self) -> dict[str, list[Any]]:
        """Return `run`, and for each label the mean and what is said of it.

        With a baseline, this is `LABEL level`, corrected, and `LABEL mark`: `better`, `worse` or nothing. Without one,
        it is `LABEL letters`.
        """
        return dict(self.values)

    def to_csv(self) -> str:
        """Return the columns as CSV."""
        return "".join(map(csv_line, [list(self.values), *zip(*self.values.values(), strict=True)]))

    def to_latex(self) -> str:
        """Return the table as LaTeX (booktabs), with its caption and label, for `\\input`."""
        return as_latex(self.printed)

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return as_markdown(self.printed)

    def to_html(self) -> str:
        """Return the table as a `<table>`, and its notes as paragraphs."""
        return as_html(self.printed)

    _repr_html_ = to_html


def paper_table(
    scores: ScoreTable,
    *,
    baseline: str | None = None,
    correction: Correction = "holm",
    caption: str | None = None,
    label: str = "means",
    asl: bool = False,
) -> MeansTable:
    """Return the table. Differences from the baseline are those of `compare`, and letters those of `leaderboard`.

    Raise BadInput for a baseline that is no run, or the only one.
    """
    names, short = scores.names, short_labels(scores.labels)
    if baseline is not None and (baseline not in names or len(names) < 2):
        raise BadInput(f"The baseline {baseline!r} needs other runs beside it. Available: {', '.join(names)}.")
    pairs = compare_pairs(scores, pair_up(names, [baseline])) if baseline else ()
    tested = {(pair.label, pair.names[0]): pair.statistics for pair in pairs if pair.statistics}
    values: dict[str, list[Any]] = {"run": list(names)}
    columns: list[tuple[Column, Sequence[Cell]]] = [(Column("run", align="left"), list(names))]
    noise = scores.arrays.noise
    notes = [f"{short[name]} is {name}." for name in scores.labels if short[name] != name]
    for metric, by_run, means in zip(scores.metrics, scores.by_topic, scores.means.tolist(), strict=True):
        name, group = metric.label, short[metric.label]
        values[name] = means
        if baseline:
            of_runs = [tested.get((name, run)) for run in names]
            levels = [None if of_run is None else of_run.corrected(correction) for of_run in of_runs]
            gains = [
                of_run.difference if of_run and level is not None and level < ALPHA else 0
                for of_run, level in zip(of_runs, levels, strict=True)
            ]
            marks = ["better" if gain > 0 else "worse" if gain < 0 else "" for gain in gains]
            signs = [SIGNS.get(mark, "") for mark in marks]
            values |= {f"{name} level": levels, f"{name} mark": marks}
        else:
            groups = tested_groups(metric, names, by_run, None if noise is None else noise[scores.labels.index(name)])
            if isinstance(groups, str):
                notes.append(f"{group} has no letters. {groups}")
            letters = {} if isinstance(groups, str) or not groups.different_pairs else groups.letters
            values[f"{name} letters"] = signs = ["".join(letters.get(run, ())) for run in names]
        best = mark_best_of_column(means, is_reversed=metric.is_reversed)
        noted = [Noted(mean, f"{sign:{max(map(len, signs))}}") for mean, sign in zip(means, signs, strict=True)]
        cells = [Marked(cell) if isinstance(mark, Marked) else cell for cell, mark in zip(noted, best, strict=True)]
        has_asl = asl and baseline is not None
        columns.append((Column("mean" if has_asl else group, digits=DIGITS, group=group if has_asl else ""), cells))
        if has_asl:
            columns.append((Column("ASL", digits=LEVEL_DIGITS, group=group, level=True), levels))
    many = "one run" if len(names) == 2 else f"{len(names) - 1} runs"
    how = f"† better, ‡ worse than {baseline} ({TESTS[correction]} for {many} under each metric, {ALPHA:g})."
    by_letters = f"Runs that share no letter under a metric are told apart (bootstrap range test, {ALPHA:g})."
    caption = caption or f"Mean scores over {max((scores.topics_scored() or {'': 0}).values())} topics"
    mark, notes = "the best mean under a metric", [*notes, how if baseline else by_letters]
    return MeansTable(values, Table.of_columns(label.removeprefix("tab:"), caption, columns, mark=mark, notes=notes))

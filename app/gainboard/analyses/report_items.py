"""The items of a report: tables and figures under the paper's own numbers, what is missing, and remarks for readers.

Tables that several papers have are here, too: of Kendall's tau, with their marks, of numbers of runs, and of judgments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gainboard.analyses.agreement import AgreementResult
from gainboard.analyses.common import unsure
from gainboard.analyses.judgments import CrossedJudgments, JudgmentsResult
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.result_models import JobResult
from gainboard.analyses.stability import StabilityResult
from gainboard.analyses.swap_rate import SwapRateResult
from gainboard.exhibits import Column, Marked, Share, Table
from gainboard.exhibits.figures import Figure
from gainboard.exhibits.tables import Cell, MarkStyle, Value, is_undefined, value_of
from gainboard.statistics.correlation import least_significant_tau

Finish = Callable[[Table], Table]
"""A function that sorts the rows of a table and marks its cells, by the paper's rules."""


def as_it_is(table: Table) -> Table:
    """Return the table unchanged, for tables that the paper neither sorts nor marks."""
    return table


def slug(number: str) -> str:
    """Return the paper's number of a table or figure as a name: "Tables 3-6 (a)" becomes `tables-3-6a`."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"[ (]*\((\w+)\)", r"\1", number.lower())).strip("-")


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the paper, for one collection.

    `number` is the paper's; if the paper has such a table for each data set, it names all of them ("Tables 3-6 (a)").

    The table is neither sorted nor marked. `finish` does both, for this table and for the average over collections,
    which may have a number of its own. A table that `is_joined` is not averaged: one table has the rows of all
    collections.
    """

    number: str
    table: Table
    finish: Finish = as_it_is
    average: str = ""
    is_joined: bool = False
    has_average: bool = True
    """True if a mean of its numbers over collections makes sense."""
    by_seed: Sequence[Table] = ()
    """The same table under further seeds: marks that are not the same in all are uncertain."""

    def finished(self) -> Table:
        """Return the table as it is shown."""
        return finished_under_seeds(self.finish, [self.table, *self.by_seed])


def finished_under_seeds(finish: Finish, tables: Sequence[Table]) -> Table:
    """Return the first table finished, with uncertain marks in italics.

    The others are the same table under other seeds. A mark is uncertain if it is not in all of them, when they are
    finished too. A note names the rows that may be first, if it is not always the same row.
    """
    shown, *others = (finish(table) for table in tables)
    if not others:
        return shown
    marked = [
        {(_texts(row), column) for row in table.rows for column, cell in enumerate(row) if isinstance(cell, Marked)}
        for table in (shown, *others)
    ]
    uncertain = {where for places in marked for where in places if not all(where in marks for marks in marked)}
    rows = [
        [
            Marked(value_of(cell), "italic") if (_texts(row), column) in uncertain else cell
            for column, cell in enumerate(row)
        ]
        for row in shown.rows
    ]
    firsts: dict[Value, dict[str, None]] = {}
    for table in (shown, *others):
        seen: set[Value] = set()
        for row in table.rows:
            if (section := table.section_of(row)) not in seen:
                seen.add(section)
                firsts.setdefault(section, {})[str(value_of(row[table.printed[0]]))] = None
    notes = [
        f"It depends on the seed which is first{f' in {section}' if section else ''}: {' or '.join(names)}."
        for section, names in firsts.items()
        if len(names) > 1
    ]
    second_mark = unsure(shown.mark, len(tables)) if shown.mark else ""
    return replace(shown, rows=rows, second_mark=second_mark, notes=[*shown.notes, *notes])


def _texts(row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(value for value in map(value_of, row) if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A figure of the paper, for one collection. Its number is formed as that of a table."""

    number: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tables or figures that are missing, by the paper's numbers, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning for readers of the tables and figures."""

    text: str


ReportItem = ReportTable | ReportFigure | LeftOut | Remark


def average(tables: Sequence[Table]) -> Table:
    """Return the unweighted mean of tables of one form, number by number.

    It has the rows whose texts are in all tables, in the order of the first one. A number is undefined if it is
    undefined in any table. Shares become quotients.

    Columns that are not in all tables are left out. So are notes, which are about one table only.
    """
    first, *others = (_TableCells(table) for table in tables)
    shared = [
        column for column, heading in enumerate(first.headings) if all(heading in other.headings for other in others)
    ]
    rows = []
    for key, row in first.rows.items():
        if all(key in other.rows for other in others):
            same = [
                [other.rows[key][other.headings.index(first.headings[column])] for other in others] for column in shared
            ]
            rows.append([_mean([row[column], *cells]) for column, cells in zip(shared, same, strict=True)])
    columns = [tables[0].columns[column] for column in shared]
    notes = [note for note in tables[0].notes if all(note in other.notes for other in tables)]
    return replace(tables[0], columns=columns, rows=rows, notes=notes)


def joined(tables: Sequence[Table]) -> Table:
    """Return the rows of all tables, one table after the other, under the columns of all of them."""
    headings = {column.full_heading: column for table in tables for column in table.columns}
    rows: list[list[Cell]] = []
    for table in tables:
        headings_here = [column.full_heading for column in table.columns]
        rows += [
            [row[headings_here.index(heading)] if heading in headings_here else None for heading in headings]
            for row in table.rows
        ]
    return replace(tables[0], columns=list(headings.values()), rows=rows)


class _TableCells:
    """The rows of a table, by their texts."""

    def __init__(self, table: Table) -> None:
        self.headings = [column.full_heading for column in table.columns]
        self.rows: Mapping[tuple[Value, ...], Sequence[Value]] = {
            tuple(cell for cell in row if isinstance(cell, str)): row
            for row in ([value_of(cell) for cell in cells] for cells in table.rows)
        }


def _mean(values: Sequence[Value]) -> Value:
    if isinstance(values[0], str):
        return values[0]
    numbers = [float(value) for value in values if not (isinstance(value, str) or is_undefined(value))]  # type: ignore[arg-type]
    return sum(numbers) / len(numbers) if len(numbers) == len(values) else None


def mark_where(rule: Callable[[float], bool], style: MarkStyle = "bold") -> Finish:
    """Return the finish that marks every number for which the rule holds. The table says what the marks mean."""

    def mark(cell: Cell) -> Cell:
        value = value_of(cell)
        if isinstance(value, str) or is_undefined(value):
            return cell
        assert isinstance(value, int | float | Share)
        return Marked(value, style) if rule(float(value)) else cell

    return lambda table: replace(table, rows=[[mark(cell) for cell in row] for row in table.rows])


def sorted_by(column: int) -> Finish:
    """Return the finish that sorts rows by the numbers in one column, the highest first and undefined ones last."""

    def key(row: Sequence[Cell]) -> tuple[bool, float]:
        value = value_of(row[column])
        if isinstance(value, str) or value is None or is_undefined(value):
            return (True, 0.0)
        return (False, -float(value))

    return lambda table: replace(table, rows=sorted(table.rows, key=key))


Names = Mapping[str, str]
"""Maps the paper's names to metric expressions."""
R = TypeVar("R", StabilityResult, SwapRateResult, AgreementResult)
EQUIVALENT, NOTICEABLE = 0.9, 0.8
"""Rankings with a tau above the first are equivalent; below the second they differ noticeably (Voorhees, SIGIR 2001).
"""
HIGH = 0.9
ALPHA = 0.01


class Taus:
    """The taus of one result, by the names of its metrics in the order of the request."""

    def __init__(self, result: RankCorrelationResult, names: Sequence[str]) -> None:
        self._result = result
        self._places = {name: row for row, name in enumerate(names)}

    def __call__(self, one: str, other: str) -> float | None:
        return self._result.coefficients["kendall"][self._places[one]][self._places[other]]

    def table(
        self, name: str, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], legend: str = ""
    ) -> Table:
        """Return a table of taus, before `mark_taus` finishes it. `legend` explains its names."""
        scored = sorted(set(self._result.topics_scored.values()))
        topics = f"{scored[0]}" if len(scored) == 1 else f"{scored[0]} to {scored[-1]}"
        versions = self._result.qrels_versions
        judged = f" judged by qrels versions {' and '.join(map(str, versions))}" if versions else ""
        about = f"{len(self._result.runs)} runs, {topics} topics{judged}; Kendall's tau-b."
        notes = [*([f"{legend}."] if legend else []), about, significance(len(self._result.runs))]
        equivalent = f"> {EQUIVALENT}: equivalent rankings"
        noticeable = f"< {NOTICEABLE}: a noticeable difference"
        return Table(name, caption, columns, rows, mark=equivalent, second_mark=noticeable, notes=notes)


def tau_column(title: str, group: str = "") -> Column:
    """Return a column of taus, as papers print them."""
    return Column(title, digits=3, group=group)


def mark_taus(table: Table) -> Table:
    """Return the table with equivalent rankings in bold, and noticeably different ones in italics."""
    # A tau that equals a bound may differ from it in its last bits.
    equivalent = mark_where(lambda tau: round(tau, 12) > EQUIVALENT)
    return mark_where(lambda tau: round(tau, 12) < NOTICEABLE, "italic")(equivalent(table))


def significance(runs: int) -> str:
    """Return a note that says from which tau two rankings of so many runs are significantly correlated."""
    least = least_significant_tau(runs, ALPHA)
    if least is None:
        return f"No tau between rankings of {runs} runs is significant at {ALPHA} (two-sided)."
    return (
        f"Two rankings of {runs} runs are significantly correlated at {ALPHA} (two-sided) from a tau of {least:.3f} on."
    )


def high_taus(
    number: str,
    of: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Value]],
    result: RankCorrelationResult,
    names: Names,
) -> ReportTable:
    """Return a table of taus between the rankings of all runs, with those above 0.9 in bold."""
    caption, meaning = f"Kendall's tau between the rankings of all runs by {of}.", f"> {HIGH}"
    notes = [significance(len(result.runs)), legend(names)]
    table = Table("correlations", caption, [Column("metric"), *columns], rows, mark=meaning, notes=notes)
    return ReportTable(number, table, mark_where(lambda tau: round(tau, 12) > HIGH))


def renamed(result: R, names: Names, wanted: Names) -> R:
    """Return the result of a job about all metrics, with only the wanted ones, under the paper's names."""
    metrics = [
        metric.model_copy(update={"metric": name})
        for name, metric in zip(names, result.metrics, strict=True)
        if name in wanted
    ]
    return result.model_copy(update={"metrics": metrics})


def legend(names: Names) -> str:
    """Return a note that explains the names."""
    return "; ".join(f"{name}: {expression}" for name, expression in names.items()) + "."


# names of levels contain no blanks, so this column cannot be a level
NONRELEVANT, TOTAL = "nonrelevant (L0)", "all levels"


def statistics(judgments: JudgmentsResult, number: str, correlated: int | None, tested: int | None) -> ReportTable:
    """Return a row with the topics of a job of kind `judgments`, and the numbers of runs used.

    It is part of one table over all collections. A number is None if there was no such experiment.
    """
    relevant, levels = judgments.relevant, judgments.levels[:0:-1]
    used = "" if correlated is None else str(correlated)
    cells: list[tuple[Column, Value]] = [
        (Column("collection"), judgments.collection),
        (Column("|Q|"), judgments.topics),
        (Column("mean", digits=1, group="R per topic"), relevant.mean),
        (Column("minimum", group="R per topic"), relevant.minimum.relevant),
        *((Column(f"R({level.name})", digits=1), level.mean) for level in levels),
        (Column("#runs used", align="right"), f"{used} ({tested})" if tested is not None else used),
    ]
    columns, row = zip(*cells, strict=True)
    notes = [
        "Runs used: the best by AP, which are correlated; in parentheses, the best of each team, which are tested."
    ]
    table = Table("statistics", "Statistics of the data.", columns, [row], notes=notes)
    return ReportTable(number, table, is_joined=True)


def numbers_of_runs(result: JobResult, number: str) -> Iterator[ReportTable]:
    """Yield a row with the runs of a job and those left out as identical to others of their team, and their names."""
    kept, left_out = result.runs, result.runs_left_out or ()
    row = (result.collection, len(kept) + len(left_out), len(left_out), len(kept))
    columns = (Column("collection"), Column("runs"), Column("discarded, as identical"), Column("compared"))
    yield ReportTable(number, Table("runs", "Numbers of runs.", columns, [row]), is_joined=True)
    if left_out:
        caption = "Runs that are discarded because they rank all documents as an earlier run of their team does."
        pairs = [(result.collection, run.run, run.identical_to) for run in left_out]
        names = (Column("collection"), Column("discarded"), Column("identical to"))
        yield ReportTable(f"{number} (discarded)", Table("discarded", caption, names, pairs), is_joined=True)


def crossed_levels(result: JudgmentsResult, crossed: CrossedJudgments) -> Table:
    """Return the table of a job of kind `judgments`: for each original level the shares of the present levels."""
    names = [NONRELEVANT, *crossed.levels[1:]]
    lines = zip(names, crossed.crossed, crossed.there, crossed.shares, strict=True)
    rows: list[list[Cell]] = [[name, *counts, total, *shares] for name, counts, total, shares in lines if total]
    rows.append([TOTAL, *crossed.here, crossed.documents, *crossed.shares_here])
    columns = [
        Column("original"),
        *(Column(name, group="reassessed") for name in (*names, TOTAL)),
        *(Column(name, digits=1, percent=True, group="share of the row") for name in names),
    ]
    nonrelevant, *relevant = crossed.crossed
    kept, both = nonrelevant[0], sum(sum(row[1:]) for row in relevant)
    only = sum(crossed.judged_only_there), sum(crossed.judged_only_here)
    means = ", ".join(f"{level.mean:.1f} at {level.name}" for level in result.levels[1:])
    notes = [
        f"Original: qrels version {crossed.qrels_version}; reassessed: version {result.qrels_version}. {only[0]} "
        f"documents are judged by the former only, and {only[1]} by the latter.",
        f"Of the originally nonrelevant ones {_percent(kept, sum(nonrelevant))} were nonrelevant again, and of the "
        f"relevant ones {_percent(both, sum(map(sum, relevant)))} relevant at some level.",
        f"A topic has on average {result.relevant.mean:.1f} relevant documents in version "
        f"{result.qrels_version}: {means}.",
    ]
    return Table("levels", "Original and reassessed levels of documents.", columns, rows, notes=notes)


def _percent(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "none"

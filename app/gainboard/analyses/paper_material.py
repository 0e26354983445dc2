"""The material of an experiment, as papers describe it: topics, runs, and a table of two qrels versions' levels."""

from __future__ import annotations

from collections.abc import Iterator

from gainboard.analyses.judgments import CrossedJudgments, JudgmentsResult
from gainboard.analyses.report_items import ReportTable
from gainboard.analyses.result_models import JobResult
from gainboard.exhibits import Cell, Column, Table, Value

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
        pairs = [(result.collection, each.run, each.identical_to) for each in left_out]
        names = (Column("collection"), Column("discarded"), Column("identical to"))
        yield ReportTable(f"{number} (discarded)", Table("discarded", caption, names, pairs), is_joined=True)


def crossed_levels(result: JudgmentsResult, found: CrossedJudgments) -> Table:
    """Return the table of a job of kind `judgments`: for each original level the shares of the present levels."""
    names = [NONRELEVANT, *found.levels[1:]]
    lines = zip(names, found.crossed, found.there, found.shares, strict=True)
    rows: list[list[Cell]] = [[name, *counts, total, *shares] for name, counts, total, shares in lines if total]
    rows.append([TOTAL, *found.here, found.documents, *found.shares_here])
    columns = [
        Column("original"),
        *(Column(name, group="reassessed") for name in (*names, TOTAL)),
        *(Column(name, digits=1, percent=True, group="share of the row") for name in names),
    ]
    return Table(
        "levels", "Original and reassessed levels of documents.", columns, rows, notes=_about_levels(result, found)
    )


def _about_levels(result: JudgmentsResult, found: CrossedJudgments) -> list[str]:
    nonrelevant, *relevant = found.crossed
    kept, both = nonrelevant[0], sum(sum(row[1:]) for row in relevant)
    only = sum(found.judged_only_there), sum(found.judged_only_here)
    means = ", ".join(f"{each.mean:.1f} at {each.name}" for each in result.levels[1:])
    return [
        f"Original: qrels version {found.qrels_version}; reassessed: version {result.qrels_version}. {only[0]} "
        f"documents are judged by the former only, and {only[1]} by the latter.",
        f"Of the originally nonrelevant ones {_percent(kept, sum(nonrelevant))} were nonrelevant again, and of the "
        f"relevant ones {_percent(both, sum(map(sum, relevant)))} relevant at some level.",
        f"A topic has on average {result.relevant.mean:.1f} relevant documents in version "
        f"{result.qrels_version}: {means}.",
    ]


def _percent(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "none"

"""Tables that several papers have: of Kendall's tau, with their marks, of numbers of runs, and of judgments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from gainboard.analyses.agreement import AgreementResult
from gainboard.analyses.judgments import CrossedJudgments, JudgmentsResult
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.report_items import ReportTable, mark_where
from gainboard.analyses.result_models import JobResult
from gainboard.analyses.stability import StabilityResult
from gainboard.analyses.swap_rate import SwapRateResult
from gainboard.exhibits import Cell, Column, Table, Value
from gainboard.statistics.correlation import least_significant_tau

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
    return Table(
        "levels", "Original and reassessed levels of documents.", columns, rows, notes=_about_levels(result, crossed)
    )


def _about_levels(result: JudgmentsResult, crossed: CrossedJudgments) -> list[str]:
    nonrelevant, *relevant = crossed.crossed
    kept, both = nonrelevant[0], sum(sum(row[1:]) for row in relevant)
    only = sum(crossed.judged_only_there), sum(crossed.judged_only_here)
    means = ", ".join(f"{level.mean:.1f} at {level.name}" for level in result.levels[1:])
    return [
        f"Original: qrels version {crossed.qrels_version}; reassessed: version {result.qrels_version}. {only[0]} "
        f"documents are judged by the former only, and {only[1]} by the latter.",
        f"Of the originally nonrelevant ones {_percent(kept, sum(nonrelevant))} were nonrelevant again, and of the "
        f"relevant ones {_percent(both, sum(map(sum, relevant)))} relevant at some level.",
        f"A topic has on average {result.relevant.mean:.1f} relevant documents in version "
        f"{result.qrels_version}: {means}.",
    ]


def _percent(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "none"

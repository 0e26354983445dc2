"""q-measure-appendix and reliability-of-q-measure: how similarly Q-measure, R-measure and related metrics rank runs.

The same experiments are in two papers. Each paper numbers and marks its tables in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import Field

from gainboard.analyses.params import Expression
from gainboard.analyses.rank_correlation import Coefficient, RankCorrelationResult, risen
from gainboard.analyses.report_items import LeftOut, Names, ReportFigure, ReportItem, ReportTable, legend, mark_where
from gainboard.analyses.report_kinds import (
    About,
    JobResults,
    Needed,
    PerCollection,
    ReportKind,
    ReportParams,
    default_gains,
    enter,
)
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.exhibits.tables import MarkStyle, Value
from gainboard.metrics import parse_gains, steep
from gainboard.metrics.gains import format_number

KEY = "correlation"
COEFFICIENTS: Mapping[Coefficient, str] = {"spearman": "Spearman", "kendall": "Kendall"}
HIGH = 0.99
RELAXED, RIGID, Q, AWP = "Relaxed", "Rigid", "Q-measure", "AWP"
R_PRECISION, R, R_WP = "R-Precision", "R-measure", "R-WP"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The numbers that a paper gives its tables and figures, and the style of its high correlations."""

    q_tables: str
    q_average: str
    r_tables: str
    r_average: str
    figures: str
    style: MarkStyle

    @property
    def of_r(self) -> str:
        """The tables of R-measure."""
        return f"{self.r_tables} and {self.r_average}"

    @property
    def everything(self) -> str:
        """All tables and figures."""
        return f"{self.q_tables}, {self.q_average}, {self.r_tables}, {self.r_average} and {self.figures}"


class AppendixParams(ReportParams):
    """Spearman's and Kendall's rank correlations over all runs. Tables 3 to 7 compare relaxed and rigid AP, Q-measure
    and AWP, and Q-measure under other gains. Tables 8 to 12 do the same for R-Precision, R-measure and R-WP. Figures 4
    to 7 show the curves of mean scores in the order of relaxed AP, where an increase is a swop.

    For relaxed AP every level above 0 is relevant, for rigid AP all except the lowest of these. Q-measure has the gains
    3:2:1. The other gains are ten times these and a tenth of these (Q-measure with beta 10 and 0.1), 1:1:1 and 10:5:1.
    With other numbers of levels they are formed from h:...:2:1, and `exp` replaces 10:5:1. With binary levels there is
    no rigid AP, no gain other than ten times and a tenth, and R-measure is R-Precision. `gains` and `other_gains` put
    others in their place.
    """

    gains: PerCollection[Expression] | None = Field(
        None, description="The gains of Q-measure, AWP and R-measure; by default h:...:2:1", examples=["10:5:1"]
    )
    other_gains: PerCollection[Annotated[list[Expression], Field(min_length=1, max_length=10)]] | None = Field(
        None,
        description="The gains that are compared with these; by default ten times, a tenth, flat and steep ones",
        examples=[["1:1:1", "10:5:1"]],
    )


class ReliabilityParams(AppendixParams):
    """The experiments of `q-measure-appendix` with this paper's numbers and marks.

    Tables 1 to 4 are rank correlations of Q-measure and related metrics, and Tables 5 to 8 those of R-measure. Figure 1
    shows the curves of mean scores in the order of relaxed AP. All are given for each collection and as averages over
    all collections.
    """


def other_gains(highest_level: int) -> list[str]:
    """Return the settings to compare with the default gains: ten times them, a tenth of them, flat and steep ones."""
    levels = range(highest_level, 0, -1)
    tenfold = ":".join(format_number(10 * level) for level in levels)
    tenth = ":".join(format_number(level / 10) for level in levels)
    return [tenfold, tenth, *([_flat(highest_level), steep(highest_level)] if highest_level > 1 else [])]


def _flat(highest_level: int) -> str:
    return ":".join("1" * highest_level)


@dataclass(frozen=True)
class QMeasureDesign:
    """The metrics of the experiments on one collection, by the paper's names."""

    about: About
    asked: AppendixParams

    @property
    def gains(self) -> str:
        """The default gains."""
        return default_gains(self.asked, self.about)

    @property
    def others(self) -> list[str]:
        """The gains that are compared with the default ones."""
        level = self.about.highest_level
        expressions = self.asked.of("other_gains", self.about) or other_gains(level)
        return [
            expression
            for expression in dict.fromkeys(parse_gains(expression, level).label for expression in expressions)
            if expression != self.gains
        ]

    def q_metrics(self) -> tuple[Names, Names]:
        """Return relaxed and rigid AP, Q-measure and AWP; and Q-measure under the other gains."""
        rigid = {RIGID: "AP(rel=2)"} if self.about.highest_level > 1 else {}
        expressions = {RELAXED: "AP", **rigid, Q: f"Q(beta=1,gains={self.gains})", AWP: f"AWP(gains={self.gains})"}
        return expressions, {f"Q{other}": f"Q(beta=1,gains={other})" for other in self.others}

    def r_metrics(self) -> tuple[Names, Names]:
        """Return R-Precision, R-measure and R-WP; and R-measure under the other gains except flat ones, which make it
        R-Precision. With binary levels every gain does so, and there are none.
        """
        level = self.about.highest_level
        if level == 1:
            return {}, {}
        r_measure = f"Rmeasure(beta=1,gains={self.gains})"
        expressions = {R_PRECISION: "Rprec", R: r_measure, R_WP: f"RWP(gains={self.gains})"}
        return expressions, {
            f"R{other}": f"Rmeasure(beta=1,gains={other})" for other in self.others if other != _flat(level)
        }

    def names(self) -> Names:
        """Return all metrics."""
        (q, other_q), (r, other_r) = self.q_metrics(), self.r_metrics()
        return {**q, **other_q, **r, **other_r}


def _plan(paper: Paper, about: About, params: AppendixParams) -> list[Needed | LeftOut]:
    metrics = list(QMeasureDesign(about, params).names().values())
    wanted = {"metrics": metrics, "coefficients": list(COEFFICIENTS)}
    needed = Needed(KEY, "rank-correlation", wanted, paper.everything)
    if about.highest_level > 1:
        return [needed]
    return [needed, LeftOut(paper.of_r, "With one level above 0, R-measure and R-WP are R-Precision on every topic.")]


def _lay_out(paper: Paper, results: JobResults, params: AppendixParams) -> Iterator[ReportItem]:
    result = results.find(KEY, RankCorrelationResult)
    if result is None:
        return
    design = QMeasureDesign(results.about, params)
    (q, other_q), (r, other_r) = design.q_metrics(), design.r_metrics()
    correlations = Correlations(result, design.names())
    tables = [
        (paper.q_tables, paper.q_average, "(a)", list(q), [name for name in q if name != RELAXED]),
        (paper.q_tables, paper.q_average, "(b)", [name for name in q if name != AWP], list(other_q)),
        (paper.r_tables, paper.r_average, "(a)", [RELAXED, Q, *r], list(r)),
        (paper.r_tables, paper.r_average, "(b)", [RELAXED, R_PRECISION, R], list(other_r)),
    ]
    for number, average, part, rows, columns in tables if r else tables[:2]:
        of = "Q-measure etc." if number == paper.q_tables else "R-measure etc."
        table = correlations.table(rows, columns, of, paper.style)
        finish = mark_where(lambda coefficient: coefficient > HIGH, paper.style)
        yield ReportTable(f"{number} {part}", table, finish, f"{average} {part}")
        if (number, part) == (paper.q_tables, "(b)"):
            yield ReportFigure(paper.figures, correlations.curves(list(q), list(other_q)))
            yield ReportTable(f"{paper.figures} (systems)", correlations.systems(), has_average=False)


class Correlations:
    """The result of the job, under the papers' names."""

    def __init__(self, result: RankCorrelationResult, names: Names) -> None:
        self._result = result
        self._labels: Names = dict(zip(names, result.metrics, strict=True))
        self._places = {name: row for row, name in enumerate(self._labels)}

    def table(self, rows: Sequence[str], columns: Sequence[str], of: str, style: MarkStyle) -> Table:
        """Return the table of rows and columns, with both coefficients in each cell above the diagonal, as printed."""
        headings = [Column(title, digits=4, group=name) for name in columns for title in COEFFICIENTS.values()]
        matrices = [self._result.coefficients[name] for name in COEFFICIENTS]
        cells: list[list[Value]] = []
        for row in rows:
            cells.append([row])
            for column in columns:
                is_shown = row not in columns or columns.index(row) < columns.index(column)
                at = self._places[row], self._places[column]
                cells[-1] += [matrix[at[0]][at[1]] if is_shown else None for matrix in matrices]
        caption = f"Spearman/Kendall rank correlations ({of})."
        marks = {"bold": "mark", "italic": "second_mark"}
        meaning = {marks[style]: f"> {HIGH}"}
        explained = {name: self._labels[name] for name in (*rows, *columns)}
        notes = [legend(explained), f"{len(self._result.runs)} runs; Kendall's tau-b."]
        return Table("correlations", caption, [Column("metric"), *headings], cells, notes=notes, **meaning)

    def curves(self, *parts: Sequence[str]) -> Figure:
        """Return mean scores of all runs, the best by relaxed AP first. Each part shows its metrics and relaxed AP."""
        systems = list(range(1, len(self._result.runs) + 1))
        panels = [
            Panel(
                Axis("system no., in the order of Relaxed", counts=True),
                Axis("mean score"),
                [
                    Series(name, systems, self._result.means[label], highlighted=risen(self._result, label))
                    for name in dict.fromkeys([RELAXED, *names])
                    for label in [self._labels[name]]
                ],
                title=title,
            )
            for title, names in zip(("(a)", "(b)"), parts, strict=True)
        ]
        caption = f"System ranking comparisons with relaxed Average Precision, {len(systems)} systems."
        return Figure("curves", caption, panels, highlight="swop with Relaxed: an increase")

    def systems(self) -> Table:
        """Return the names of the runs by their numbers in the curves."""
        rows = list(enumerate(self._result.runs, 1))
        return Table(
            "systems", "Systems by number, the best by relaxed AP first.", [Column("no."), Column("run")], rows
        )


APPENDIX = Paper(
    q_tables="Tables 3-6",
    q_average="Table 7",
    r_tables="Tables 8-11",
    r_average="Table 12",
    figures="Figures 4-7",
    style="bold",
)
RELIABILITY = Paper(
    q_tables="Tables 1-3",
    q_average="Table 4",
    r_tables="Tables 5-7",
    r_average="Table 8",
    figures="Figure 1",
    style="italic",
)

Q_MEASURE_APPENDIX = enter(
    ReportKind(
        name="q-measure-appendix",
        title="The reliability of Q-measure and R-measure",
        reference="Sakai, Another appendix to: New performance metrics based on multigrade relevance, NTCIR-4, 2004",
        params_model=AppendixParams,
        plan=partial(_plan, APPENDIX),
        lay_out=partial(_lay_out, APPENDIX),
    )
)
RELIABILITY_OF_Q_MEASURE = enter(
    ReportKind(
        name="reliability-of-q-measure",
        title="Ranking systems by multigrade relevance: the reliability of Q-measure and R-measure",
        reference="Sakai, Ranking the NTCIR systems based on multigrade relevance, AIRS 2004",
        params_model=ReliabilityParams,
        plan=partial(_plan, RELIABILITY),
        lay_out=partial(_lay_out, RELIABILITY),
    )
)

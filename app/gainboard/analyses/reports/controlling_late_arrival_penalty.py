"""controlling-late-arrival-penalty: how beta changes Q-measure and the log base nDCG, in rankings and in tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_lowercase
from typing import Annotated

from pydantic import Field

from gainboard.analyses import report_items, report_kinds
from gainboard.analyses.bootstrap_sensitivity import SensitivityResult, curve
from gainboard.analyses.judgments import JudgmentsResult
from gainboard.analyses.params import DrawCount, Expression, Metrics, Seeds
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.report_items import LeftOut, Remark, ReportFigure, ReportItem, ReportTable
from gainboard.exhibits import Cell, Column, Marked, Share, Table, figures
from gainboard.exhibits.tables import Value, is_undefined, value_of
from gainboard.metrics import Scale, linear_ratio, parse_gains, resolve, steep
from gainboard.metrics.gains import format_number
from gainboard.statistics.correlation import least_significant_tau

ALPHAS = (0.05, 0.01)
AP, Q, NDCG, GEN_AP = "AP", "Q(beta=1)", "nDCG(base=2)", "genAP"
COMPARED = (AP, Q, NDCG, GEN_AP)
BETAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
BASES = (2.0, 5.0, 10.0, 50.0, 100.0)
NUMBERS = (("Figures 1-2", "Figures 5-6", "Figures 9-10"), ("Figures 3-4", "Figures 7-8", "Figures 11-12"))
"""The numbers of the figures under the first gain setting, and under the second."""
TAU = "Kendall's tau-b"
Rows = Mapping[str, Sequence[float | None]]
SENSITIVITY = 2
"""The column by which Tables 2-3 are sorted."""


class LateArrivalParams(report_kinds.ReportParams):
    """The degree to which a metric controls the penalty on late arrival of relevant documents: Q-measure by beta (0.1
    to 1000) and nDCG by its log base (2 to 100), compared with each other, AP and genAP. Table 1 describes the
    judgments. Figures 1 to 12 show rank correlations of the top runs by AP, and also come as tables. For the best run
    of each team, Figures 13 and 14 show the curves of achieved significance levels, and Tables 2 and 3 the sensitivity
    of 12 metrics under two gain settings at 0.05 and 0.01.

    The gain settings are 3:2:1 and 10:5:1; with other numbers of levels h:...:2:1 and `exp`. With binary levels there
    is one setting. A remark names the log bases that exceed the smallest R, so that nDCG has the defect of section 3.2.

    Tables 2 and 3 are tested under several seeds. Beside each count of significant pairs stands its range: without the
    uncertain pairs, and with them. Marks that change under any of the seeds are in italics.
    """

    top: report_kinds.PerCollection[report_kinds.TopRuns] = Field(
        30, description="Number of runs whose rankings are correlated: the best by AP"
    )
    gains: report_kinds.PerCollection[Annotated[list[Expression], Field(min_length=1, max_length=2)]] | None = Field(
        None,
        description="One or two gain settings; by default h:...:2:1 and 10:5:1, or `exp`",
        examples=[["3:2:1", "10:5:1"]],
    )
    betas: Annotated[list[Annotated[float, Field(ge=0, le=1e100)]], Field(min_length=1, max_length=20)] = Field(
        list(BETAS), description="Values of Q-measure's beta; 1 is always among them"
    )
    bases: Annotated[list[Annotated[float, Field(gt=1, le=1e100)]], Field(min_length=1, max_length=20)] = Field(
        list(BASES), description="Values of nDCG's log base; 2 is always among them"
    )
    cutoff: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="The cut-off of nDCG; by default the depth of the collection"
    )
    metrics: Metrics | None = Field(
        None, description="More metrics for Tables 2 and 3, as they are written", examples=[["ERR@20", "AWP"]]
    )
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the tests")
    seeds: Seeds = 5


@dataclass(frozen=True)
class Setting:
    """A gain setting, and the numbers of its figures: of metrics with each other, of beta and of the log base."""

    gains: str
    of_metrics: str
    of_beta: str
    of_base: str


@dataclass(frozen=True)
class LateArrivalDesign:
    """The settings and metrics of the experiments on one collection."""

    about: report_kinds.About
    asked: LateArrivalParams

    @property
    def settings(self) -> list[Setting]:
        """The paper's two settings, or the most similar ones. With binary levels both would be the same."""
        level = self.about.highest_level
        expressions = self.asked.of("gains", self.about) or (
            [linear_ratio(level), steep(level)] if level > 1 else ["1"]
        )
        gains = dict.fromkeys(parse_gains(expression, level).label for expression in expressions)
        return [Setting(expression, *numbers) for expression, numbers in zip(gains, NUMBERS, strict=False)]

    @property
    def betas(self) -> dict[str, float]:
        """The values of beta by the names of their metrics."""
        return {f"Q(beta={format_number(beta)})": beta for beta in sorted({*self.asked.betas, 1.0})}

    @property
    def bases(self) -> dict[str, float]:
        """The log bases by the names of their metrics."""
        return {f"nDCG(base={format_number(base)})": base for base in sorted({*self.asked.bases, 2.0})}

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics of Tables 2 and 3, in the order of the paper, then those asked for besides."""
        of_paper = [AP, *self.betas, *self.bases, GEN_AP]
        there = {self.label(setting, name) for setting in self.settings for name in of_paper}
        more = {self._resolved(expression): expression for expression in self.asked.metrics or ()}
        return [*of_paper, *(name for label, name in more.items() if label not in there)]

    def label(self, setting: Setting, metric: str) -> str:
        """Return the label of a metric under these gains. Metrics that were asked for have their own."""
        if metric in self.bases:
            cut = "" if self.asked.cutoff is None else f"@{self.asked.cutoff}"
            return self._resolved(f"{metric[:-1]},gains={setting.gains}){cut}")
        if metric in self.betas:
            return self._resolved(f"{metric[:-1]},gains={setting.gains})")
        return self._resolved(f"{metric}(gains={setting.gains})" if metric == GEN_AP else metric)

    def labels(self) -> list[str]:
        """Return the labels of all metrics under all settings, each once."""
        # Without gains, AP is the same metric under both settings, and is asked for once.
        return list(dict.fromkeys(self.label(setting, metric) for setting in self.settings for metric in self.metrics))

    def _resolved(self, expression: str) -> str:
        return resolve(expression, Scale(self.about.highest_level, self.about.depth, self.about.intents)).label


def plan(about: report_kinds.About, params: LateArrivalParams) -> Iterator[report_kinds.Needed | LeftOut]:
    """Yield what the report needs: the judgments, and one correlation and one test of all metrics."""
    design = LateArrivalDesign(about, params)
    metrics = design.labels()
    top = {"runs": {"top": params.of("top", about), "by": "AP"}, "metrics": metrics, "coefficients": ["kendall"]}
    drawn = {"resamples": params.resamples, "seeds": params.seeds, "alphas": list(ALPHAS)}
    # As in the paper: the best runs of all are correlated, the best of each team are tested.
    best = {"runs": {"best_per_team": "AP"}, "metrics": metrics} | drawn
    yield report_kinds.Needed("judgments", "judgments", {}, "Table 1")
    yield report_kinds.Needed("correlation", "rank-correlation", top, "Figures 1-12")
    tests = "Figures 13-14 and Tables 2-3"
    if about.teams > 1:
        yield report_kinds.Needed("sensitivity", "bootstrap-sensitivity", best, tests)
    else:
        yield LeftOut(tests, f"They compare the best run of each team, and there is {about.teams} team.")
    if len(design.settings) == 1:
        what = "Figures 3-4, 7-8 and 11-12, Tables 2-3 (c) and (d)"
        one_level = "With one level above 0 there is nothing for a second gain setting to change."
        yield LeftOut(what, one_level if about.highest_level == 1 else "One gain setting was asked for.")


def lay_out(results: report_kinds.JobResults, params: LateArrivalParams) -> Iterator[ReportItem]:
    """Yield the tables and figures in the order of the paper, then the remarks."""
    design = LateArrivalDesign(results.about, params)
    settings = design.settings
    judged = results.find("judgments", JudgmentsResult)
    correlated = results.find("correlation", RankCorrelationResult)
    tested = results.find("sensitivity", SensitivityResult)
    if judged:
        numbers = (len(result.runs) if result else None for result in (correlated, tested))
        yield report_items.statistics(judged, "Table 1", *numbers)
    if correlated:
        taus = Resemblance(correlated, design)
        for setting in settings:
            yield from taus.between_metrics(setting)
        for setting in settings:
            yield from taus.swept(setting, setting.of_beta, "Q's beta", design.betas, Q)
        for setting in settings:
            yield from taus.swept(setting, setting.of_base, "nDCG's log base", design.bases, NDCG)
    if tested:
        by_label = dict(zip(design.labels(), tested.metrics, strict=True))
        asls = {metric: by_label[design.label(settings[0], metric)].asl_curve for metric in COMPARED}
        panel = figures.Panel(
            figures.Axis("run pairs, sorted by ASL", counts=True),
            figures.Axis("achieved significance level (ASL)", scale="log"),
            [curve(tested, metric, levels) for metric, levels in asls.items()],
            [figures.Reference(alpha, f"{alpha:g}") for alpha in ALPHAS],
        )
        caption = f"Bootstrap ASL curves: gain value ratio = {settings[0].gains}. {_tested(tested)}"
        yield ReportFigure("Figures 13-14", figures.Figure("asl-curves", caption, (panel,)))
        table, *further = (_sensitivity_under(tested, design, seed) for seed in range(tested.seeds))
        yield ReportTable("Tables 2-3", table, most_sensitive_first, by_seed=further)
    if judged:
        yield from _remarks(judged, design)


class Resemblance:
    """Rank correlations of the metrics, as figures and as tables of the same numbers."""

    def __init__(self, result: RankCorrelationResult, design: LateArrivalDesign) -> None:
        self._design = design
        self._taus = report_items.Taus(result, design.labels())
        runs = len(result.runs)
        least = least_significant_tau(runs, report_items.ALPHA)
        self._significant = (
            [] if least is None else [figures.Reference(least, f"significant at {report_items.ALPHA:g}")]
        )
        self._said = f"The top {runs} runs by AP. {report_items.significance(runs)}"

    def between_metrics(self, setting: Setting) -> Iterator[ReportItem]:
        """Yield the correlations of AP, Q-measure, nDCG and genAP with each other."""
        rows = {metric: self._row(setting, metric, COMPARED) for metric in COMPARED}
        heat = figures.HeatMap(COMPARED, COMPARED, list(rows.values()), figures.Axis(TAU, limits=(None, 1)), digits=3)
        yield from self._laid(setting.of_metrics, f"{TAU} between metrics", setting.gains, heat, COMPARED, rows)

    def swept(
        self, setting: Setting, number: str, parameter: str, values: Mapping[str, float], default: str
    ) -> Iterator[ReportItem]:
        """Yield the correlations of a metric under several values of its parameter, with AP and with its own
        default.
        """
        rows = {metric: self._row(setting, metric, (AP, default)) for metric in values}
        against = [f"with {AP}", f"with {default}"]
        taus = dict(zip(against, zip(*rows.values(), strict=True), strict=True))
        curves = [figures.Series(label, list(values.values()), column) for label, column in taus.items()]
        axis = figures.Axis(parameter.partition(" ")[2], scale="log")
        panel = figures.Panel(axis, figures.Axis(TAU, limits=(None, 1)), curves, self._significant)
        yield from self._laid(number, f"The effect of {parameter} on {TAU}", setting.gains, panel, against, rows)

    def _row(self, setting: Setting, metric: str, others: Sequence[str]) -> list[float | None]:
        label = partial(self._design.label, setting)
        return [self._taus(label(metric), label(other)) for other in others]

    def _laid(
        self,
        number: str,
        caption: str,
        gains: str,
        drawn: figures.Panel | figures.HeatMap,
        headings: Sequence[str],
        rows: Rows,
    ) -> Iterator[ReportItem]:
        ratio = f"gain value ratio = {gains}"
        yield ReportFigure(number, figures.Figure("taus", f"{caption}: {ratio}. {self._said}", (drawn,)))
        columns = [Column("metric"), *map(report_items.tau_column, headings)]
        # The ratio is a note and not a heading: collections with other numbers of levels have another ratio in the same
        # average.
        rows_shown = [[name, *taus] for name, taus in rows.items()]
        table = self._taus.table("taus", f"{caption}.", columns, rows_shown, ratio.capitalize())
        yield ReportTable(number, table, report_items.mark_taus)


def _tested(result: SensitivityResult) -> str:
    runs = f"{len(result.runs)} runs, the best of each team by AP"
    return f"{runs}; {result.topics} topics; {result.resamples} resamples."


def _sensitivity_under(result: SensitivityResult, design: LateArrivalDesign, seed: int) -> Table:
    """Return the table of one of the seeds; ranges and differences are those of the first."""
    by_label = dict(zip(design.labels(), result.metrics, strict=True))
    parts = [(setting, position) for setting in design.settings for position in range(len(ALPHAS))]
    rows: list[list[Value]] = []
    for letter, (setting, position) in zip(ascii_lowercase, parts, strict=False):
        part = f"({letter}) gain value ratio = {setting.gains}, ASL < {ALPHAS[position]:g}"
        for metric in design.metrics:
            level = by_label[design.label(setting, metric)].levels[position]
            pairs = (level.significant_pairs_by_seed[seed], *(level.significant_range or ()))
            shares = [Share(count, level.pairs) for count in pairs]
            rows.append([part, metric, *shares, level.estimated_difference, *(level.estimated_difference_range or ())])
    columns = (
        Column("condition", section=True),
        Column("metric"),
        Column("sensitivity", percent=True, digits=0),
        *(Column(title, percent=True, digits=0, group="its range") for title in ("fewest pairs", "most pairs")),
        Column("estimated diff.", digits=2),
        *(Column(title, digits=2, group="range of diff.") for title in ("least", "largest")),
    )
    mark = f"more sensitive than {AP} under every condition"
    notes = ["AP is the paper's AveP, genAP its genAveP, and base its a.", _tested(result)]
    return Table("sensitivity", "Bootstrap sensitivity.", columns, rows, mark=mark, notes=notes)


def most_sensitive_first(table: Table) -> Table:
    """Sort each part by sensitivity, and mark the metrics that are more sensitive than AP in all parts."""
    parts = {str(row[0]): [line for line in table.rows if line[0] == row[0]] for row in table.rows}
    marked = set.intersection(*map(_beating, parts.values())) if parts else set()
    rows = [row for rows in parts.values() for row in sorted(rows, key=_sensitivity, reverse=True)]
    shown = [[row[0], Marked(value_of(row[1])) if row[1] in marked else row[1], *row[2:]] for row in rows]
    return replace(table, rows=shown)


def _beating(rows: Sequence[Sequence[Cell]]) -> set[Cell]:
    baseline = next((_sensitivity(row) for row in rows if row[1] == AP), math.inf)
    return {row[1] for row in rows if _sensitivity(row) > baseline}


def _sensitivity(row: Sequence[Cell]) -> float:
    value = value_of(row[SENSITIVITY])
    return -math.inf if value is None or is_undefined(value) else float(value)


def _remarks(judgments: JudgmentsResult, design: LateArrivalDesign) -> Iterator[Remark]:
    by_topic = {topic.topic: topic.relevant for topic in judgments.by_topic}
    if empty := [topic for topic, relevant in by_topic.items() if not relevant]:
        topics = f"{len(empty)} of {len(by_topic)} topics ({', '.join(empty)})"
        yield Remark(f"No document is relevant for {topics}, which Table 1 counts, and no metric.")
    over = {base: sum(0 < relevant < base for relevant in by_topic.values()) for base in design.bases.values()}
    if said := ", ".join(f"{base:g} (in {count} of them)" for base, count in over.items() if count):
        smallest = min(relevant for relevant in by_topic.values() if relevant)
        text = f"The smallest R of the topics is {smallest}, and these log bases of nDCG exceed R: {said}."
        why = "Between ranks R and the base it makes no difference there how late a relevant document arrives"
        yield Remark(f"{text} {why} (sections 3.2 and 5.3).")


CONTROLLING_LATE_ARRIVAL_PENALTY = report_kinds.enter(
    report_kinds.ReportKind(
        name="controlling-late-arrival-penalty",
        title="Controlling the penalty on late arrival of relevant documents",
        reference="Sakai, Controlling the penalty on late arrival of relevant documents in information retrieval "
        "evaluation with graded relevance, 2006",
        params_model=LateArrivalParams,
        plan=plan,
        lay_out=lay_out,
    )
)

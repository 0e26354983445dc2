"""reliability-of-graded-metrics: stability, swap rate and rank correlation of 24 metrics, binary and graded ones."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Annotated

from pydantic import Field

from gainboard.analyses import stability, swap_rate
from gainboard.analyses.agreement import AgreementResult
from gainboard.analyses.gain_robustness import GainRobustnessResult, default_settings, part_of
from gainboard.analyses.params import DrawCount, Expression, Metrics, Seeds
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.report_items import (
    LeftOut,
    Names,
    Remark,
    ReportFigure,
    ReportItem,
    ReportTable,
    Taus,
    high_taus,
    legend,
    mark_where,
    renamed,
    significance,
    sorted_by,
)
from gainboard.analyses.report_kinds import (
    About,
    Cutoffs,
    JobResults,
    Needed,
    PerCollection,
    ReportKind,
    ReportParams,
    SubsetSize,
    TopRuns,
    default_gains,
    enter,
)
from gainboard.analyses.stability import StabilityOfMetric, StabilityResult
from gainboard.analyses.swap_rate import SwapRateResult
from gainboard.exhibits import Column, Table
from gainboard.exhibits.tables import Value
from gainboard.metrics import Scale, resolve, without
from gainboard.metrics.gains import format_number
from gainboard.statistics.stability import LEAST_COMPARISONS

CUTOFFS = (10, 100, 1000)
BASE = 2.0
CUMULATIVE = {"nCG": False, "AnCG": False, "nDCG": True, "AnDCG": True}
"""The metrics with a cut-off, and whether they discount."""
RELAXED, RIGID, Q = "Relaxed AveP", "Rigid AveP", "Q-measure"
PAPERS = [Q, "R-measure", *(f"{each}{cutoff}" for each in CUMULATIVE for cutoff in CUTOFFS)]
"""The paper's graded metrics, in the order of its letters."""


class GradedMetricsParams(ReportParams):
    """The reliability of 10 binary metrics (relaxed and rigid AP, R-precision, and precision at 10, 100 and 1000) and
    14 graded ones (Q-measure, R-measure; nCG, AnCG, nDCG and AnDCG at 10, 100 and 1000). Figures 3 and 4 and Table 1
    show stability. Tables 2 and 3 show the differences required for a swap rate of 5 %. Tables 4 to 7 and Figure 5 show
    rank correlations and mean scores. Figure 6 and Tables 8 and 9 show other gain settings. Table 10 shows whether the
    sign test, the minority rate and the swap rate agree. Stability and swaps are those of the top runs by AP,
    correlations those of all runs.

    For relaxed metrics every level above 0 is relevant, for rigid ones all except the lowest of these. Gains are 3:2:1;
    the other settings are 1:1:1, 10:5:1 and `adjust(3:2:1)`. With other numbers of levels they are formed from
    h:...:2:1, and `exp` replaces 10:5:1. With binary levels there are no rigid metrics and no other gain settings.
    Metrics whose cut-off exceeds the collection's depth are left out. Table 1 groups metrics in bands of 0.05, and
    those that lie below or above a minority rate of 5 % at every fuzziness by themselves. Its second part ranks all
    metrics at an equal minority rate.

    `gains`, `base`, `cutoffs` and `metrics` put others in place of the paper's. Swap rates are computed under several
    seeds. Marks of Table 8 that change under any of them are in italics, and
    notes name the metrics that may be first in Tables 2 and 3.
    """

    top: PerCollection[TopRuns] = Field(
        30, description="Number of runs of the stability, swap and test experiments: the best by AP"
    )
    metrics: Metrics | None = Field(
        None, description="Graded metrics in place of the paper's 14", examples=[["Q", "nDCG@20", "ERR@20"]]
    )
    gains: PerCollection[Expression] | None = Field(
        None, description="The default gain setting; by default h:...:2:1", examples=["10:5:1"]
    )
    base: Annotated[float, Field(gt=1, le=1e100)] = Field(BASE, description="The log base of nDCG and AnDCG")
    cutoffs: Cutoffs = Field(list(CUTOFFS), description="Cut-offs of precision, nCG, AnCG, nDCG and AnDCG")
    trials: DrawCount = Field(1000, description="Number of topic subsets, and of pairs of topic sets")
    subset_size: PerCollection[SubsetSize] | None = Field(
        None, description="Number of topics in a subset; by default half of the topics"
    )
    replacement: bool = Field(False, description="Whether the sets of topics for swaps are drawn with replacement")
    fuzziness: stability.Fuzziness = Field(
        [0.0, *stability.FUZZINESS],
        description="Relative differences below which two runs are tied: the paper's, and 0, so that more curves cross "
        "a minority rate of 5 %",
    )
    seeds: Seeds = 5


@dataclass(frozen=True)
class GradedMetricsDesign:
    """The experiments on one collection: the request, and what the collection can have of it."""

    about: About
    asked: GradedMetricsParams

    @property
    def gains(self) -> str:
        """The default gain setting."""
        return default_gains(self.asked, self.about)

    @property
    def settings(self) -> Names:
        """The gain settings by name, the default first. Those that equal an earlier one are left out."""
        _, flat, steep, _ = default_settings(self.about.highest_level)
        adjusted = {"adjust": f"adjust({self.gains})"} if re.fullmatch(r"[\d.:]+", self.gains) else {}
        settings: dict[str, str] = {}
        for name, gains in {"default": self.gains, "flat": flat, "steep": steep, **adjusted}.items():
            if gains not in settings.values():
                settings[name] = gains
        return settings

    @property
    def cutoffs(self) -> list[int]:
        """The cut-offs that the collection's rankings have."""
        return [cutoff for cutoff in self.asked.cutoffs if cutoff <= self.about.depth]

    def binary(self) -> Names:
        """Return relaxed metrics, then rigid ones, as far as the collection has levels and depth."""
        shapes = {"AveP": "AP{}", "R-Prec": "Rprec{}"} | {f"PDoc{cutoff}": f"P{{}}@{cutoff}" for cutoff in self.cutoffs}
        sides = {"Relaxed": "", "Rigid": "(rel=2)"} if self.about.highest_level > 1 else {"Relaxed": ""}
        return {
            f"{side} {name}": shape.format(threshold)
            for side, threshold in sides.items()
            for name, shape in shapes.items()
        }

    def graded(self, gains: str | None = None) -> Names:
        """Return the graded metrics under a gain setting, by default the default one."""
        gains = gains or self.gains
        scale = Scale(self.about.highest_level, self.about.depth, self.about.intents)
        if self.asked.metrics:
            expressions = (without(expression, "gains") for expression in self.asked.metrics)
            labels = [resolve(expression, scale, defaults={"gains": gains}).label for expression in expressions]
            return {without(label, "gains"): label for label in labels}
        blended = {Q: f"Q(beta=1,gains={gains})", "R-measure": f"Rmeasure(beta=1,gains={gains})"}
        base = f"base={format_number(self.asked.base)},"
        return blended | {
            f"{name}{cutoff}": f"{name}({base if discounts else ''}gains={gains})@{cutoff}"
            for name, discounts in CUMULATIVE.items()
            for cutoff in self.cutoffs
        }

    def every(self) -> Names:
        """Return the binary metrics, then the graded ones."""
        return {**self.binary(), **self.graded()}

    def named(self) -> list[str]:
        """Return the graded metrics of Table 10 and Figure 5: Q, AnDCG and nDCG at the largest cut-off.

        With other metrics than the paper's, these are the first three.
        """
        if self.asked.metrics:
            return list(self.graded())[:3]
        return [Q, *(f"{name}{cutoff}" for cutoff in self.cutoffs[-1:] for name in ("AnDCG", "nDCG"))]

    def tested(self) -> Names:
        """Return the metrics of Table 10."""
        every = self.every()
        return {name: every[name] for name in (RELAXED, *self.named()[:2])}

    def lettered(self) -> Names:
        """Return the rows and columns of Tables 6 and 7, with the paper's letters if they are its metrics."""
        order = PAPERS if set(self.graded()) <= set(PAPERS) else list(self.graded())
        letters = {name: f"({letter}) {name}" for letter, name in zip(ascii_uppercase, order, strict=False)}
        return {name: letters.get(name, name) for name in self.graded()}


FIRST = (
    f"The difference required is the lower edge of the first bin with at least {LEAST_COMPARISONS} comparisons and a "
    "swap rate of at most 5 %."
)
HIGH_POWER = 0.2


def plan(about: About, params: GradedMetricsParams) -> Iterator[Needed | LeftOut]:
    """Yield the experiments; those with other gains only if there are several levels."""
    design = GradedMetricsDesign(about, params)
    metrics = {"metrics": list(design.every().values())}
    size = params.of("subset_size", about)
    drawn = {"runs": {"top": params.of("top", about), "by": "AP"}, "trials": params.trials, "subset_size": size}
    kendall = {"coefficients": ["kendall"]}
    curves = drawn | {"fuzziness": params.fuzziness}
    yield Needed("stability", "stability", metrics | curves, "Figures 3-4 and Table 1")
    swaps = {"seeds": params.seeds, "replacement": params.replacement}
    yield Needed("swap", "swap-rate", metrics | drawn | swaps, "Tables 2-3")
    yield Needed("correlation", "rank-correlation", metrics | kendall, "Tables 4-7 and Figure 5")
    if about.highest_level > 1:
        settings = list(design.settings.values())
        gains = {"metrics": list(design.graded().values()), "settings": settings}
        yield Needed("gains", "gain-robustness", gains | curves | {"seeds": params.seeds}, "Figure 6 and Table 8")
        under_each = [metric for setting in settings for metric in design.graded(setting).values()]
        yield Needed("gains-correlation", "rank-correlation", {"metrics": under_each} | kendall, "Table 9")
    tested = {"metrics": list(design.tested().values())}
    yield Needed("agreement", "test-agreement", tested | drawn, "Table 10")
    if about.highest_level == 1:
        why = "There is one level of relevance above 0: rigid metrics would have nothing to leave out."
        yield LeftOut("Rigid metrics in Figures 3 and 5 and Tables 1-5", why)
        yield LeftOut("Figure 6 and Tables 8-9", "With one level above 0 all gain settings rank alike.")
    if beyond := [cutoff for cutoff in design.asked.cutoffs if cutoff > about.depth]:
        cut = " and ".join(map(str, beyond))
        why = f"The collection is judged on rankings of {about.depth} documents."
        yield LeftOut(f"Metrics cut at {cut} in Figures 3-5 and Tables 1-9", why)


def lay_out(results: JobResults, params: GradedMetricsParams) -> Iterator[ReportItem]:
    """Yield the tables and figures in the order of the paper. Those of the jobs are used, under its names, where they
    match.
    """
    design = GradedMetricsDesign(results.about, params)
    every = design.every()
    if stable := results.find("stability", StabilityResult):
        for number, names in (("Figure 3", design.binary()), ("Figure 4", design.graded())):
            (figure,) = renamed(stable, every, names).figures()
            yield ReportFigure(number, figure)
        in_letters = renamed(stable, every, every)
        yield ReportTable("Table 1", bands(in_letters.metrics, design.about.collection), is_joined=True)
        yield ReportTable("Table 1 (all metrics)", ranked(in_letters, design.about.collection), is_joined=True)
        if missing := stability.incomparable(in_letters):
            yield Remark(f"Table 1: {missing}")
    if swaps := results.find("swap", SwapRateResult):
        yield from _swaps(swaps, design)
    if correlated := results.find("correlation", RankCorrelationResult):
        yield from _correlations(correlated, design)
    if gains := results.find("gains", GainRobustnessResult):
        yield from _gains(gains, design)
    if correlated := results.find("gains-correlation", RankCorrelationResult):
        yield from _gain_correlations(correlated, design)
    if agreed := results.find("agreement", AgreementResult):
        tested = design.tested()
        (table,) = renamed(agreed, tested, tested).tables()
        caption = f"Kendall's tau-b between lists of run pairs by three tests, fuzziness {agreed.fuzziness:g}."
        table = replace(table, caption=caption, notes=[_size(agreed), legend(tested)])
        yield ReportTable("Table 10", table)
    if gains and swaps and gains.topics != swaps.topics:
        why = f"only {swaps.topics} of its {gains.topics} topics, those for which binary metrics are defined too"
        yield Remark(f"The default column of Table 8 is not that of Tables 2-3 (b), which are of {why}.")


def _swaps(result: SwapRateResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    every = design.every()
    for part, names in (("(a)", design.binary()), ("(b)", design.graded())):
        in_letters = renamed(result, every, names)
        caption = "Difference required for a swap rate of at most 5 %, and what share of comparisons reaches it."
        notes = [*swap_rate.exceptions(in_letters.metrics), FIRST, _size(result), legend(names)]
        table, *further = (
            replace(swap_rate.required(in_letters, seed), caption=caption, notes=notes) for seed in range(result.seeds)
        )
        yield ReportTable(f"Tables 2-3 {part}", table, sorted_by(len(table.columns) - 1), by_seed=further)


def _size(result: SwapRateResult | GainRobustnessResult | AgreementResult) -> str:
    drawn = f"{result.trials} trials with subsets of {result.subset_size}"
    return f"{len(result.runs)} runs on {result.topics} topics, {drawn}."


def _correlations(result: RankCorrelationResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    binary, graded, every = list(design.binary()), list(design.graded()), design.every()
    tau = Taus(result, list(every))
    columns = [Column(name.split()[1], digits=4, group=name.split()[0]) for name in binary]
    rows: list[list[Value]] = [[row, *(tau(row, column) for column in binary)] for row in graded]
    yield high_taus("Tables 4-5", "graded metrics and binary ones", columns, rows, result, every)
    lettered = design.lettered()
    columns = [Column(lettered[name], digits=4) for name in graded[1:]]
    rows = [
        [lettered[row], *(tau(row, column) if above <= number else None for number, column in enumerate(graded[1:]))]
        for above, row in enumerate(graded[:-1])
    ]
    yield high_taus("Tables 6-7", "graded metrics", columns, rows, result, design.graded())
    labels = dict(zip(every, result.metrics, strict=True))
    names = [name for name in (RELAXED, RIGID, *design.named()) if name in every]
    means = {name: result.means[labels[name]] for name in names}
    figure, *_ = result.model_copy(update={"metrics": names, "means": means, "coefficients": {}}).figures()
    yield ReportFigure("Figure 5", figure)


def _gains(result: GainRobustnessResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    """Yield each setting's curve of Q-measure, and the discrimination power of all metrics."""
    labels: list[list[str]] = [metric.labels for metric in result.metrics]
    curves = {metric.metric: metric for metric in result.stability.metrics}
    shown = [f"Q{setting.partition('(')[0]}" for setting in result.settings]
    of_q = [curves[label].model_copy(update={"metric": name}) for label, name in zip(labels[0], shown, strict=True)]
    stable = part_of(StabilityResult, result, result.stability)
    (figure,) = stable.model_copy(update={"metrics": of_q}).figures()
    yield ReportFigure("Figure 6", figure)
    swaps = {metric.metric: metric for metric in result.swap_rate.metrics}
    under_each = [
        swaps[label].model_copy(update={"metric": f"{name} {setting}"})
        for name, under_settings in zip(design.graded(), labels, strict=True)
        for setting, label in zip(design.settings, under_settings, strict=True)
    ]
    notes = [_settings(design), *swap_rate.exceptions(under_each), FIRST, _size(result)]
    caption = "Discrimination power (share of comparisons beyond the difference required) by gain setting."
    columns = [Column("metric"), *(Column(name, digits=1, percent=True) for name in design.settings)]
    tables = []
    for seed in range(result.swap_rate.seeds):
        rows = [
            [name, *(swaps[label].by_seed[seed].discrimination_power for label in under_settings)]
            for name, under_settings in zip(design.graded(), labels, strict=True)
        ]
        tables.append(Table("gains", caption, columns, rows, mark=f"> {HIGH_POWER:.0%}", notes=notes))
    finish = mark_where(lambda power: round(power, 12) > HIGH_POWER)
    yield ReportTable("Table 8", tables[0], finish, by_seed=tables[1:])


def _settings(design: GradedMetricsDesign) -> str:
    return f"Gains: {', '.join(f'{name} {gains}' for name, gains in design.settings.items())}."


def _gain_correlations(result: RankCorrelationResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    """Yield each setting compared with the first. The job has all metrics under the first setting, then the second, and
    so on.
    """
    names, tau = list(design.graded()), result.coefficients["kendall"]
    settings = list(design.settings)
    others = range(1, len(settings))
    rows = [[name, *(tau[row][other * len(names) + row] for other in others)] for row, name in enumerate(names)]
    columns = [Column("metric"), *(Column(settings[other], digits=4) for other in others)]
    caption = "Kendall's tau of the ranking of all runs under each gain setting with that under the default."
    notes = [_settings(design), significance(len(result.runs))]
    yield ReportTable("Table 9", Table("gains", caption, columns, rows, notes=notes))


RELIABILITY_OF_GRADED_METRICS = enter(
    ReportKind(
        name="reliability-of-graded-metrics",
        title="The reliability of metrics based on graded relevance",
        reference="Sakai, The reliability of metrics based on graded relevance, AIRS 2005",
        params_model=GradedMetricsParams,
        plan=plan,
        lay_out=lay_out,
    )
)


BAND = 0.05
LAST = round(1 / BAND) - 1
"""The last band has 1 in it, the others not their upper end."""


def bands(metrics: Sequence[StabilityOfMetric], collection: str) -> Table:
    """Return a row for each band that has metrics, at a minority rate of 5 %, then the metrics that never cross it."""
    among: dict[str, list[str]] = defaultdict(list)
    for metric in stability.by_ties(metrics):
        band, shown = _band(metric), metric.metric
        among[band].append(f"{shown} {metric.ties_at_5_percent:.3f}" if metric.crossed else shown)
    columns = (Column("collection", section=True), Column("proportion of ties"), Column("metrics"))
    caption = f"Metrics by their proportion of ties at a minority rate of 5 %, in bands of {BAND}, few ties first."
    rows = [(collection, band, ", ".join(members)) for band, members in among.items()]
    return Table("bands", caption, columns, rows)


def _band(metric: StabilityOfMetric) -> str:
    """Return the band of a metric, or its side of 5 % if it does not cross it."""
    ties = metric.ties_at_5_percent
    if not metric.crossed or ties is None:
        return stability.side(metric)
    # A proportion that is a bound of two bands is in the upper one, even if its last bit is too low.
    number = min(int(ties / BAND + 1e-9), LAST)
    return f"{BAND * number:.2f} to {BAND * (number + 1):.2f}"


def ranked(result: StabilityResult, collection: str) -> Table:
    """Return a row for each metric, by its ties at the minority rate that all curves have."""
    equal = result.equal_minority_rate
    order = sorted(
        result.metrics,
        key=lambda metric: (metric.ties_at_equal_rate is None, metric.ties_at_equal_rate or 0, metric.metric),
    )
    rows = [
        (collection, metric.metric, _band(metric), metric.ties_at_5_percent if metric.crossed else None)
        + ((None, None) if metric.ties_at_equal_rate is None else (equal, metric.ties_at_equal_rate))
        for metric in order
    ]
    columns = (
        Column("collection", section=True),
        Column("metric"),
        Column("group of Table 1"),
        Column("ties at 5 %", digits=3),
        Column("minority rate", digits=2, percent=True, group="at an equal rate"),
        Column("ties", digits=3, group="at an equal rate"),
    )
    caption = "All metrics by their proportion of ties at an equal minority rate, few ties first."
    return Table("ranked", caption, columns, rows)

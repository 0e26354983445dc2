"""reliability-of-graded-metrics: stability, swap rate and rank correlation of 24 metrics, binary and graded ones."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Annotated

from pydantic import Field

from gainboard.analyses import agreement, rank_correlation, stability, swap_rate
from gainboard.analyses.agreement import AgreementResult
from gainboard.analyses.gain_robustness import GainRobustnessResult, default_settings, part_of
from gainboard.analyses.paper_tables import Names, Taus, high_taus, legend, renamed, significance
from gainboard.analyses.params import DrawCount, Expression, Metrics, Seeds
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.report_items import (
    LeftOut,
    Remark,
    ReportFigure,
    ReportItem,
    ReportTable,
    mark_where,
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
    enter,
)
from gainboard.analyses.stability import StabilityOfMetric, StabilityResult
from gainboard.analyses.swap_rate import SwapRateOfMetric, SwapRateResult
from gainboard.exhibits import Column, Figure, Table
from gainboard.exhibits.tables import Value
from gainboard.metrics import Scale, linear_ratio, parse_gains, resolve, without
from gainboard.metrics.gains import format_number
from gainboard.statistics.swap_rates import LEAST_COMPARISONS

CUTOFFS = (10, 100, 1000)
BASE = 2.0
CUMULATIVE = {"nCG": False, "AnCG": False, "nDCG": True, "AnDCG": True}
"""The metrics with a cut-off, and whether they discount."""
FIRST = (
    f"The difference required is the lower edge of the first bin with at least {LEAST_COMPARISONS} comparisons and a "
    "swap rate of at most 5 %."
)
HIGH_POWER = 0.2
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
        level = self.about.highest_level
        return parse_gains(self.asked.of("gains", self.about) or linear_ratio(level), level).label

    @property
    def settings(self) -> Names:
        """The gain settings by name, the default first. Those that equal an earlier one are left out."""
        _, flat, steep, _ = default_settings(self.about.highest_level)
        adjusted = {"adjust": f"adjust({self.gains})"} if re.fullmatch(r"[\d.:]+", self.gains) else {}
        found: dict[str, str] = {}
        for name, gains in {"default": self.gains, "flat": flat, "steep": steep, **adjusted}.items():
            if gains not in found.values():
                found[name] = gains
        return found

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
            own = (without(each, "gains") for each in self.asked.metrics)
            labels = [resolve(each, scale, query={"gains": gains}).label for each in own]
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


def plan(about: About, asked: GradedMetricsParams) -> Iterator[Needed | LeftOut]:
    """Yield the experiments; those with other gains only if there are several levels."""
    design = GradedMetricsDesign(about, asked)
    metrics = {"metrics": list(design.every().values())}
    size = asked.of("subset_size", about)
    drawn = {"runs": {"top": asked.of("top", about), "by": "AP"}, "trials": asked.trials, "subset_size": size}
    kendall = {"coefficients": ["kendall"]}
    curves = drawn | {"fuzziness": asked.fuzziness}
    yield Needed("stability", "stability", metrics | curves, "Figures 3-4 and Table 1")
    swaps = {"seeds": asked.seeds, "replacement": asked.replacement}
    yield Needed("swap", "swap-rate", metrics | drawn | swaps, "Tables 2-3")
    yield Needed("correlation", "rank-correlation", metrics | kendall, "Tables 4-7 and Figure 5")
    if about.highest_level > 1:
        settings = list(design.settings.values())
        gains = {"metrics": list(design.graded().values()), "settings": settings}
        yield Needed("gains", "gain-robustness", gains | curves | {"seeds": asked.seeds}, "Figure 6 and Table 8")
        under_each = [metric for setting in settings for metric in design.graded(setting).values()]
        yield Needed("gains-correlation", "rank-correlation", {"metrics": under_each} | kendall, "Table 9")
    tested = {"metrics": list(design.tested().values())}
    yield Needed("agreement", "test-agreement", tested | drawn, "Table 10")
    yield from _impossible(design)


def _impossible(design: GradedMetricsDesign) -> Iterator[LeftOut]:
    about = design.about
    if about.highest_level == 1:
        why = "There is one level of relevance above 0: rigid metrics would have nothing to leave out."
        yield LeftOut("Rigid metrics in Figures 3 and 5 and Tables 1-5", why)
        yield LeftOut("Figure 6 and Tables 8-9", "With one level above 0 all gain settings rank alike.")
    if beyond := [cutoff for cutoff in design.asked.cutoffs if cutoff > about.depth]:
        cut = " and ".join(map(str, beyond))
        why = f"The collection is judged on rankings of {about.depth} documents."
        yield LeftOut(f"Metrics cut at {cut} in Figures 3-5 and Tables 1-9", why)


def lay_out(found: JobResults, asked: GradedMetricsParams) -> Iterator[ReportItem]:
    """Yield the tables and figures in the order of the paper. Those of the jobs are used, under its names, where they
    match.
    """
    design = GradedMetricsDesign(found.about, asked)
    if stable := found.find("stability", StabilityResult):
        yield from _stability(stable, design)
    if swaps := found.find("swap", SwapRateResult):
        yield from _swaps(swaps, design)
    if correlated := found.find("correlation", RankCorrelationResult):
        yield from _correlations(correlated, design)
    if gains := found.find("gains", GainRobustnessResult):
        yield from _gains(gains, design)
    if correlated := found.find("gains-correlation", RankCorrelationResult):
        yield from _gain_correlations(correlated, design)
    if agreed := found.find("agreement", AgreementResult):
        yield from _agreement(agreed, design)
    if gains and swaps:
        yield from _other_topics(gains, swaps)


def _stability(result: StabilityResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    every, binary, graded = design.every(), design.binary(), design.graded()
    for number, names in (("Figure 3", binary), ("Figure 4", graded)):
        (figure,) = stability.figures(renamed(result, every, names))
        yield ReportFigure(number, figure)
    own = renamed(result, every, every)
    yield ReportTable("Table 1", bands(own.metrics, design.about.collection), is_joined=True)
    yield ReportTable("Table 1 (all metrics)", ranked(own, design.about.collection), is_joined=True)
    if missing := stability.incomparable(own):
        yield Remark(f"Table 1: {missing}")


def _swaps(result: SwapRateResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    every = design.every()
    for part, names in (("(a)", design.binary()), ("(b)", design.graded())):
        own = renamed(result, every, names)
        table, *_ = swap_rate.tables(own)
        caption = "Difference required for a swap rate of at most 5 %, and what share of comparisons reaches it."
        notes = [*table.notes, FIRST, _size(result), legend(names)]
        table = replace(table, caption=caption, notes=notes)
        further = [replace(table, rows=swap_rate.required(own, seed)) for seed in range(1, result.seeds)]
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
        [lettered[row], *(tau(row, column) if above <= place else None for place, column in enumerate(graded[1:]))]
        for above, row in enumerate(graded[:-1])
    ]
    yield high_taus("Tables 6-7", "graded metrics", columns, rows, result, design.graded())
    yield ReportFigure("Figure 5", _means(result, design))


def _means(result: RankCorrelationResult, design: GradedMetricsDesign) -> Figure:
    every = design.every()
    labels = dict(zip(every, result.metrics, strict=True))
    names = [name for name in (RELAXED, RIGID, *design.named()) if name in every]
    means = {name: result.means[labels[name]] for name in names}
    figure, *_ = rank_correlation.figures(
        result.model_copy(update={"metrics": names, "means": means, "coefficients": {}})
    )
    return figure


def _gains(result: GainRobustnessResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    """Yield each setting's curve of Q-measure, and the discrimination power of all metrics."""
    labels: list[list[str]] = [metric.labels for metric in result.metrics]
    curves = {metric.metric: metric for metric in result.stability.metrics}
    shown = [f"Q{setting.partition('(')[0]}" for setting in result.settings]
    of_q = [curves[label].model_copy(update={"metric": name}) for label, name in zip(labels[0], shown, strict=True)]
    stable = part_of(StabilityResult, result, result.stability)
    (figure,) = stability.figures(stable.model_copy(update={"metrics": of_q}))
    yield ReportFigure("Figure 6", figure)
    swaps = {metric.metric: metric for metric in result.swap_rate.metrics}
    under_each = [
        swaps[label].model_copy(update={"metric": f"{name} {setting}"})
        for name, each in zip(design.graded(), labels, strict=True)
        for setting, label in zip(design.settings, each, strict=True)
    ]
    notes = [_settings(design), *swap_rate.exceptions(under_each), FIRST, _size(result)]
    table, *further = (
        replace(_powers(design, labels, swaps, seed), notes=notes) for seed in range(result.swap_rate.seeds)
    )
    finish = mark_where(lambda power: round(power, 12) > HIGH_POWER)
    yield ReportTable("Table 8", table, finish, by_seed=further)


def _powers(
    design: GradedMetricsDesign, labels: Sequence[Sequence[str]], swaps: Mapping[str, SwapRateOfMetric], seed: int
) -> Table:
    """Return the discrimination power of each metric under each setting, with one of the seeds."""
    rows = [
        [name, *(swaps[label].by_seed[seed].discrimination_power for label in each)]
        for name, each in zip(design.graded(), labels, strict=True)
    ]
    caption = "Discrimination power (share of comparisons beyond the difference required) by gain setting."
    columns = [Column("metric"), *(Column(name, digits=1, percent=True) for name in design.settings)]
    return Table("gains", caption, columns, rows, mark=f"> {HIGH_POWER:.0%}")


def _settings(design: GradedMetricsDesign) -> str:
    return f"Gains: {', '.join(f'{name} {gains}' for name, gains in design.settings.items())}."


def _gain_correlations(result: RankCorrelationResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    """Yield each setting compared with the first. The job has all metrics under the first setting, then the second, and
    so on.
    """
    names, tau = list(design.graded()), result.coefficients["kendall"]
    settings = list(design.settings)
    others = range(1, len(settings))
    rows = [[name, *(tau[place][other * len(names) + place] for other in others)] for place, name in enumerate(names)]
    columns = [Column("metric"), *(Column(settings[other], digits=4) for other in others)]
    caption = "Kendall's tau of the ranking of all runs under each gain setting with that under the default."
    notes = [_settings(design), significance(len(result.runs))]
    yield ReportTable("Table 9", Table("gains", caption, columns, rows, notes=notes))


def _agreement(result: AgreementResult, design: GradedMetricsDesign) -> Iterator[ReportItem]:
    tested = design.tested()
    (table,) = agreement.tables(renamed(result, tested, tested))
    caption = f"Kendall's tau-b between lists of run pairs by three tests, fuzziness {result.fuzziness:g}."
    yield ReportTable("Table 10", replace(table, caption=caption, notes=[_size(result), legend(tested)]))


def _other_topics(gains: GainRobustnessResult, swap: SwapRateResult) -> Iterator[ReportItem]:
    if gains.topics != swap.topics:
        why = f"only {swap.topics} of its {gains.topics} topics, those for which binary metrics are defined too"
        yield Remark(f"The default column of Table 8 is not that of Tables 2-3 (b), which are of {why}.")


RELIABILITY_OF_GRADED_METRICS = enter(
    ReportKind(
        name="reliability-of-graded-metrics",
        title="The reliability of metrics based on graded relevance",
        reference="Sakai, The reliability of metrics based on graded relevance, AIRS 2005",
        params=GradedMetricsParams,
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

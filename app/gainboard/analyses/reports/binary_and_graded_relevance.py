"""binary-and-graded-relevance: whether graded judgments, and their weights, rank runs otherwise than binary ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from gainboard.analyses.gain_vectors import GainVectorsResult, label_of_curve
from gainboard.analyses.judgments import JudgmentsResult
from gainboard.analyses.params import Expression, Names, Top, Version
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.report_items import (
    LeftOut,
    Remark,
    ReportFigure,
    ReportItem,
    ReportTable,
    Taus,
    crossed_levels,
    mark_taus,
    numbers_of_runs,
    tau_column,
)
from gainboard.analyses.report_kinds import (
    About,
    Cutoffs,
    JobResults,
    Needed,
    PerCollection,
    ReportKind,
    ReportParams,
    enter,
)
from gainboard.errors import InvalidRequest, NotFound
from gainboard.exhibits import Cell, Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.metrics import linear_ratio, parse_gains
from gainboard.metrics.gains import format_number
from gainboard.vocabulary import OFFICIAL

MEASURES = ("CG", "DCG", "nDCG")
BASE = 2.0
PRECISIONS, CUTOFFS = (10, 100, 1000), (10, 100)
"""The document cut-off values of Table 3, and of the other tables."""
DEEP = {10: "Tables 2-6", 100: "P@100 in Tables 3 and 4, and Tables 5 and 6", 1000: "P@1000 in Table 3"}
"""The exhibits that are missing if the collection has fewer ranks."""
RANKS = 200
"""The last rank of the curves."""
FIGURES = {
    "a": ("", "w1"),
    "b": ("CG", "w1"),
    "c": ("CG", "w100"),
    "d": ("DCG", "w1"),
    "e": ("DCG", "w100"),
    "f": ("nDCG", "w1"),
    "g": ("nDCG", "w100"),
}
"""The measure by rank and its scheme, by letter; (a) is precision by recall."""


class BinaryAndGradedParams(ReportParams):
    """Kendall's tau between rankings of the same runs. Table 3 compares precision under the original and the reassessed
    judgments, and Table 1 shows their levels. Table 4 compares precision with CG, DCG and nDCG under four weighting
    schemes; Tables 5 and 6 compare these with each other. Figures 1 and 2 show gain by rank.

    The schemes are the paper's w1, w3, w10 and w100: for three levels 1:1:1, 3:2:1, 10:5:1 and 100:10:1. For h levels
    they are 1:...:1; h:...:2:1; evenly spaced up to 10, with 1 for the lowest; and from 1 to 100 in equal ratios (for
    two levels 2:1, 10:1 and 100:1). With binary levels all of them are w1. The log base is 2. `gains`, `base` and
    `cutoffs` put others in their place. `type` splits manual and automatic runs, as Table 2 of the paper does.
    """

    gains: PerCollection[Annotated[list[Expression], Field(min_length=1, max_length=6)]] | None = Field(
        None,
        description="Weighting schemes, the lightest first; the figures show the first and the last",
        examples=[["1:1:1", "3:2:1"]],
    )
    base: Annotated[float, Field(gt=1, le=1e100)] = Field(BASE, description="The log base of DCG and nDCG")
    cutoffs: Cutoffs = Field(
        list(CUTOFFS), description="The document cut-off values of Tables 4 to 6; Tables 5 and 6 take the largest"
    )

    original: dict[str, Version] = Field(
        {},
        description='The qrels version of the original judgments, for example `{"web": 1}`; by default the first other '
        "version",
        max_length=100,
    )
    drop_identical: bool = Field(
        True, description="Whether to leave out a team's second identical run, as in the paper"
    )
    curves: Top | Names | dict[str, Names] | None = Field(
        None,
        description="Runs of the figures: their names, or names by collection, or by default "
        '`{"top": 5, "by": "P@100"}`',
        examples=[{"top": 5, "by": "P@100"}],
    )


def schemes(highest_level: int) -> dict[str, str]:
    """Return gain settings by the names of the paper's weighting schemes."""
    flat = {"w1": ":".join("1" * highest_level)}
    if highest_level == 1:
        return flat
    rises = [level / (highest_level - 1) for level in reversed(range(highest_level))]
    spaced = (max(1.0, round(10 * rise, 2)) for rise in rises)
    powers = (round(100**rise, 2) for rise in rises)
    w10, w100 = (":".join(map(format_number, gains)) for gains in (spaced, powers))
    return {**flat, "w3": linear_ratio(highest_level), "w10": w10, "w100": w100}


def schemes_of(about: About, params: BinaryAndGradedParams) -> dict[str, str]:
    """Return the gain settings that the report compares, by name; those that were asked for are their own names."""
    if gains := params.of("gains", about):
        return {label: label for label in (parse_gains(expression, about.highest_level).label for expression in gains)}
    return schemes(about.highest_level)


def cutoffs_of(about: About, params: BinaryAndGradedParams) -> list[int]:
    """Return the cut-off values that the collection's rankings have, the smallest first."""
    return sorted({cutoff for cutoff in params.cutoffs if cutoff <= about.depth})


def measures(about: About, params: BinaryAndGradedParams) -> dict[str, str]:
    """Return the metric expressions of Tables 4 to 6, by names such as `DCG w10 @100`."""
    cutoffs = cutoffs_of(about, params)
    expressions = {f"P @{cutoff}": f"P@{cutoff}" for cutoff in cutoffs}
    for measure in MEASURES:
        # CG discounts nothing, so a base would make it no other metric.
        base = "" if measure == "CG" else f"base={format_number(params.base)},"
        for name, gains in schemes_of(about, params).items():
            expressions |= {
                f"{measure} {name} @{cutoff}": f"{measure}({base}gains={gains})@{cutoff}" for cutoff in cutoffs
            }
    return expressions


def drawn_schemes(about: About, params: BinaryAndGradedParams) -> dict[str, str]:
    """Return the schemes of the figures, by the paper's names for the lightest and the heaviest, w1 and w100."""
    gains = list(schemes_of(about, params).values())
    return {"w1": gains[0]} | ({"w100": gains[-1]} if len(gains) > 1 else {})


def precisions(about: About) -> list[str]:
    """Return the metrics of Table 3."""
    return [f"P@{cutoff}" for cutoff in PRECISIONS if cutoff <= about.depth]


def original(about: About, params: BinaryAndGradedParams) -> int | None:
    """Return the version of the original judgments, or None if only one version is published. Raise NotFound, and
    InvalidRequest if it is the version of the report.
    """
    version = params.original.get(about.collection)
    if version is None:
        return next((version for version in about.versions if version != about.qrels_version), None)
    if version == about.qrels_version:
        message = (
            f"The report is about qrels version {version} of {about.collection!r}. Name another version as `original`."
        )
        raise InvalidRequest.at(f"body.params.original.{about.collection}", "same-version", message)
    if version not in about.versions:
        message = f"{about.collection!r} has no published qrels version {version}."
        fault = {"location": f"body.params.original.{about.collection}", "code": NotFound.slug, "message": message}
        raise NotFound(message, errors=[fault])
    return version


def _plan(about: About, params: BinaryAndGradedParams) -> Iterator[Needed | LeftOut]:
    before, metrics = original(about, params), precisions(about)
    if before is None:
        yield LeftOut("Tables 1 and 3", "There is one published qrels version; they compare two.")
    if about.highest_level == 1:
        why = "With one level above 0 all weighting schemes are w1."
        yield LeftOut("w3, w10 and w100 in Tables 4 and 5, Table 6, and Figures 1-2 (c), (e) and (g)", why)
    deep = DEEP if params.cutoffs == list(CUTOFFS) else {cutoff: f"P@{cutoff} in Table 3" for cutoff in PRECISIONS}
    deep |= {cutoff: f"The cut-off {cutoff} in Tables 4-6" for cutoff in params.cutoffs if cutoff not in deep}
    for cutoff, what in deep.items():
        if about.depth < cutoff:
            yield LeftOut(what, f"The collection's runs are cut at rank {about.depth}.")
    of_original = (
        {"judgments": about.judgment_set, "qrels": before} if about.judgment_set != OFFICIAL else {"qrels": before}
    )
    against = before if before is None or about.judgment_set == OFFICIAL else of_original
    yield Needed("judgments", "judgments", {"against": against}, "Table 1")
    if compared := list(measures(about, params).values()):
        yield Needed("measures", "rank-correlation", _kendall(compared), "Tables 2, 4, 5 and 6")
    if metrics and before is not None:
        entries = [*metrics, *({"metric": metric, **of_original} for metric in metrics)]
        yield Needed("versions", "rank-correlation", _kendall(entries), "Table 3")
    for scheme, gains in drawn_schemes(about, params).items():
        letters = ", ".join(f"({letter})" for letter, (_, drawn) in FIGURES.items() if drawn == scheme)
        drawn_runs = {"runs": _curves(about, params), "cutoff": min(RANKS, about.depth)}
        drawn_runs |= {"base": params.base, "gains": gains}
        yield Needed(scheme, "gain-vectors", drawn_runs, f"Figures 1-2 {letters}")


def _kendall(metrics: Sequence[Any]) -> dict[str, Any]:
    return {"metrics": metrics, "coefficients": ["kendall"]}


def _curves(about: About, params: BinaryAndGradedParams) -> Any:
    best = {"top": 5, "by": f"P@{min(100, about.depth)}"}
    if isinstance(params.curves, dict):
        return params.curves.get(about.collection, best)
    return params.curves.model_dump() if isinstance(params.curves, Top) else params.curves or best


def _lay_out(results: JobResults, params: BinaryAndGradedParams) -> Iterator[ReportItem]:
    measured = results.find("measures", RankCorrelationResult)
    if judged := results.find("judgments", JudgmentsResult):
        yield from _judgments(judged, params.base)
    if measured:
        yield from numbers_of_runs(measured, "Table 2")
    if correlated := results.find("versions", RankCorrelationResult):
        metrics = precisions(results.about)
        taus = Taus(correlated, [*metrics, *(f"original {metric}" for metric in metrics)])
        rows = [(metric, taus(metric, f"original {metric}")) for metric in metrics]
        caption = "Kendall's tau between rankings by precision under the original and under the reassessed judgments."
        table = taus.table("versions", caption, [Column("metric"), tau_column("tau")], rows)
        yield ReportTable("Table 3", table, mark_taus)
    if measured:
        yield from _of_measures(measured, results.about, params)
    papers, drawn = schemes(results.about.highest_level), drawn_schemes(results.about, params)
    for letter, (measure, scheme) in FIGURES.items():
        if curves := results.find(scheme, GainVectorsResult):
            shown = scheme if papers.get(scheme) == drawn[scheme] else drawn[scheme]
            figure = gain_by_rank(curves, measure, scheme, shown) if measure else precision_by_recall(curves)
            yield ReportFigure(f"Figures 1-2 ({letter})", figure)
    if results.about.highest_level not in (1, 3) and not params.of("gains", results.about):
        gains = "; ".join(f"{name} is {scheme}" for name, scheme in schemes(results.about.highest_level).items())
        yield Remark(f"The paper's weighting schemes are for three levels above 0; here {gains}.")


def _judgments(result: JudgmentsResult, base: float) -> Iterator[ReportItem]:
    if result.against is not None:
        yield ReportTable("Table 1", crossed_levels(result, result.against), has_average=False)
    least = min((topic.relevant for topic in result.by_topic if topic.relevant), default=base)
    if least < base:
        yield Remark(
            f"The log base {format_number(base)} exceeds the smallest number of relevant documents of a topic, "
            f"{least}: the discount begins below the ranks at which DCG and nDCG of such a topic could tell runs apart."
        )


def _of_measures(result: RankCorrelationResult, about: About, params: BinaryAndGradedParams) -> Iterator[ReportItem]:
    taus, names = Taus(result, list(measures(about, params))), list(schemes_of(about, params))
    cutoffs = cutoffs_of(about, params)
    columns = [tau_column(name, f"dcv {cutoff}") for cutoff in cutoffs for name in names]
    rows = [
        (measure, *(taus(f"P @{cutoff}", f"{measure} {name} @{cutoff}") for cutoff in cutoffs for name in names))
        for measure in MEASURES
    ]
    caption = "Kendall's tau between rankings by precision and by cumulated gain at document cut-off values (dcv)."
    legend = "; ".join(f"{name}: {gains}" for name, gains in schemes_of(about, params).items())
    table = taus.table("precision", caption, [Column("measure"), *columns], rows, legend)
    yield ReportTable("Table 4", table, mark_taus)
    if cutoffs and cutoffs[-1] == max(params.cutoffs):
        yield ReportTable("Table 5", _between_measures(taus, names, legend, cutoffs[-1]), mark_taus)
        if len(names) > 1:
            yield ReportTable("Table 6", _between_schemes(taus, names, legend, cutoffs[-1]), mark_taus)


def _between_measures(taus: Taus, names: Sequence[str], legend: str, cutoff: int) -> Table:
    def cell(row: str, column: str, one: str, other: str) -> Cell:
        return taus(f"{row} {one} @{cutoff}", f"{column} {other} @{cutoff}") if row != column else None

    columns = [tau_column(name, measure) for measure in MEASURES[1:] for name in names]
    rows = [
        (f"{row} {one}", *(cell(row, column, one, other) for column in MEASURES[1:] for other in names))
        for row in MEASURES[:-1]
        for one in names
    ]
    caption = f"Kendall's tau between rankings by CG, DCG and nDCG at dcv {cutoff}."
    return taus.table("measures", caption, [Column("measure"), *columns], rows, legend)


def _between_schemes(taus: Taus, names: Sequence[str], legend: str, cutoff: int) -> Table:
    def cell(measure: str, row: int, column: int) -> Cell:
        one, other = (f"{measure} {names[number]} @{cutoff}" for number in (row, column))
        return taus(one, other) if row < column else None

    places = range(1, len(names))
    rows = [
        (measure, names[row], *(cell(measure, row, column) for column in places))
        for measure in MEASURES
        for row in range(len(names) - 1)
    ]
    columns = [Column("measure", section=True), Column("scheme"), *map(tau_column, names[1:])]
    caption = f"Kendall's tau between rankings under different weighting schemes at dcv {cutoff}."
    return taus.table("schemes", caption, columns, rows, legend)


BINARY_AND_GRADED_RELEVANCE = enter(
    ReportKind(
        name="binary-and-graded-relevance",
        title="Binary and graded relevance in IR evaluations",
        reference="Kekalainen, Binary and graded relevance in IR evaluations, IPM 41, 2005",
        params_model=BinaryAndGradedParams,
        plan=_plan,
        lay_out=_lay_out,
    )
)


RECALL = tuple(tenths / 10 for tenths in range(11))


def precision_by_recall(result: GainVectorsResult) -> Figure:
    """Return precision at the eleven points of recall, with a curve for each run."""
    series = [Series(run.name, RECALL, run.precision_recall) for run in result.runs]
    panel = Panel(Axis("recall", limits=(0, 1)), Axis("interpolated precision", limits=(0, 1)), series)
    caption = f"Precision by recall, mean over {result.topics} topics."
    return Figure("precision-recall", caption, (panel,))


def gain_by_rank(result: GainVectorsResult, measure: str, scheme: str, gains: str) -> Figure:
    """Return CG, DCG, nCG or nDCG at each rank, with a curve for each run. `scheme` and `gains` name the gains."""
    series = [Series(run.name, result.ranks, getattr(run, measure), style="line") for run in result.runs]
    # Normalised values are far above 0 from the first ranks on, and their curves are close together, so their axis need
    # not start at 0.
    least = None if measure.startswith("n") else 0
    panel = Panel(Axis("rank"), Axis(f"{measure} under {gains}", limits=(least, None)), series)
    caption = f"{measure} by rank under {gains}, mean over {result.topics} topics: {label_of_curve(result, measure)}."
    return Figure(f"{measure}-{scheme}", caption, (panel,))

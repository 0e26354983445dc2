"""judge-agreement: whether judgment sets label alike, whether one is lenient, and whether they rank runs alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from gainboard.evaluation.analyses.judge_agreement import JudgeAgreement, JudgeSettings, Pairs
from gainboard.evaluation.matrices import Matrices
from gainboard.exhibits import Axis, Cell, Column, Figure, HeatMap, Panel, Reference, Series, Table
from gainboard.statistics.concordance import CLASSES
from gainboard.statistics.judges import MEASUREMENTS, RETRIEVAL
from gainboard.store.records import VersionName
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.jobs.bootstrap_sensitivity import Alpha
from gainboard.work.labels import Labels
from gainboard.work.params import MOST_RUNS, Draws, Judgments, MetricsParams, Seed, SetVersion
from gainboard.work.result_models import JobResult, Number, ResultModel

MOST_SETS = 20
MOST_PANELS = 6
"""The most metrics in one figure."""
RunName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
KAPPAS = {"kappa": "kappa", "kappa_linear": "linear", "kappa_quadratic": "quadratic"}


class JudgeAgreementParams(MetricsParams):
    """Judgment sets, such as those of a second assessor or of a language model, compared with a reference set:
    `judgments`, the official one by default. Compared are the pairs of topic and document that both sets judge; pairs
    that one set judges are counted only. Levels below 0 count as 0.

    Labels: the confusion matrix, raw agreement, Cohen's kappa at `threshold` and weighted by levels (linear and
    quadratic), and Krippendorff's alpha over all sets. The set's relevant documents are found among the reference's by
    topic: precision, recall, F1 and Jaccard. `bias` is the mean of the set's level minus the reference's, so a lenient
    set has a positive one. Every interval is a 95 % bootstrap over topics. The limits of agreement are descriptive.

    Runs: each metric is scored under both sets, on the topics that are defined under both, over the common pairs
    (`pairs=common`) or over all that each set judges (`pairs=all`). `rise` is the number of ranks that a run gains
    under the set. `flagged` names runs that were built with the model that judges: their mean rise is compared with
    that of the others. Pairs of runs are in the classes of Moffat, Scholer and Thomas (ADCS 2012), by paired t-tests,
    uncorrected and with Holm's correction. An undefined value is null, with the reason: so is RBO where runs are tied.
    """

    sets: Annotated[list[Judgments | SetVersion], Field(min_length=1, max_length=MOST_SETS)] = Field(
        description="Names of the sets that are compared with the reference, or their versions: "
        '`{"judgments": "second", "qrels": 1}`',
        examples=[["second"]],
    )
    pairs: Pairs = Field("common", description="The judgments under which runs are scored")
    threshold: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="Relevance threshold of the labels: a document at this level or above is relevant"
    )
    k: Annotated[int, Field(ge=1, le=MOST_RUNS)] = Field(10, description="Number of runs in the top")
    p: Annotated[float, Field(gt=0, lt=1)] = Field(0.9, description="Persistence of rank-biased overlap")
    alpha: Alpha = Field(0.05, description="Significance level of the tests of pairs of runs")
    flagged: Annotated[list[RunName], Field(max_length=MOST_RUNS)] = Field(
        [], description="Names of runs that were built with the model that judges"
    )
    resamples: Draws = Field(1000, description="Number of topic resamples of the intervals")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with objects for all sets, and each flagged run once."""
        sets = list(
            dict.fromkeys(
                each if isinstance(each, SetVersion) else SetVersion(judgments=each, qrels=None) for each in self.sets
            )
        )
        return super().settled(label).model_copy(update={"sets": sets, "flagged": sorted(set(self.flagged))})

    def versions(self) -> dict[str, VersionName]:
        return {f"sets.{place}": named for place, named in enumerate(self.named_sets())}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        sets = dict.fromkeys(SetVersion.of(versions[named]) for named in self.named_sets())
        return self.model_copy(update={"sets": list(sets)})

    def named_sets(self) -> list[VersionName]:
        """Return the names of the versions that are compared with the reference."""
        return [each.named() if isinstance(each, SetVersion) else VersionName(each) for each in self.sets]


class Estimate(ResultModel):
    """A value, or why there is none."""

    value: Number
    interval: tuple[Number, Number] | None = Field(description="95 % bootstrap over topics")
    reason: str | None


class RankCoefficient(ResultModel):
    """A coefficient, or why there is none."""

    value: Number
    reason: str | None


class KrippendorffAlpha(ResultModel):
    """Krippendorff's alpha over all sets, by the measurement of levels."""

    units: int = Field(description="Pairs of topic and document that at least two sets judge")
    units_judged_once: int
    topics: int
    nominal: Estimate
    ordinal: Estimate
    interval: Estimate


class LabelAgreement(ResultModel):
    """The labels of both sets."""

    agreement: Estimate = Field(description="Share of equal levels")
    kappa: Estimate = Field(description="At the threshold")
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    relevant_reference: Estimate = Field(description="Share of relevant documents under the reference")
    relevant: Estimate


class RetrievalEstimates(ResultModel):
    """The set's relevant documents among the reference's, averaged over topics."""

    precision: Estimate
    recall: Estimate
    f1: Estimate
    jaccard: Estimate


class RetrievalCounts(ResultModel):
    """Topics for which each is defined."""

    precision: int
    recall: int
    f1: int
    jaccard: int


class RetrievalShares(ResultModel):
    """The set's relevant documents among the reference's, over all topics at once."""

    precision: Number
    recall: Number
    f1: Number
    jaccard: Number


class RetrievalOfTopic(ResultModel):
    """The set's relevant documents among the reference's, of one topic."""

    topic: str
    pairs: int
    precision: Number
    recall: Number
    f1: Number
    jaccard: Number


class BiasAtLevel(ResultModel):
    """The bias at a level of the reference."""

    level: int
    name: str
    pairs: int
    bias: Estimate


class Leniency(ResultModel):
    """The set's level minus the reference's."""

    bias: Estimate
    standard_deviation: Number
    limits_of_agreement: tuple[Number, Number]
    by_level: list[BiasAtLevel]


class RankCoefficients(ResultModel):
    """The rankings of the runs under both sets, correlated."""

    tau: RankCoefficient
    tau_ap: RankCoefficient
    rbo: RankCoefficient


class TopRunsAgreement(ResultModel):
    """The first places of both rankings."""

    k: int
    tau: Number = Field(description="Over the reference's top")
    overlap: float
    tau_union: Number = Field(description="Over the runs in either top")
    union: list[str]


class RunUnderSets(ResultModel):
    """A run under both sets."""

    run: str
    mean_reference: Number
    mean: Number
    rank_reference: int
    rank: int
    rise: int = Field(description="Ranks that it gains under the set")
    flagged: bool


class FlaggedRise(ResultModel):
    """The flagged runs and the others."""

    runs: list[str]
    mean_rise: Number
    mean_rise_of_others: Number
    difference: Number
    reason: str | None


class PairClasses(ResultModel):
    """The pairs of runs under both sets, by class: AA, MA, PA, AD, MD, PD and tie."""

    counts: dict[str, int]
    consistency: Number
    significant_reference: int
    significant: int


class SignificanceUnderSets(ResultModel):
    """Paired t-tests of the pairs of runs under both sets."""

    uncorrected: PairClasses | None
    holm: PairClasses | None
    reason: str | None


class MeanDifferences(ResultModel):
    """The runs' means under the set minus those under the reference (Bland and Altman, 1986)."""

    mean: Number
    standard_deviation: Number
    limits_of_agreement: tuple[Number, Number]


class RankingUnderSets(ResultModel):
    """The runs under a metric and both sets; null where there is no ranking, for the reason."""

    metric: str
    topics: int
    reason: str | None
    correlations: RankCoefficients | None
    top: TopRunsAgreement | None
    largest_rise: RunUnderSets | None
    largest_drop: RunUnderSets | None
    flagged: FlaggedRise | None = Field(description="Null if no run is flagged")
    significance: SignificanceUnderSets | None
    differences: MeanDifferences | None
    runs: list[RunUnderSets]


class JudgedSet(ResultModel):
    """A judgment set, compared with the reference."""

    judgments: str
    qrels_version: int
    topics: int
    common_pairs: int = Field(description="Pairs of topic and document that both judge")
    only_reference: int
    only_set: int
    confusion: list[list[int]] = Field(description="Pairs [level of the reference, level of the set]")
    labels: LabelAgreement
    macro: RetrievalEstimates
    macro_topics: RetrievalCounts
    micro: RetrievalShares
    by_topic: list[RetrievalOfTopic]
    leniency: Leniency
    metrics: list[RankingUnderSets]


class JudgeAgreementResult(JobResult):
    """The agreement of judgment sets with a reference, in their labels and in how they rank the runs."""

    kind: Literal["judge-agreement"]
    threshold: int
    pairs: Pairs
    k: int
    p: float
    alpha: float
    seed: int
    resamples: int
    flagged: list[str]
    levels: list[str] = Field(description="Names of the levels")
    krippendorff: KrippendorffAlpha
    sets: list[JudgedSet]


def _analysis(matrices: Matrices, asked: JudgeAgreementParams) -> JudgeAgreement:
    names = ("threshold", "pairs", "k", "p", "alpha", "flagged", "resamples", "seed")
    settings = JudgeSettings(**{name: getattr(asked, name) for name in names})
    return JudgeAgreement(matrices, asked.metrics, asked.named_sets(), settings)


def tables(result: Result) -> Sequence[Table]:
    """Return the labels, the confusion of levels, the leniency, the topics, the rankings, the verdicts and the runs."""
    return (
        _labels(result),
        _alphas(result),
        _confusion(result),
        _leniency(result),
        _topics(result),
        _rankings(result),
        _verdicts(result),
        _runs(result),
    )


def _name(each: Mapping[str, Any]) -> str:
    return str(VersionName(each["judgments"], each["qrels_version"]))


def _reference(result: Result) -> str:
    return str(VersionName(result["judgment_set"], result["qrels_version"]))


def _ends(found: Mapping[str, Any]) -> tuple[Cell, Cell]:
    low, high = found["interval"] or (None, None)
    return low, high


def _labels(result: Result) -> Table:
    rows: list[Sequence[Cell]] = []
    for each in result["sets"]:
        labels = each["labels"]
        kappas = [cell for name in KAPPAS for cell in (labels[name]["value"], *_ends(labels[name]))]
        shares = [labels[name]["value"] for name in ("agreement", "relevant_reference", "relevant")]
        counts = (each["common_pairs"], each["only_reference"], each["only_set"])
        rows.append((each["judgments"], each["qrels_version"], each["topics"], *counts, *shares, *kappas))
    columns = (
        *(Column(name) for name in ("set", "version", "topics")),
        *(Column(name, group="pairs") for name in ("common", "reference only", "set only")),
        Column("agreement", digits=3),
        *(Column(name, digits=3, group="share relevant") for name in ("reference", "set")),
        *(
            Column(part, digits=3, group=f"kappa ({name})" if name != "kappa" else "kappa")
            for name in KAPPAS.values()
            for part in ("value", "2.5 %", "97.5 %")
        ),
    )
    caption = (
        f"Labels of judgment sets compared with {_reference(result)}; relevant is level {result['threshold']} or "
        f"higher. Intervals are over {result['resamples']} resamples of the topics."
    )
    return Table("labels", caption, columns, rows)


def _alphas(result: Result) -> Table:
    found = result["krippendorff"]
    rows = [(name, found[name]["value"], *_ends(found[name])) for name in MEASUREMENTS]
    columns = (Column("measurement"), *(Column(name, digits=3) for name in ("alpha", "2.5 %", "97.5 %")))
    caption = (
        f"Krippendorff's alpha over {len(result['sets']) + 1} judgment sets: {found['units']:,} pairs that at least "
        f"two of them judge, and {found['units_judged_once']:,} that only one judges, which are not used."
    )
    return Table("krippendorff", caption, columns, rows)


def _confusion(result: Result) -> Table:
    rows = [
        (each["judgments"], level, *row)
        for each in result["sets"]
        for level, row in zip(result["levels"], each["confusion"], strict=True)
    ]
    columns = (
        Column("set"),
        Column("level in the reference"),
        *(Column(name, group="level in the set") for name in result["levels"]),
    )
    return Table("confusion", f"Common pairs by their levels in {_reference(result)} and in each set.", columns, rows)


def _leniency(result: Result) -> Table:
    rows: list[Sequence[Cell]] = []
    for each in result["sets"]:
        bias = each["leniency"]["bias"]
        rows.append((each["judgments"], "all", each["common_pairs"], bias["value"], *_ends(bias)))
        for level in each["leniency"]["by_level"]:
            found = level["bias"]
            rows.append((each["judgments"], level["name"], level["pairs"], found["value"], *_ends(found)))
    columns = (
        *(Column(name) for name in ("set", "level in the reference", "pairs")),
        *(Column(name, digits=3) for name in ("bias", "2.5 %", "97.5 %")),
    )
    caption = "Mean of the set's level minus the reference's: positive for a lenient set."
    return Table("leniency", caption, columns, rows)


def _topics(result: Result) -> Table:
    rows: list[Sequence[Cell]] = []
    for each in result["sets"]:
        macro, micro = ([each[kind][name] for name in RETRIEVAL] for kind in ("macro", "micro"))
        rows.append((each["judgments"], "macro mean", each["common_pairs"], *(found["value"] for found in macro)))
        rows.append((each["judgments"], "micro mean", each["common_pairs"], *micro))
        rows += [
            (each["judgments"], topic["topic"], topic["pairs"], *(topic[name] for name in RETRIEVAL))
            for topic in each["by_topic"]
        ]
    columns = (
        *(Column(name) for name in ("set", "topic", "pairs")),
        *(Column(name, digits=3) for name in ("precision", "recall", "F1", "Jaccard")),
    )
    caption = f"How the relevant documents of each set find those of {_reference(result)}, by topic."
    return Table("topics", caption, columns, rows)


def _compared(result: Result) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the comparisons of rankings that are defined, each with the name of its set."""
    for each in result["sets"]:
        yield from ((each["judgments"], metric) for metric in each["metrics"] if metric["reason"] is None)


def _rankings(result: Result) -> Table:
    rows: list[Sequence[Cell]] = []
    for name, metric in _compared(result):
        top, flagged = metric["top"], metric["flagged"] or {}
        rise, drop = metric["largest_rise"] or {}, metric["largest_drop"] or {}
        rows.append(
            (
                *(name, metric["metric"], metric["topics"]),
                *(metric["correlations"][each]["value"] for each in ("tau", "tau_ap", "rbo")),
                *(top["tau"], top["overlap"], top["tau_union"]),
                *(rise.get("run"), rise.get("rise"), drop.get("run"), drop.get("rise")),
                *(flagged.get("mean_rise"), flagged.get("mean_rise_of_others")),
            )
        )
    columns = (
        *(Column(each) for each in ("set", "metric", "topics")),
        *(Column(each, digits=3) for each in ("tau", "tau_ap", "RBO")),
        *(Column(each, digits=3, group=f"top {result['k']}") for each in ("tau", "overlap", "tau over both tops")),
        *(Column(each, group="largest rise") for each in ("run", "ranks")),
        *(Column(each, group="largest drop") for each in ("run", "ranks")),
        *(Column(each, digits=2, group="mean rise") for each in ("flagged", "others")),
    )
    caption = f"Rankings of runs under each set and {_reference(result)}, over {_scored(result)}."
    notes = [
        f"{name}, {metric['metric']}: RBO is undefined. {reason[0].upper()}{reason[1:]}."
        for name, metric in _compared(result)
        if (reason := metric["correlations"]["rbo"]["reason"])
    ]
    return Table("rankings", caption, columns, rows, notes=notes)


def _scored(result: Result) -> str:
    return "the common pairs" if result["pairs"] == "common" else "all pairs that each set judges"


def _verdicts(result: Result) -> Table:
    rows = [
        (name, metric["metric"], title, *(found["counts"][each] for each in CLASSES), found["consistency"])
        for name, metric in _compared(result)
        for correction, title in (("uncorrected", "none"), ("holm", "Holm"))
        if (found := metric["significance"][correction]) is not None
    ]
    columns = (
        *(Column(each) for each in ("set", "metric", "correction", *CLASSES)),
        Column("consistency", digits=3),
    )
    caption = (
        f"Pairs of runs by class under each set and {_reference(result)}: active, mixed or passive; agreement or "
        f"disagreement. Paired t-test, alpha {result['alpha']:g}."
    )
    return Table("verdicts", caption, columns, rows)


def _runs(result: Result) -> Table:
    rows = [
        (
            *(name, metric["metric"], row["run"], row["mean_reference"], row["mean"]),
            *(row["rank_reference"], row["rank"], row["rise"], "yes" if row["flagged"] else "no"),
        )
        for name, metric in _compared(result)
        for row in metric["runs"]
    ]
    columns = (
        *(Column(each) for each in ("set", "metric", "run")),
        *(Column(each, digits=4, group="mean") for each in ("reference", "set")),
        *(Column(each, group="rank") for each in ("reference", "set")),
        Column("rise"),
        Column("flagged"),
    )
    return Table("runs", f"Runs in the order of {_reference(result)}, over {_scored(result)}.", columns, rows)


def figures(result: Result) -> Sequence[Figure]:
    """Return the map of the labels, and the differences of the runs' means of each set (Bland and Altman)."""
    return (_map(result), *_differences(result))


def _map(result: Result) -> Figure:
    scale = Axis("share of the reference's level", limits=(0, 1))
    panels = [
        HeatMap(
            result["levels"], result["levels"], [_shares(row) for row in each["confusion"]], scale, title=_name(each)
        )
        for each in result["sets"]
    ]
    caption = f"Levels in each set (columns) of the documents of each level in {_reference(result)} (rows)."
    return Figure("confusion", caption, panels)


def _shares(row: Sequence[int]) -> list[float | None]:
    total = sum(row)
    return [count / total if total else None for count in row]


def _differences(result: Result) -> Iterator[Figure]:
    for number, each in enumerate(result["sets"], start=1):
        shown = [metric for metric in each["metrics"] if metric["reason"] is None][:MOST_PANELS]
        if shown:
            caption = (
                f"Means of runs under {_name(each)} minus those under {_reference(result)}, by the mean of both "
                f"(Bland and Altman), over {_scored(result)}."
            )
            yield Figure(f"run-means-{number}", caption, [_panel(metric) for metric in shown])


def _panel(metric: Mapping[str, Any]) -> Panel:
    series = []
    for label, is_flagged in (("run", False), ("flagged run", True)):
        rows = [row for row in metric["runs"] if row["flagged"] is is_flagged]
        if rows:
            x = [(row["mean"] + row["mean_reference"]) / 2 for row in rows]
            series.append(Series(label, x, [row["mean"] - row["mean_reference"] for row in rows], "points"))
    found = metric["differences"]
    low, high = found["limits_of_agreement"]
    references = [
        Reference(found["mean"], "mean difference"),
        Reference(low, "limits of agreement"),
        Reference(high, "limits of agreement"),
    ]
    return Panel(Axis("mean of both"), Axis("set minus reference"), series, references, title=metric["metric"])


JUDGE_AGREEMENT = enter(
    JobKind(
        name="judge-agreement",
        changes=1,  # rank-biased overlap is null where there are ties
        params=JudgeAgreementParams,
        result=JudgeAgreementResult,
        analysis=_analysis,
        tables=tables,
        figures=figures,
    )
)

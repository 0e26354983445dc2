"""judge-agreement: whether judgment sets label alike, whether one is lenient, and whether they rank runs alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, StringConstraints

from gainboard.analyses import common, judged_labels, judged_rankings
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.pair_tests import Alpha
from gainboard.analyses.params import MOST_RUNS, DrawCount, Judgments, MetricsParams, Seed, SetVersion
from gainboard.analyses.result_models import METRIC, JobResult, ResultModel, Shown, fields, table
from gainboard.analyses.versioned_metrics import MixedMatrices, on_version
from gainboard.evaluation.scoring.binding import is_custom
from gainboard.evaluation.scoring.matrices import CommonPairs, Floats, JudgedPairs, Matrices, judged_pairs
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series
from gainboard.metrics import mean_of
from gainboard.notation.texts import said_extremes
from gainboard.statistics import draws, judging
from gainboard.statistics.classical import t_levels
from gainboard.statistics.means import pair_count, pair_differences
from gainboard.store.records import VersionName
from gainboard.vocabulary import OFFICIAL

Pairs = Literal["common", "all"]
SECONDS_A_JUDGMENT, SECONDS_A_RUN, SECONDS_A_SCORE, SECONDS_A_PAIR = 4e-6, 2e-3, 4e-7, 2e-6
SECONDS_A_COUNT = 5e-9
MOST_SETS = 20
MOST_PANELS = 6
"""The most metrics in one figure."""
RunName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
SET = Column("set")


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
    uncorrected, and corrected by the methods of Holm and of Benjamini and Hochberg, which controls the false discovery
    rate. An undefined value is null, with the reason.
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
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the intervals")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with objects for all sets, and each flagged run once."""
        sets = list(
            dict.fromkeys(
                named if isinstance(named, SetVersion) else SetVersion(judgments=named, qrels=None)
                for named in self.sets
            )
        )
        return super().settled(label).model_copy(update={"sets": sets, "flagged": sorted(set(self.flagged))})

    def versions(self) -> dict[str, VersionName]:
        return {f"sets.{position}": named for position, named in enumerate(SetVersion.names(self.sets))}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        sets = dict.fromkeys(SetVersion.of(versions[named]) for named in SetVersion.names(self.sets))
        return self.model_copy(update={"sets": list(sets)})


class KrippendorffAlpha(ResultModel):
    """Krippendorff's alpha over all sets, by the measurement of levels."""

    units: int = Field(description="Pairs of topic and document that at least two sets judge")
    units_judged_once: int
    topics: int
    nominal: judged_labels.Estimate
    ordinal: judged_labels.Estimate
    interval: judged_labels.Estimate


class JudgedSet(ResultModel):
    """A judgment set, compared with the reference."""

    judgments: Annotated[str, Shown("set")]
    qrels_version: Annotated[int, Shown("version")]
    topics: Annotated[int, Shown()]
    common_pairs: Annotated[int, Shown("common", group="pairs")] = Field(
        description="Pairs of topic and document that both judge"
    )
    only_reference: Annotated[int, Shown("reference only", group="pairs")]
    only_set: Annotated[int, Shown("set only", group="pairs")]
    confusion: list[list[int]] = Field(description="Pairs [level of the reference, level of the set]")
    labels: judged_labels.LabelAgreement
    macro: judged_labels.RetrievalEstimates
    macro_topics: judged_labels.RetrievalCounts
    micro: judged_labels.RetrievalShares
    by_topic: list[judged_labels.RetrievalOfTopic]
    leniency: judged_labels.Leniency
    metrics: list[judged_rankings.RankingUnderSets]

    @property
    def name(self) -> VersionName:
        return VersionName(self.judgments, self.qrels_version)

    def means_over_topics(self) -> tuple[judged_labels.RetrievalOfTopic, judged_labels.RetrievalOfTopic]:
        """Return rows of the table of topics for all of them: the mean over topics, and the share of all documents."""
        macro = {name: estimate.value for name, estimate in self.macro}
        return (
            judged_labels.RetrievalOfTopic(topic="macro mean", pairs=self.common_pairs, **macro),
            judged_labels.RetrievalOfTopic(topic="micro mean", pairs=self.common_pairs, **dict(self.micro)),
        )


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

    def verdict(self) -> str:
        kappas = {str(judged.name): judged.labels.kappa.value for judged in self.sets}
        ranked = {f"{judged.name} by {of.metric}": of.correlations for judged in self.sets for of in judged.metrics}
        taus = {name: of.tau.value if of else None for name, of in ranked.items()}
        return f"Beside {self._reference}, {said_extremes(kappas, 'kappa')}; {said_extremes(taus, 'tau of the runs')}."

    def tables(self) -> Sequence[Table]:
        """Return labels, confusion of levels, leniency, topics, rankings, verdicts and runs."""
        return (*self._tables_of_labels(), *self._tables_of_rankings())

    @property
    def _reference(self) -> VersionName:
        return VersionName(self.judgment_set or OFFICIAL, self.qrels_version)

    @property
    def _pairs_in_words(self) -> str:
        return "the common pairs" if self.pairs == "common" else "all pairs that each set judges"

    def _tables_of_labels(self) -> Iterator[Table]:
        kappas = ("agreement", "relevant_reference", "relevant", "kappa", "kappa_linear", "kappa_quadratic")
        caption = (
            f"Labels of judgment sets compared with {self._reference}; relevant is level {self.threshold} or "
            f"higher. Intervals are over {self.resamples} resamples of the topics."
        )
        labels = [(judged, judged.labels) for judged in self.sets]
        yield table((JudgedSet, fields(judged_labels.LabelAgreement, *kappas)), "labels", caption, labels)

        alphas = self.krippendorff
        caption = (
            f"Krippendorff's alpha over {len(self.sets) + 1} judgment sets: {alphas.units:,} pairs that at least "
            f"two of them judge, and {alphas.units_judged_once:,} that only one judges, which are not used."
        )
        rows = [(name, getattr(alphas, name)) for name in judging.MEASUREMENTS]
        yield table((Column("measurement"), judged_labels.shown_estimate("alpha")), "krippendorff", caption, rows)

        columns = (
            SET,
            Column("level in the reference"),
            *(Column(name, group="level in the set") for name in self.levels),
        )
        confusion = [
            (judged.judgments, level, *row)
            for judged in self.sets
            for level, row in zip(self.levels, judged.confusion, strict=True)
        ]
        yield table(
            columns, "confusion", f"Common pairs by their levels in {self._reference} and in each set.", confusion
        )

        caption = "Mean of the set's level minus the reference's: positive for a lenient set."
        biases = [
            (judged.judgments, bias)
            for judged in self.sets
            for bias in (
                judged_labels.BiasAtLevel(level=0, name="all", pairs=judged.common_pairs, bias=judged.leniency.bias),
                *judged.leniency.by_level,
            )
        ]
        yield table((SET, judged_labels.BiasAtLevel), "leniency", caption, biases)

        caption = f"How the relevant documents of each set find those of {self._reference}, by topic."
        topics = [
            (judged.judgments, topic)
            for judged in self.sets
            for topic in (*judged.means_over_topics(), *judged.by_topic)
        ]
        yield table((SET, judged_labels.RetrievalOfTopic), "topics", caption, topics)

    def _tables_of_rankings(self) -> Iterator[Table]:
        compared = [
            (judged.judgments, metric) for judged in self.sets for metric in judged.metrics if metric.reason is None
        ]
        caption = f"Rankings of runs under each set and {self._reference}, over {self._pairs_in_words}."
        columns = (
            *(SET, fields(judged_rankings.RankingUnderSets, "metric", "topics"), judged_rankings.RankCoefficients),
            fields(judged_rankings.TopRunsAgreement, group=f"top {self.k}"),
            fields(judged_rankings.RankingUnderSets, "largest_rise", "largest_drop"),
            judged_rankings.FlaggedRise,
        )
        rankings = [
            (name, metric, metric.correlations, metric.top, metric, metric.flagged) for name, metric in compared
        ]
        yield table(columns, "rankings", caption, rankings)

        caption = (
            f"Pairs of runs by class under each set and {self._reference}: active, mixed or passive; agreement or "
            f"disagreement. Paired t-test, alpha {self.alpha:g}."
        )
        verdicts = [
            (name, metric.metric, correction, classes)
            for name, metric in compared
            if (tested := metric.significance)
            for correction, classes in (
                ("none", tested.uncorrected),
                ("Holm", tested.holm),
                ("Benjamini-Hochberg", tested.benjamini_hochberg),
            )
            if classes is not None
        ]
        yield table((SET, METRIC, Column("correction"), judged_rankings.PairClasses), "verdicts", caption, verdicts)

        caption = f"Runs in the order of {self._reference}, over {self._pairs_in_words}."
        runs = [(name, metric.metric, run) for name, metric in compared for run in metric.runs]
        yield table((SET, METRIC, judged_rankings.RunUnderSets), "runs", caption, runs)

    def figures(self) -> Sequence[Figure]:
        """Return the map of the labels, and the differences of the runs' means of each set (Bland and Altman)."""
        scale = Axis("share of the reference's level", limits=(0, 1))
        panels = []
        for judged in self.sets:
            sums = [sum(row) for row in judged.confusion]
            shares = [
                [count / total if total else None for count in row]
                for row, total in zip(judged.confusion, sums, strict=True)
            ]
            panels.append(HeatMap(self.levels, self.levels, shares, scale, title=str(judged.name)))
        caption = f"Levels in each set (columns) of the documents of each level in {self._reference} (rows)."
        figures = [Figure("confusion", caption, panels)]
        for number, judged in enumerate(self.sets, start=1):
            if shown := [metric for metric in judged.metrics if metric.reason is None][:MOST_PANELS]:
                caption = (
                    f"Means of runs under {judged.name} minus those under {self._reference}, by the mean of both "
                    f"(Bland and Altman), over {self._pairs_in_words}."
                )
                figures.append(
                    Figure(f"run-means-{number}", caption, [_differences_of_means(metric) for metric in shown])
                )
        return figures


def _differences_of_means(metric: judged_rankings.RankingUnderSets) -> Panel:
    series = []
    for label, is_flagged in (("run", False), ("flagged run", True)):
        rows = [row for row in metric.runs if row.flagged is is_flagged]
        if rows:
            x = [(row.mean + row.mean_reference) / 2 for row in rows]
            series.append(Series(label, x, [row.mean - row.mean_reference for row in rows], "points"))
    differences = metric.differences
    assert differences is not None, "a metric without a reason has them"
    low, high = differences.limits_of_agreement
    references = [
        Reference(differences.mean, "mean difference"),
        Reference(low, "limits of agreement"),
        Reference(high, "limits of agreement"),
    ]
    return Panel(Axis("mean of both"), Axis("set minus reference"), series, references, title=metric.metric)


@enter
class JudgeAgreement(Analysis[JudgeAgreementParams, JudgeAgreementResult]):
    """One or more judgment sets, compared with the reference set that the matrices are over.

    The first part compares the labels of all sets together, the next ones those of each set with the reference, and
    the others the rankings under each set and metric.
    """

    name = "judge-agreement"
    title = "Agreement of judgment sets"
    question = "judges"
    needs_judgments = by_replicate = True
    summary = "Whether other judgments, of a second assessor or a language model, label alike and rank the runs alike."
    # 2: pairs have Benjamini and Hochberg's correction; 3: rank-biased overlap has a form for ties
    changes = 3

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: JudgeAgreementParams) -> None:
        super().__init__(matrices, params)
        self.metrics = params.metrics
        self._sets = [matrices.under(named) for named in SetVersion.names(params.sets)]
        self._refuse_what_cannot_be()

    def _refuse_what_cannot_be(self) -> None:
        reference = self.matrices.qrels
        for qrels in (compared.qrels for compared in self._sets):
            if qrels.id == reference.id:
                raise common.refuse(
                    "sets", "same-version", f"The reference is the {reference.named}, too. Name another set."
                )
            if qrels.order != reference.order:
                message = (
                    f"The {qrels.named} has runs ordered by {qrels.order}, and the {reference.named} by "
                    f"{reference.order}. Publish versions whose runs are in the same order."
                )
                raise common.refuse("sets", "other-order", message)
        highest = self.matrices.collection.highest_level
        if self.params.threshold > highest:
            message = f"threshold is {self.params.threshold}, but the highest level is {highest}."
            raise common.refuse("threshold", "out-of-range", message)
        selected = {run.name for run in self.matrices.candidates}
        if missing := [name for name in self.params.flagged if name not in selected]:
            message = f"{self.matrices.collection.name!r} has no run {missing[0]!r} among the selected ones."
            raise common.refuse("flagged", "unknown-run", message)
        for label in self.metrics:
            if is_custom(label):
                message = f"{label} was uploaded, so it has the same scores under all judgments. Leave it out."
                raise common.refuse("metrics", "uploaded-scores", message)
            if self.params.pairs == "common" and self.matrices.metric(label).needs_retrieval_scores:
                message = (
                    f'{label} needs more than the ranks of relevant documents. Leave it out, or give "pairs": "all".'
                )
                raise common.refuse("metrics", "needs-retrieval-scores", message)
            if self.params.pairs == "common" and self.matrices.metric(label).needs_intents:
                message = f'{label} needs judgments by intent. Leave it out, or give "pairs": "all".'
                raise common.refuse("metrics", "needs-intents", message)
        tested = pair_count(self.matrices.run_count) * len(self.metrics) * len(self._sets)
        common.require_at_most(common.MOST_TESTED_PAIRS, tested, common.PAIRS, "runs", "too-many-pairs")
        topics = max(len(matrices.topics) for matrices in (self.matrices, *self._sets))
        drawn = self.params.resamples * topics
        common.require_at_most(common.MOST_KEPT, drawn, "draws (resamples x topics)", "resamples")

    def parts(self) -> list[float]:
        judged = sum(matrices.qrels.judged for matrices in (self.matrices, *self._sets))
        topics, levels = len(self.matrices.topics), self.matrices.collection.highest_level + 1
        counts = self.params.resamples * topics * levels**2 * SECONDS_A_COUNT
        runs = self.matrices.run_count
        ranking = SECONDS_A_RUN * runs + SECONDS_A_SCORE * runs * topics + SECONDS_A_PAIR * pair_count(runs)
        # Each part of labels reads the judgments of all sets again, because it may run in another process.
        labels = [judged * SECONDS_A_JUDGMENT + counts] * (1 + len(self._sets))
        return [*labels, *([ranking] * (len(self._sets) * len(self.metrics)))]

    def work(self, part: int) -> Arrays:
        if part == 0:
            return self._compare_all_labels()
        if part <= len(self._sets):
            return self._compare_labels(part)
        number, metric = divmod(part - 1 - len(self._sets), len(self.metrics))
        return self._compare_rankings(number, self.metrics[metric])

    @cached_property
    def _pairs(self) -> list[JudgedPairs]:
        return list(judged_pairs((self.matrices, *self._sets)))

    def _count_draws(self, topics: int) -> Floats:
        """Return how often each topic is in each resample."""
        drawn: draws.Indices = draws.Draws(self.params.seed, "judge-agreement").resamples(self.params.resamples, topics)
        return draws.resample_counts(drawn, topics)

    def _compare_all_labels(self) -> Arrays:
        """Return Krippendorff's alpha over all sets by each measurement, with its interval."""
        levels = self.matrices.collection.highest_level + 1
        by_topic, units, once = [], 0, 0
        for pairs in self._pairs:
            sets = (pairs.levels != judging.UNJUDGED).sum(axis=1)
            # Alpha compares judgments of one document, so what one set alone judges says nothing. It is counted.
            once += int((sets == 1).sum())
            if (sets > 1).any():
                by_topic.append(judging.coincidences(pairs.levels, levels))
                units += int((sets > 1).sum())
        topics = len(by_topic)
        matrices = np.array(by_topic).reshape(-1, levels, levels)
        findings = {"units": np.array([units, once, topics])}
        # An interval over topics needs two of them; without draws, its ends are NaN.
        drawn = judged_labels.resampled(matrices, self._count_draws(topics)) if topics > 1 else matrices[:0]
        for name in judging.MEASUREMENTS:
            alpha = judging.krippendorff_alpha(matrices.sum(axis=0), name)
            findings[name] = np.array([alpha, *judging.percentile_interval(judging.krippendorff_alpha(drawn, name))])
        return findings

    def _compare_labels(self, number: int) -> Arrays:
        """Return the levels of the common pairs by topic, and the statistics of labels of the set of this number."""
        levels = self.matrices.collection.highest_level + 1
        tables, topics, only = [], [], np.zeros(2, np.int64)
        for topic, pairs in enumerate(self._pairs):
            judged = pairs.levels[:, (0, number)]
            both = judged[(judged != judging.UNJUDGED).all(axis=1)]
            # What one set alone judges is counted, and its level in the other set is never guessed.
            only += ((judged != judging.UNJUDGED) & (judged[:, ::-1] == judging.UNJUDGED)).sum(axis=0)
            if len(both):
                table = np.zeros((levels, levels))
                np.add.at(table, (both[:, 0].astype(np.intp), both[:, 1].astype(np.intp)), 1)
                tables.append(table)
                topics.append(topic)
        confusion = np.array(tables).reshape(-1, levels, levels)
        counts = self._count_draws(len(topics)) if len(topics) > 1 else np.zeros((0, len(topics)))
        return {
            "tables": confusion,
            "topics": np.array(topics, np.int64),
            "only": only,
            **judged_labels.labels_of(confusion, counts, self.params.threshold),
        }

    def _compare_rankings(self, number: int, label: str) -> Arrays:
        """Return the means [2, runs] under the two sets, and the levels of the paired t-test: [2, pairs]."""
        other = self._sets[number]
        # Over all pairs, two sets with the same labels would rank runs differently if one judges only half of the pool.
        if self.params.pairs == "common":
            first, second = self._common[number].scores(label)
        else:
            there = on_version(label, other.qrels.named)
            mixed = MixedMatrices(self.matrices, [label, there])
            first, second = mixed.scores(label), mixed.scores(there)
        # Both rankings are over the same topics. Otherwise they would also differ by what the topics are.
        defined = ~(np.isnan(first).any(axis=0) | np.isnan(second).any(axis=0))
        # Contiguous, so that sums add the topics of a run in the order in which scoring adds them.
        tables = [np.ascontiguousarray(table[:, defined]) for table in (first, second)]
        metric, topics = self.matrices.metric(label), int(defined.sum())
        runs = self.matrices.run_count
        findings = {"topics": np.array([topics]), "means": np.full((2, runs), np.nan), "asl": np.zeros((2, 0))}
        if topics and runs:
            findings["means"] = np.array([mean_of(metric, table) for table in tables])
        if topics > 1 and runs > 1 and metric.parameters["mean"] == "arithmetic":  # a t-test is about arithmetic means
            findings["asl"] = np.array([t_levels(pair_differences(table)) for table in tables])
        return findings

    @cached_property
    def _common(self) -> Sequence[CommonPairs]:
        return [CommonPairs(self.matrices, compared) for compared in self._sets]

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        together, labels, rankings = findings[0], findings[1 : 1 + len(self._sets)], findings[1 + len(self._sets) :]
        settings = self.params
        units, once, topics = together["units"].tolist()
        runs = [run.name for run in self.matrices.runs]
        judged = {topic for matrices in (self.matrices, *self._sets) for topic in matrices.topics}
        # The order of `judged_pairs`, by whose numbers the findings name topics.
        judged_topics = sorted(judged, key=str.encode)
        collection = self.matrices.collection
        levels = [collection.level_name(level) for level in range(collection.highest_level + 1)]
        why = judged_labels.EXPECTED if units else "no pair is judged by two sets"
        alphas = {name: judged_labels.statistic(together[name], why) for name in judging.MEASUREMENTS}
        sets = []
        for number, compared in enumerate(self._sets):
            of_set, first = labels[number], number * len(self.metrics)
            judged_in_both = [judged_topics[topic] for topic in of_set["topics"]]
            sets.append(
                JudgedSet(
                    judgments=compared.qrels.judgments,
                    qrels_version=compared.qrels.version,
                    **judged_labels.described_labels(of_set, judged_in_both, levels, settings.threshold),
                    metrics=[
                        judged_rankings.compare_rankings(label, rankings[first + metric], runs, settings)
                        for metric, label in enumerate(self.metrics)
                    ],
                )
            )
        return {
            "runs": runs,
            "threshold": settings.threshold,
            "pairs": settings.pairs,
            "k": settings.k,
            "p": settings.p,
            "alpha": settings.alpha,
            "seed": settings.seed,
            "resamples": settings.resamples,
            "flagged": list(settings.flagged),
            "levels": levels,
            "krippendorff": KrippendorffAlpha(units=units, units_judged_once=once, topics=topics, **alphas),
            "sets": sets,
        }

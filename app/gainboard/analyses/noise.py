"""noise: how much of the scores is due to topics, to systems on topics, and to replicates, and what more would gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses.common import common_topics, refuse
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.params import DrawCount, Judgments, MetricsParams, Seed, SetVersion
from gainboard.analyses.result_models import Number, ResultModel, Shown, TopicsResult, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.notation.texts import said
from gainboard.statistics import topic_sets
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.store.records import VersionName

SECONDS_A_SCORE = 2e-8
AS_NOW = ("now", "twice the topics", "twice the replicates")


class NoiseParams(MetricsParams):
    """This splits the variance of scores, if systems have replicates: seeds, verdicts of a judge, variants of a query,
    generations of an answer. Variances are by the method of moments from means of replicates, without bias for any
    numbers of them. A negative one counts as 0. Intervals are at 95 %, by Student's t of logarithms and a bootstrap
    over topics with all their replicates. Systems have none, because topics are no sample of systems. `mean` and
    `difference` are expected widths of the 95 % intervals of a system's mean and of the difference of two. What
    replicates of a system share on a topic is averaged out by more topics alone.
    """

    repeats: Annotated[list[Judgments | SetVersion], Field(max_length=99)] = Field(
        [],
        description="More judgment sets of the same judge: scores under each are replicates, on the topics of the "
        "job's own set",
        examples=[["model-2"]],
    )
    resamples: DrawCount = Field(1000, description="Number of bootstrap samples of the topics")
    seed: Seed = 0

    def versions(self) -> dict[str, VersionName]:
        return {f"repeats.{position}": named for position, named in enumerate(SetVersion.names(self.repeats))}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        sets = dict.fromkeys(SetVersion.of(versions[named]) for named in SetVersion.names(self.repeats))
        return self.model_copy(update={"repeats": list(sets)})


class NoiseComponent(ResultModel):
    """The variance from one source."""

    source: Annotated[str, Shown()]
    variance: Annotated[Number, Shown(digits=5)] = Field(description="Null for what one system alone does not tell")
    interval: Annotated[tuple[Number, Number], Shown(("low", "high"), digits=5, group="95 % interval")]
    share: Annotated[Number, Shown(percent=True, digits=1)]


class NoiseOfMetric(ResultModel):
    """The sources of a metric's variance, and the widths of intervals."""

    metric: Annotated[str, Shown()]
    components: list[NoiseComponent]
    mean: Annotated[list[Number], Shown(AS_NOW, digits=4, group="interval of a mean")]
    difference: Annotated[list[Number], Shown(AS_NOW, digits=4, group="interval of a difference")]


class NoiseResult(TopicsResult):
    """The sources of variance."""

    kind: Literal["noise"]
    repeats: list[SetVersion] = Field([], description="The other judgment sets of the same judge")
    seed: int
    resamples: int
    metrics: list[NoiseOfMetric]

    def verdict(self) -> str:
        of = self.metrics[0]
        due = ", ".join(f"{said(part.share, 1, percent=True)} to {part.source}" for part in of.components)
        name, widths = ("mean", of.mean) if of.difference[0] is None else ("difference", of.difference)
        more = "{} wide, {} with twice the topics, and {} with twice the replicates".format(*map(said, widths))
        return f"Under {of.metric}, variance is due {due}. The interval of a {name} is {more}."

    def tables(self) -> Sequence[Table]:
        """Return the components of each metric, and the widths of intervals."""
        about = f"Variance of scores by source, over {self.topics} topics."
        widths = table(NoiseOfMetric, "widths", "Expected widths of 95 % intervals.", self.metrics)
        return (table(NoiseComponent, "components", about, self.metrics, each="components"), widths)


@enter
class Noise(Analysis[NoiseParams, NoiseResult]):
    """The variance of topics, of systems on topics and of replicates, and the width of intervals with more of them."""

    name = "noise"
    title = "Where the noise comes from"
    question = "collection"
    summary = "How much of the scores is due to topics and to replicates, and what more of either would gain."

    def __init__(self, matrices: Matrices, params: NoiseParams) -> None:
        super().__init__(matrices, params)
        self.sets = list(dict.fromkeys([matrices, *map(matrices.under, params.versions().values())]))
        if len(self.sets) == 1 and all(len(names) == 1 for names in matrices.replicate_names.values()):
            others = "Upload several runs of a system with `system`, select others, or name judgment sets in `repeats`."
            raise refuse("runs", "no-replicates", f"No selected run has replicates. {others}")
        if more := {topic for each in self.sets for topic in each.topics} - set(matrices.topics):
            message = f"`judgments` lacks the topic {min(more)!r} of a set in `repeats`. Name the widest set there."
            raise refuse("repeats", "more-topics", message)
        self.topics = common_topics(matrices, params.metrics, least_runs=1)
        self.topics.require_drawable(params.resamples, "resamples")

    def parts(self) -> list[float]:
        scores = self.params.resamples * self.topics.count * len(self.sets)
        return [scores * SECONDS_A_SCORE] * len(self.params.metrics)

    def work(self, part: int) -> Arrays:
        label = self.params.metrics[part]
        # Uploaded scores are the same under every set.
        sets = self.sets[:1] if self.matrices.metric(label).is_uploaded else self.sets
        place = {topic: at for at, topic in enumerate(self.matrices.topics)}
        tables, systems = [], []
        for each in sets:
            of_set, of_rows = each.replicates(label)
            tables.append(np.full((len(of_set), len(place)), np.nan))  # a set may lack topics
            tables[-1][:, [place[topic] for topic in each.topics]] = of_set
            systems.append(of_rows)
        scores, groups = np.concatenate(tables), np.concatenate(systems)
        drawn = Draws(self.params.seed, self.name).resamples(self.params.resamples, self.topics.count)
        # The topics themselves are the first sample.
        counts = np.vstack((np.ones(self.topics.count), resample_counts(drawn, self.topics.count))).T
        components = topic_sets.replicate_components(scores[:, self.topics.defined], groups, counts)
        intervals = topic_sets.component_intervals(components[:4, 0], components[:4, 1:], self.topics.count)
        intervals[:, 0] = np.nan  # of systems: topics are not a sample of them
        return {"components": components[:, 0], "intervals": intervals.T}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        metrics = []
        for label, found in zip(self.params.metrics, findings, strict=True):
            shares = topic_sets.variance_shares(estimates := found["components"])
            variances, sources = np.maximum(estimates[:4], 0.0).tolist(), topic_sets.SOURCES
            columns: Any = (sources, variances, found["intervals"].tolist(), map(shares.get, sources))
            rows = [dict(zip(NoiseComponent.model_fields, row, strict=True)) for row in zip(*columns, strict=True)]
            mean, difference = topic_sets.replicated_widths(estimates, self.topics.count)
            metrics.append({"metric": label, "components": rows, "mean": mean, "difference": difference})
        about = {"repeats": self.params.repeats, "seed": self.params.seed, "resamples": self.params.resamples}
        return self.topics.described() | about | {"metrics": metrics}

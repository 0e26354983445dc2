"""reproduction: what a second experiment, or a later snapshot, keeps of a first one's scores and improvement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses.common import common_topics, refuse
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import MetricsParams, SetVersion, Topic
from gainboard.analyses.result_models import JobResult, Number, ResultModel, Shown, fields, table
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Table
from gainboard.notation.texts import said
from gainboard.notation.types import JsonBody
from gainboard.statistics.classical import t_levels, unpaired_t_level
from gainboard.statistics.means import reproduced_effect, score_errors, unit_of
from gainboard.store.records import VersionName

SECONDS_A_SCORE = 1e-7
LEAST_TOPICS = 2
ROLES = ("advanced", "baseline")
Scored = (
    Annotated[str, Field(min_length=1, max_length=128)]
    | Annotated[dict[Topic, float], Field(min_length=LEAST_TOPICS, max_length=10_000)]
)
"""A run by its name, or its scores by topic on another collection."""


class Experiment(JsonBody):
    """An advanced run, and the baseline over which it improves, such as the pivot of all snapshots."""

    advanced: Scored
    baseline: Scored | None = None


class ReproducedPair(JsonBody):
    """Two experiments that are compared."""

    original: Experiment | None = Field(None, description="By default the runs of `reproduced`")
    reproduced: Experiment
    same_topics: bool = Field(False, description="Whether topics of given scores are the same if their names are")


class ReproductionParams(MetricsParams):
    """An original advanced run a and its baseline b, and the reproduced ones a' and b'. Each is a run of the collection
    or, under a single metric, scores by topic from another one. With `reproduced_under`, a' and b' are scored under
    other judgments: two snapshots of a collection may have the same runs.

    The effect ratio is mean(a' - b') / mean(a - b): 1 is perfect, and 0 or less says that no improvement is left. The
    delta relative improvement is (mean a - mean b) / mean b minus the same of a' and b': 0 is perfect. Each run has its
    change, mean a' - mean a, and its share of mean a. Between snapshots, this is LongEval's change of a system, and the
    delta relative improvement is its change relative to the pivot b. `rmse` is the root of mean (a - a')^2, and `nrmse`
    its share of the largest one that scores in [0, 1] allow (Breuer et al., SIGIR 2020).

    On the same topics, scores are compared topic by topic, with the paired t-test. On others there is no error by
    topic, and the test is Student's unpaired one. `topics` may choose those that both versions judge. A small level
    says that scores differ; a large one does not say that they are alike.
    """

    pairs: Annotated[list[ReproducedPair], Field(min_length=1, max_length=100)] = Field(
        description="What is compared; `runs` follows from it",
        examples=[
            [
                {
                    "original": {"advanced": "rm3", "baseline": "bm25"},
                    "reproduced": {"advanced": "our-rm3", "baseline": "our-bm25"},
                }
            ]
        ],
    )
    reproduced_under: SetVersion | None = Field(
        None, description='The judgments of the reproduced runs, such as `{"judgments": "june"}`; by default the same'
    )

    def scored(self) -> list[Any]:
        """Return the runs and scores of all pairs."""
        sides = [side for pair in self.pairs for side in (pair.original, pair.reproduced) if side]
        return [getattr(side, role) for side in sides for role in ROLES]

    def settled(self, label: Labels) -> Self:
        """Return the same request about the runs that the pairs name."""
        runs = list(dict.fromkeys(name for name in self.scored() if isinstance(name, str)))
        return super().settled(label).model_copy(update={"runs": runs})

    def versions(self) -> dict[str, VersionName]:
        return {"reproduced_under": self.reproduced_under.named()} if self.reproduced_under else {}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        under = self.reproduced_under and SetVersion.of(versions[self.reproduced_under.named()])
        return self.model_copy(update={"reproduced_under": under})


class ReproducedRun(ResultModel):
    """What is left of one run's scores; numbers are null with fewer than two topics."""

    original: Annotated[str | None, Shown()] = Field(description="Null for given scores")
    reproduced: Annotated[str | None, Shown()] = Field(description="Null for given scores")
    topics: Annotated[tuple[int, int], Shown(("original", "reproduced"), group="topics")]
    means: Annotated[tuple[Number, Number], Shown(("original", "reproduced"), digits=4, group="mean")]
    change: Annotated[Number, Shown(digits=4)] = Field(description="The reproduced mean minus the original one")
    relative_change: Annotated[Number, Shown("share", percent=True, digits=1)]
    rmse: Annotated[Number, Shown("RMSE", digits=4)] = Field(description="Null on other topics")
    nrmse: Annotated[Number, Shown("nRMSE", digits=4)] = Field(description="Null also for scores outside [0, 1]")
    test: Annotated[Literal["paired-t", "unpaired-t"], Shown()]
    asl: Annotated[Number, Shown(digits=4, level=True)] = Field(description="Achieved significance level of the change")


class ReproducedEffect(ResultModel):
    """What is left of an improvement under a metric, and of the scores of both runs."""

    metric: Annotated[str, Shown()]
    effect_ratio: Annotated[Number, Shown("ER", digits=3)] = Field(description="Null without baseline or improvement")
    delta_relative_improvement: Annotated[Number, Shown("delta RI", digits=4)] = Field(description="Null likewise")
    runs: Annotated[
        list[ReproducedRun], Shown(("advanced", "baseline"), by=lambda runs: [run.reproduced for run in runs])
    ] = Field(description="The advanced run and, if there is one, the baseline")


class ReproductionResult(JobResult):
    """What is left of each pair, in the order of metrics and pairs."""

    kind: Literal["reproduction"]
    reproduced_set: str = Field(description="The judgment set of the reproduced runs")
    reproduced_version: int = Field(description="Its version")
    pairs: list[ReproducedEffect]

    def verdict(self) -> str:
        first, *baseline = (pair := self.pairs[0]).runs
        means = " to ".join(map(said, first.means))
        kept = f" {said(pair.effect_ratio, 0, percent=True)} of its improvement is left." if baseline else ""
        run = first.reproduced or "the advanced run"
        return f"The mean of {run} goes from {means} under {pair.metric} (ASL {said(first.asl)}).{kept}"

    def tables(self) -> Sequence[Table]:
        """Return the effects, and the scores of each run."""
        columns = fields(ReproducedEffect, "metric", "runs", "effect_ratio", "delta_relative_improvement")
        about = "What is left of improvements: effect ratio (1 is perfect) and delta relative improvement (0 is perfect)."
        scores = [(pair.metric, run) for pair in self.pairs for run in pair.runs]
        return (
            table(columns, "effects", about, [pair for pair in self.pairs if pair.runs[1:]]),
            table((METRIC, ReproducedRun), "scores", "How the scores of each run change.", scores),
        )


@enter
class Reproduction(Analysis[ReproductionParams, ReproductionResult]):
    """Effect ratios, relative improvements, errors and tests of reproduced pairs of runs."""

    name = "reproduction"
    title = "Reproduced and original"
    question = "which-runs"
    summary = "How much of its scores, and of its improvement, a run keeps in a second experiment or a later snapshot."

    def __init__(self, matrices: Matrices, params: ReproductionParams) -> None:
        super().__init__(matrices, params)
        (under,) = params.versions().values() or (matrices.qrels.named,)
        self._both = matrices, matrices.under(under)
        self._topics = [common_topics(one, params.metrics, LEAST_TOPICS, least_runs=1) for one in self._both]
        if len(params.metrics) > 1 and any(isinstance(scored, dict) for scored in params.scored()):
            message = "Given scores are of one metric, so ask for one. Ask again for each other metric."
            raise refuse("metrics", "too-many", message)

    def parts(self) -> list[float]:
        scores = self.matrices.run_count * sum(len(one.topics) for one in self._both)
        return [scores * SECONDS_A_SCORE] * len(self.params.metrics)

    def work(self, part: int) -> Arrays:
        original, reproduced = (topics.scores(self.params.metrics[part]) for topics in self._topics)
        return {"original": original, "reproduced": reproduced}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        pairs = []
        for label, found in zip(self.params.metrics, findings, strict=True):
            for pair in self.params.pairs:
                sides = [(getattr(pair.original or pair.reproduced, role), getattr(pair.reproduced, role)) for role in ROLES]
                runs = [self.compare(pair, both, label, found) for both in sides if None not in both]
                ratio, delta = reproduced_effect([run.means for run in runs])
                pairs.append(ReproducedEffect(metric=label, effect_ratio=ratio, delta_relative_improvement=delta, runs=runs))
        under = self._both[1].qrels
        return {"reproduced_set": under.judgments, "reproduced_version": under.version, "pairs": pairs}

    def compare(self, pair: ReproducedPair, both: Sequence[Any], label: str, found: Arrays) -> ReproducedRun:
        """Return what is left of a run's scores, of which each side names it or gives them."""
        named = [run.name for run in self.matrices.runs]
        # A metric that is better if lower is negated in all analyses.
        sign = -1 if self.matrices.metric(label).is_reversed else 1
        names, scores = [], []
        for scored, topics, table in zip(both, self._topics, found.values(), strict=True):
            if isinstance(scored, str):
                names.append([topics.matrices.topics[place] for place in np.flatnonzero(topics.defined)])
                scores.append(table[named.index(scored)])
            else:
                names.append(list(scored))
                scores.append(sign * np.array(list(scored.values())))
        is_given = any(isinstance(scored, dict) for scored in both)
        if is_same := pair.same_topics if is_given else self._both[0].topics == self._both[1].topics:
            _, *shared = np.intersect1d(*names, assume_unique=True, return_indices=True)
            scores = [of[places] for of, places in zip(scores, shared, strict=True)]
        return reproduced_run(...)

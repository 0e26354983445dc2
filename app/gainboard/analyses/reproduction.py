"""reproduction: what a second experiment, or a later snapshot, keeps of a first one's scores and improvement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses.common import refuse
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import MetricsParams, SetVersion
from gainboard.analyses.result_models import JobResult, Number, ResultModel, Shown, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.notation.texts import said
from gainboard.notation.types import JsonBody, Slug
from gainboard.statistics.classical import reproduced_scores
from gainboard.statistics.means import reproduced_effect
from gainboard.store.records import VersionName

SECONDS_A_SCORE = 2e-7
EFFECT = ("effect_ratio", "delta_relative_improvement")
EXAMPLE = {"original": "rm3", "baseline": "bm25", "reproduced": "our-rm3", "reproduced_baseline": "our-bm25"}


class ReproducedPair(JsonBody):
    """An original run, the baseline over which it improves, and what stands for them in the second experiment."""

    original: Slug
    baseline: Slug | None = None
    reproduced: Slug | None = Field(None, description="By default the original run")
    reproduced_baseline: Slug | None = Field(None, description="By default the baseline")


class ReproductionParams(MetricsParams):
    """An original run a that improves over a baseline b, and the reproduced a' and b'. With `reproduced_under`, these
    are scored under other judgments, such as those of a later snapshot. Another collection is a judgment set of this
    one, with runs on its topics, or its scores are uploaded, and the metric is `custom:NAME`.

    `effect_ratio` is mean(a' - b') / mean(a - b), and 1 is perfect. `delta_relative_improvement` is (mean a - mean b) /
    mean b minus the same of a' and b', and 0 is perfect. `change` is (mean a' - mean a) / mean a: LongEval's change of
    a system between snapshots, whose pivot is b. `rmse` is the root of mean (a - a')^2, and `nrmse` its share of the
    largest one in [0, 1] (Breuer et al., SIGIR 2020). If both sides have scores on the same topics, `asl` is the level
    of the paired t-test. If not, Student's test is unpaired, and there is no error; `topics` may choose what both have.
    """

    pairs: Annotated[list[ReproducedPair], Field(min_length=1, max_length=100)] = Field(
        description="What is compared; `runs` follows from it", examples=[[EXAMPLE]]
    )
    reproduced_under: SetVersion | None = Field(
        None, description='The judgments of the reproduced runs, such as `{"judgments": "june"}`; by default the same'
    )

    def sides(self) -> list[list[tuple[str, str]]]:
        """Return for each pair the original and the reproduced run, and likewise both baselines if there are any."""
        runs = [[(pair.original, pair.reproduced), (pair.baseline, pair.reproduced_baseline)] for pair in self.pairs]
        return [[(name, again or name) for name, again in sides if name] for sides in runs]

    def settled(self, label: Labels) -> Self:
        """Return the same request about the runs that the pairs name."""
        runs = dict.fromkeys(run for pair in self.sides() for sides in pair for run in sides)
        pairs = dict(zip(map(tuple, self.sides()), self.pairs, strict=True)).values()
        return super().settled(label).model_copy(update={"runs": list(runs), "pairs": list(pairs)})

    def versions(self) -> dict[str, VersionName]:
        return {"reproduced_under": self.reproduced_under.named()} if self.reproduced_under else {}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        under = self.reproduced_under and SetVersion.of(versions[self.reproduced_under.named()])
        return self.model_copy(update={"reproduced_under": under})


class ReproducedRun(ResultModel):
    """A run, and what is left of its scores and of its improvement."""

    metric: Annotated[str, Shown()]
    original: Annotated[str, Shown()]
    reproduced: Annotated[str, Shown()]
    topics: Annotated[tuple[int, int], Shown(("original", "reproduced"), group="topics")]
    means: Annotated[tuple[Number, Number], Shown(("original", "reproduced"), digits=4, group="mean")]
    change: Annotated[Number, Shown(percent=True, digits=1)] = Field(description="As a share of the original mean")
    rmse: Annotated[Number, Shown("RMSE", digits=4)] = Field(description="Null on other topics")
    nrmse: Annotated[Number, Shown("nRMSE", digits=4)] = Field(description="Null also for scores outside [0, 1]")
    asl: Annotated[Number, Shown(digits=4, level=True)] = Field(description="Achieved significance level of the change")
    effect_ratio: Annotated[Number, Shown("ER", digits=3)] = Field(description="Null for a baseline")
    delta_relative_improvement: Annotated[Number, Shown("delta RI", digits=4)]


class ReproductionResult(JobResult):
    """Each run, and what is left of it."""

    kind: Literal["reproduction"]
    reproduced_under: SetVersion = Field(description="The judgments of the reproduced runs")
    reproduced: list[ReproducedRun] = Field(description="By metric and pair: the advanced run, then its baseline")

    def verdict(self) -> str:
        run = self.reproduced[0]
        before, after = map(said, run.means)
        changes = (
            f"The mean of {run.reproduced} goes from {before} to {after} under {run.metric} (ASL {said(run.asl)})."
        )
        kept = f" {said(run.effect_ratio, 1, percent=True)} of its improvement over the baseline is left."
        return changes if run.effect_ratio is None else changes + kept

    def tables(self) -> Sequence[Table]:
        """Return what is left of each run."""
        return (table(ReproducedRun, "reproduced", "What is left of scores and improvements.", self.reproduced),)


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
        if any(pair.reproduced_baseline and not pair.baseline for pair in params.pairs):
            raise refuse("pairs", "no-baseline", "`reproduced_baseline` stands for a `baseline`, so give both.")
        known = {run.name for run in matrices.candidates}
        if absent := [name for name in params.runs if name not in known]:
            message = f"{absent[0]!r} is a replicate of a system that is named, too, or left out as identical to a run."
            raise refuse("pairs", "not-a-run", message)
        if geometric := [label for label in params.metrics if matrices.metric(label).is_geometric]:
            raise refuse("metrics", "geometric-mean", f"{geometric[0]} has a geometric mean. Choose another metric.")

    def parts(self) -> list[float]:
        return [self.matrices.run_count * len(self.matrices.topics) * SECONDS_A_SCORE] * len(self.params.metrics)

    def work(self, part: int) -> Arrays:
        original, reproduced = (one.scores(self.params.metrics[part]) for one in self._both)
        return {"original": original, "reproduced": reproduced}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        for label, found in zip(self.params.metrics, findings, strict=True):
            for sides in self.params.sides():
                of_pair = [{"metric": label} | self.compare(found, *names) for names in sides]
                if of_pair[1:]:
                    effect = reproduced_effect(*(row["means"] for row in of_pair))
                    of_pair[0] |= zip(EFFECT, effect, strict=True)
                rows += of_pair
        return {"reproduced_under": SetVersion.of(self._both[1].qrels.named), "reproduced": rows}

    def compare(self, found: Arrays, original: str, reproduced: str) -> dict[str, Any]:
        """Return what is left of one run's scores."""
        names = [run.name for run in self.matrices.runs]
        scores = found["original"][names.index(original)], found["reproduced"][names.index(reproduced)]
        defined = [np.flatnonzero(~np.isnan(of_run)) for of_run in scores]
        first, again = ([one.topics[at] for at in places] for one, places in zip(self._both, defined, strict=True))
        left = reproduced_scores(scores[0][defined[0]], scores[1][defined[1]], first == again)
        row = {"original": original, "reproduced": reproduced, "topics": (len(first), len(again))}
        return row | left | dict.fromkeys(EFFECT)

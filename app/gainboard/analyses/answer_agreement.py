"""answer-agreement: whether judges of answers, people or models, say the same of nuggets or citations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field

from gainboard.analyses import common, judged_labels
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.params import DrawCount, Expression, MetricsParams, Seed
from gainboard.analyses.result_models import JobResult, ResultModel, Shown, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.notation.texts import said_extremes
from gainboard.statistics import judging
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.trec.nuggets import IMPORTANCE

FIGURES: Final = ("agreement", "kappa", "kappa_linear", "alpha")
SECONDS_A_RUN_AND_TOPIC, SECONDS_A_COUNT = 3e-5, 3e-7


class AnswerAgreementParams(MetricsParams):
    """Judges of answers, each named by its metric: `nuggets:vital_strict` and `nuggets:vital_strict(judge=model)`. The
    others are compared with the first. Compared are the nuggets of the same answers on which both have a verdict, by
    importance; or citations, with `support:precision`. A label that is none of the known ones is no verdict.

    `kappa` is Cohen's, `kappa_linear` the same with linear weights, and `alpha` Krippendorff's for ordinal values. All
    intervals are 95 % bootstraps over topics. An undefined value is null, with the reason.
    """

    metrics: Annotated[list[Expression], Field(min_length=2, max_length=20)] = Field(
        description="Metrics of answers, one of each judge",
        examples=[["nuggets:vital_strict", "nuggets:vital_strict(judge=model)"]],
    )
    resamples: DrawCount = Field(1000, description="Number of topic resamples of the intervals")
    seed: Seed = 0


class VerdictAgreement(ResultModel):
    """A judge beside the first one, on nuggets of an importance, or on all nuggets or citations."""

    judge: Annotated[str, Shown()]
    importance: Annotated[Literal["vital", "okay", "all"], Shown()]
    verdicts: Annotated[int, Shown()] = Field(description="Nuggets of answers, or citations, on which both have one")
    confusion: list[list[int]] = Field(description="A row for each verdict of the first judge: not, partly and fully")
    agreement: Annotated[judged_labels.Estimate, judged_labels.shown_estimate("value", "agreement")]
    kappa: Annotated[judged_labels.Estimate, judged_labels.shown_estimate("value", "kappa")]
    kappa_linear: Annotated[judged_labels.Estimate, judged_labels.shown_estimate("value", "kappa (linear)")]
    alpha: Annotated[judged_labels.Estimate, judged_labels.shown_estimate("value", "alpha")]


class AnswerAgreementResult(JobResult):
    """The agreement of judges of answers with the first one."""

    kind: Literal["answer-agreement"]
    reference: str = Field(description="The metric of the first judge")
    resamples: int
    seed: int
    judges: list[VerdictAgreement]

    def verdict(self) -> str:
        kappas = {row.judge: row.kappa.value for row in self.judges if row.importance == "all"}
        return f"Beside {self.reference}, {said_extremes(kappas, 'kappa')}."

    def tables(self) -> Sequence[Table]:
        caption = (
            f"Verdicts on answers beside those of {self.reference}, on what both have judged. Intervals are over "
            f"{self.resamples} resamples of the topics."
        )
        return (table(VerdictAgreement, "judges", caption, self.judges),)


@enter
class AnswerAgreement(Analysis[AnswerAgreementParams, AnswerAgreementResult]):
    """A part for each judge, who is compared with the first one."""

    name = "answer-agreement"
    title = "Agreement of judges of answers"
    question = "judges"
    summary = "Whether people and models say the same of the nuggets that answers have, or of what answers cite."
    takes_common_runs = True

    def __init__(self, matrices: Matrices, params: AnswerAgreementParams) -> None:
        super().__init__(matrices, params)
        self.metrics = params.metrics
        for label in self.metrics:
            if not judged_labels.names_judge(label):
                message = (
                    f"{label} names no judge. Name each as nuggets:vital_strict(judge=NAME), or support:precision."
                )
                raise common.refuse("metrics", "no-judge", message)
        drawn = params.resamples * len(matrices.topics)
        common.require_at_most(common.MOST_KEPT, drawn, "draws (resamples x topics)", "resamples")

    def parts(self) -> list[float]:
        topics = len(self.matrices.topics)
        each = topics * (self.matrices.run_count * SECONDS_A_RUN_AND_TOPIC + self.params.resamples * SECONDS_A_COUNT)
        return [each] * (len(self.metrics) - 1)

    def work(self, part: int) -> Arrays:
        topics = self.matrices.topics
        tables = judged_labels.count_verdicts(self.matrices, self.metrics[0], self.metrics[part + 1])
        counts = resample_counts(
            Draws(self.params.seed, self.name).resamples(self.params.resamples, len(topics)), len(topics)
        )
        found = []
        for of_kind in tables:
            sums = np.concatenate((of_kind.sum(axis=0)[np.newaxis], judged_labels.resampled(of_kind, counts)))
            figures = (
                judging.label_agreement(sums, 1)["agreement"],
                judging.cohen_kappa(sums),
                judging.cohen_kappa(sums, "linear"),
                # Two judges of a unit coincide twice: as one and the other, and turned.
                judging.krippendorff_alpha(sums + sums.swapaxes(-2, -1), "ordinal"),
            )
            found.append([[figure[0], *judging.percentile_interval(figure[1:])] for figure in figures])
        return {"tables": tables.sum(axis=1), "figures": np.array(found)}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        judges = []
        for label, of_judge in zip(self.metrics[1:], findings, strict=True):
            for kind, importance in enumerate((*IMPORTANCE, "all")):
                confusion = of_judge["tables"][kind].astype(np.int64)
                why = judged_labels.EXPECTED if confusion.any() else "nothing is judged by both"
                row: dict[str, Any] = {"judge": label, "importance": importance, "confusion": confusion.tolist()}
                for name, values in zip(FIGURES, of_judge["figures"][kind], strict=True):
                    row[name] = judged_labels.statistic(values, why)
                judges.append(VerdictAgreement(**row, verdicts=int(confusion.sum())))
        return {
            "runs": [run.name for run in self.matrices.runs],
            "reference": self.metrics[0],
            "resamples": self.params.resamples,
            "seed": self.params.seed,
            "judges": judges,
        }

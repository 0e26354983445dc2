"""test-agreement: whether three ways to compare runs agree on the pairs that differ most clearly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import Field

from gainboard.analyses.common import refuse, topics_for_halves
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.params import DrawCount, MetricsParams, Seed
from gainboard.analyses.result_models import METRIC, Number, ResultModel, Shown, SubsetsResult, table
from gainboard.analyses.stability import Stability, StabilityParams
from gainboard.analyses.swap_rate import SwapRate, SwapRateParams
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.notation.texts import said_extremes
from gainboard.statistics import find_test
from gainboard.statistics.agreement import agreements
from gainboard.statistics.significance import SignificanceSettings

SIGN = "sign"
LEAST_RUNS = 3
"""Two runs make only one pair, and a correlation needs at least two."""


class AgreementParams(MetricsParams):
    """Kendall's tau-b between three orders of all pairs of runs, for each metric: by the ASL of the sign test on all
    topics, by the rarer outcome over topic subsets (minority rate), and by swaps over all differences (Sakai, 2005).
    """

    fuzziness: Annotated[float, Field(ge=0, le=1)] = Field(
        0.01, description="For the minority rate: relative differences below it are ties"
    )
    trials: DrawCount = Field(1000, description="Number of topic subsets, and of pairs of topic sets")
    subset_size: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Number of topics in a subset; by default half of the topics"
    )
    seed: Seed = 0


class TestTaus(ResultModel):
    """Kendall's tau-b of the pairs of runs as two of the tests order them; null if one ties all pairs."""

    sign_minority: Annotated[Number, Shown("sign / minority", digits=4)] = Field(alias="sign-minority")
    sign_swap: Annotated[Number, Shown("sign / swap", digits=4)] = Field(alias="sign-swap")
    minority_swap: Annotated[Number, Shown("minority / swap", digits=4)] = Field(alias="minority-swap")


class AgreementOfMetric(ResultModel):
    """The agreement of the tests under a metric."""

    metric: str
    kendall: TestTaus


class AgreementResult(SubsetsResult):
    """The agreement of the sign test, the minority rate and the swap rate on which differences are sure."""

    kind: Literal["test-agreement"]
    fuzziness: float = Field(description="Relative difference below which two runs are tied")
    metrics: list[AgreementOfMetric]

    def verdict(self) -> str:
        taus = {f"{name.replace('_', ' and ')} by {of.metric}": tau for of in self.metrics for name, tau in of.kendall}
        return f"As orders of the pairs of runs, {said_extremes(taus, 'tau')}."

    def tables(self) -> Sequence[Table]:
        """Return the three correlations of each metric."""
        rows = [(metric.metric, metric.kendall) for metric in self.metrics]
        caption = (
            f"Kendall's tau-b between lists of run pairs, {self.trials} trials, subsets of {self.subset_size} "
            f"topics, fuzziness {self.fuzziness:g}."
        )
        return (table((METRIC, TestTaus), "agreement", caption, rows),)


@enter
class TestAgreement(Analysis[AgreementParams, AgreementResult]):
    """Kendall's tau-b between each two of the three lists of run pairs, for each metric."""

    name = "test-agreement"
    title = "Agreement of tests"
    question = "which-metric"
    summary = "Whether sign test, minority rate and swap rate name the same pairs of runs as the clearest."
    changes = 2  # near-duplicates are named; parts have blocks of pairs

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: AgreementParams) -> None:
        super().__init__(matrices, params)
        if matrices.run_count < LEAST_RUNS:
            message = f"Selected runs: {matrices.run_count}. Lists of their pairs need at least {LEAST_RUNS} runs."
            raise refuse("runs", "too-few-runs", message)
        self.metrics = params.metrics
        self.topics = topics_for_halves(matrices, self.metrics)
        drawn = params.model_dump(include={"metrics", "trials", "subset_size", "seed"})
        # These are exactly the counts of jobs of those kinds with the same seed.
        self._swaps = SwapRate(matrices, SwapRateParams.model_construct(**drawn))
        self._minority = Stability(matrices, StabilityParams.model_construct(**drawn, fuzziness=[params.fuzziness]))
        self._ends = list(accumulate(len(member.parts()) for member in (self._swaps, self._minority)))

    def parts(self) -> list[float]:
        test = find_test(SIGN)
        sizes = (self.matrices.run_count, self.topics.count)
        sign = test.blocks(*sizes) * test.seconds_of_block(*sizes)
        return [*self._swaps.parts(), *self._minority.parts(), *([sign] * len(self.metrics))]

    def work(self, part: int) -> Arrays:
        swaps, minority = self._ends
        if part < swaps:
            return self._swaps.work(part)
        if part < minority:
            return self._minority.work(part - swaps)
        scores = self.topics.scores(self.metrics[part - minority])
        # The sign test is exact. It draws nothing and needs no seed.
        return {"asl": find_test(SIGN).decide(scores, SignificanceSettings()).asl}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        swaps, minority = self._ends
        columns = (
            self._swaps.counts(findings[:swaps]),
            self._minority.counts(findings[swaps:minority]),
            findings[minority:],
        )
        # One fuzziness was counted, so the first row of the minority counts is the only one.
        taus = [
            agreements(signs["asl"], stable.minority[0], swapped.by_pair)
            for swapped, stable, signs in zip(*columns, strict=True)
        ]
        return {
            **self.topics.described(),
            "seed": self.params.seed,
            "trials": self.params.trials,
            "subset_size": self._swaps.subset_size,
            "fuzziness": self.params.fuzziness,
            "metrics": [
                AgreementOfMetric(metric=label, kendall=TestTaus.model_validate(by_test))
                for label, by_test in zip(self.metrics, taus, strict=True)
            ],
        }

"""test-agreement: whether three ways to compare runs agree on the pairs that differ most surely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from gainboard.evaluation.analyses.agreement import Agreement
from gainboard.exhibits import Column, Figure, Table
from gainboard.statistics.correlation import AGREEMENTS
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.params import Draws, MetricsParams, Seed
from gainboard.work.result_models import Number, ResultModel, SubsetsResult


class AgreementParams(MetricsParams):
    """Kendall's tau-b between three orders of all pairs of runs, for each metric: by the ASL of the sign test on all
    topics, by the rarer outcome over topic subsets (minority rate), and by swaps over all differences (Sakai, 2005).
    """

    fuzziness: Annotated[float, Field(ge=0, le=1)] = Field(
        0.01, description="For the minority rate: relative differences below it are ties"
    )
    trials: Draws = Field(1000, description="Number of topic subsets, and of pairs of topic sets")
    subset_size: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Number of topics in a subset; by default half of the topics"
    )
    seed: Seed = 0


class TestTaus(ResultModel):
    """Kendall's tau-b of the pairs of runs as two of the tests order them; null if one ties all pairs."""

    sign_minority: Number = Field(alias="sign-minority")
    sign_swap: Number = Field(alias="sign-swap")
    minority_swap: Number = Field(alias="minority-swap")


class AgreementOfMetric(ResultModel):
    """The agreement of the tests under a metric."""

    metric: str
    kendall: TestTaus


class AgreementResult(SubsetsResult):
    """The agreement of the sign test, the minority rate and the swap rate on which differences are sure."""

    kind: Literal["test-agreement"]
    fuzziness: float = Field(description="Relative difference below which two runs are tied")
    metrics: list[AgreementOfMetric]


def tables(result: Result) -> Sequence[Table]:
    """Return the three correlations of each metric."""
    rows = [(metric["metric"], *(metric["kendall"][name] for name in AGREEMENTS)) for metric in result["metrics"]]
    columns = (Column("metric"), *(Column(name.replace("-", " / "), digits=4) for name in AGREEMENTS))
    caption = (
        f"Kendall's tau-b between lists of run pairs, {result['trials']} trials, subsets of {result['subset_size']} "
        f"topics, fuzziness {result['fuzziness']:g}."
    )
    return (Table("agreement", caption, columns, rows),)


def figures(result: Result) -> Sequence[Figure]:
    """Return no figure: three numbers per metric are a table."""
    return ()


TEST_AGREEMENT = enter(
    JobKind(
        name="test-agreement",
        changes=2,  # near-duplicates are named; parts have blocks of pairs
        params=AgreementParams,
        result=AgreementResult,
        analysis=lambda matrices, asked: Agreement(
            matrices,
            asked.metrics,
            trials=asked.trials,
            fuzziness=asked.fuzziness,
            subset_size=asked.subset_size,
            seed=asked.seed,
        ),
        tables=tables,
        figures=figures,
    )
)

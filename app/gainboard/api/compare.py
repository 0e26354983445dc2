"""`/v1/collections/{collection}/compare`: two runs topic by topic, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.compare import COMPARE_COLUMNS, CompareAnswer
from gainboard.api.problems import documented
from gainboard.api.scores import Defaults, Expressions
from gainboard.errors import BadExpression, BadGains, JudgmentsHidden, NoQrels
from gainboard.evaluation.compare import ALPHA, Comparison, MetricComparison, compare
from gainboard.evaluation.policy import is_late
from gainboard.evaluation.scoring import Question, ScoreTable
from gainboard.exhibits import csv_line
from gainboard.metrics import Names

router = APIRouter(prefix="/v1/collections/{collection}", tags=["scores"], responses=documented())


class AskedComparison(Defaults):  # type: ignore[misc, valid-type]
    """The query of a request for a comparison."""

    run: Annotated[
        list[str] | None, Field(max_length=10_000, description="The names of the two runs: `run=FIRST&run=SECOND`")
    ] = None
    metric: Expressions = Field(default_factory=list)
    qrels: Annotated[
        int | None, Field(ge=1, le=2**31 - 1, description="Number of a qrels version; the newest by default")
    ] = None
    names: Annotated[Names, Field(description="The tool whose names the expressions use")] = "gainboard"

    def question(self) -> Question:
        """Return the question about the two runs."""
        return Question(self.metric, self.run, self.given(), self.qrels, names=self.names)


class AskedFormat(AskedComparison):
    """The query of a request for a comparison in a format."""

    format: Annotated[Literal["json", "csv"] | None, Field(description="Overrides the Accept header")] = None


CSV: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with a row for each metric and topic, the largest difference first",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/compare",
    response_model=CompareAnswer,
    responses=documented(BadExpression, BadGains, JudgmentsHidden, NoQrels, also=CSV),
)
def read_comparison(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[AskedFormat, Query()],
) -> Response:
    """Compare two runs topic by topic: differences, tests, effect size, and the topics that decide (principals who may
    see scores under any parameters).
    """
    found = compare(workspace, sender, collection, asked.question())
    if asked.format == "csv" or (asked.format is None and accepts(request, "text/csv")):
        return PlainTextResponse("".join(_csv(found)), media_type="text/csv")
    return answer(show(found))


def show(found: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON."""
    scores = found.scores
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.qrels.version,
        "metrics": scores.labels(),
        "asked": scores.asked,
        "runs": list(_runs(scores)),
        "comparisons": [_show_metric(each) for each in found.metrics],
    }


def _runs(scores: ScoreTable) -> Iterator[dict[str, Any]]:
    for run, missing in zip(scores.runs, scores.topics_missing, strict=True):
        late = is_late(scores.collection, run)
        yield {"name": run.name, "team": run.team, "late": late, "topics_missing": missing}


def _show_metric(found: MetricComparison) -> dict[str, Any]:
    own = found.statistics
    return {
        "metric": found.label,
        "mean": found.means,
        "difference": own and own.difference,
        "interval": own and (own.low, own.high),
        "effect_size": own and own.effect_size,
        "tests": [each._asdict() for each in own.tests] if own else [],
        "alpha": ALPHA,
        "won": found.won,
        "lost": found.lost,
        "tied": found.tied,
        "topics": [dict(zip(("topic", "a", "b", "difference"), each, strict=True)) for each in found.topics],
        "topics_scored": len(found.topics),
        "topics_undefined": found.undefined,
        "deciding_topics": own.deciding if own else [],
    }


def _csv(found: Comparison) -> Iterator[str]:
    yield csv_line(COMPARE_COLUMNS)
    for metric in found.metrics:
        for topic, first, second, difference in metric.topics:
            yield csv_line((topic, metric.label, first, second, difference))

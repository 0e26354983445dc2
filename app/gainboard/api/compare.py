"""`/v1/collections/{collection}/compare`: two runs, or runs and baselines, topic by topic, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, SenderDep, VersionQuery, WorkspaceDep, accepts
from gainboard.api.models.collections import TOPICS_QUERY, TopicsAsked, group_of
from gainboard.api.models.scores import COMPARE_COLUMNS, CompareAnswer
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.scores import Defaults, Expressions
from gainboard.errors import BadExpression, BadGains, JudgmentsHidden, NeedsIntents, NoQrels, TooManyDearRequests
from gainboard.evaluation.access.policy import is_late
from gainboard.evaluation.boards.compare import ComparedRuns, compare
from gainboard.evaluation.scoring.requests import Question
from gainboard.exhibits import csv_line
from gainboard.metrics import Names
from gainboard.notation.types import NUMBER

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)


class CompareQuery(Defaults, VersionQuery):  # type: ignore[misc, valid-type]
    """The query of a request for a comparison."""

    run: Annotated[
        list[str] | None,
        Field(
            max_length=10_000,
            description="The names of the two runs: `run=FIRST&run=SECOND`. With baselines, the names of any number of "
            "runs; all others by default",
        ),
    ] = None
    baseline: Annotated[
        list[str],
        Field(max_length=100, description="Names of baselines: the other runs are compared with each of them"),
    ] = Field(default_factory=list)
    margin: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e9,
            description="Asks whether the runs are equivalent (TOST): the largest mean difference that does not "
            "matter, in the units of the metric, stated before the scores were seen",
            examples=[0.02],
        ),
        NUMBER,
    ] = None
    metric: Expressions = Field(default_factory=list)
    topics: Annotated[TopicsAsked | None, Field(description=TOPICS_QUERY)] = None
    names: Annotated[Names, Field(description="The tool whose names the expressions use")] = "gainboard"

    def question(self) -> Question:
        """Return the question about the runs."""
        return Question(
            self.metric, self.run, self.explicit_defaults(), self.version_name, group_of(self.topics), names=self.names
        )


class CompareFormatQuery(CompareQuery):
    """The query of a request for a comparison in a format."""

    format: Annotated[Literal["json", "csv"] | None, Field(description="Overrides the Accept header")] = None


CSV: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with a row for each metric, pair and topic, the largest difference first",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/compare",
    response_model=CompareAnswer,
    responses=documented(
        BadExpression, NeedsIntents, BadGains, JudgmentsHidden, NoQrels, TooManyDearRequests, also=CSV
    ),
)
def read_comparison(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[CompareFormatQuery, Query()],
) -> Response:
    """Compare two runs, or all runs with baselines, topic by topic: differences, tests with corrections for exactly
    these pairs, effect size, equivalence, and the topics that decide (principals who may see scores under any
    parameters).
    """
    compared = compare(workspace, sender, collection, asked.question(), asked.baseline, asked.margin)
    if asked.format == "csv" or (asked.format is None and accepts(request, "text/csv")):
        return PlainTextResponse("".join(_csv(compared)), media_type="text/csv")
    return answer(show(compared))


def show(compared: ComparedRuns) -> dict[str, Any]:
    """Return the comparison as JSON."""
    scores = compared.scores
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.qrels.version,
        "judgment_set": scores.qrels.judgments,
        "topic_group": scores.chosen and scores.chosen.described(),
        "metrics": scores.labels,
        "asked": scores.label_by_expression,
        "runs": [
            {"name": run.name, "team": run.team, "late": is_late(scores.collection, run), "topics_missing": missing}
            for run, missing in zip(scores.runs, scores.topics_missing, strict=True)
        ],
        "comparisons": [pair.as_json() for pair in compared.pairs],
    }


def _csv(compared: ComparedRuns) -> Iterator[str]:
    yield csv_line(COMPARE_COLUMNS)
    for pair in compared.pairs:
        for topic, first, second, difference in pair.topics:
            yield csv_line((topic, pair.label, first, second, difference, *pair.names))

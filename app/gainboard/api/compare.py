"""`/v1/collections/{collection}/compare`: two runs, or runs and baselines, topic by topic, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.scores import COMPARE_COLUMNS, CompareAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, question_of
from gainboard.api.routes import CheckedRoute
from gainboard.errors import BadExpression, BadGains, JudgmentsHidden, NeedsIntents, NoQrels, TooManyDearRequests
from gainboard.evaluation.boards.pair_statistics import ComparedRuns, compare
from gainboard.exhibits import csv_line
from gainboard.notation.queries import CompareQuery

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)


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
    asked: Annotated[CompareQuery, asked_by(CompareQuery)],
) -> Response:
    """Compare two runs, or all runs with baselines, topic by topic: differences, tests with corrections for exactly
    these pairs, effect size, equivalence, and the topics that decide (principals who may see scores under any
    parameters).
    """
    baselines, margin = asked.get("baseline", ()), asked.get("margin")
    compared = compare(workspace, sender, collection, question_of(asked), baselines, margin)
    if (asked.get("format") or ("csv" if accepts(request, "text/csv") else "json")) == "csv":
        return PlainTextResponse("".join(_csv(compared)), media_type="text/csv")
    return answer(show(compared))


def show(compared: ComparedRuns) -> dict[str, Any]:
    """Return the comparison as JSON."""
    scores = compared.scores
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.qrels.version,
        "judgment_set": scores.qrels.judgments,
        **scores.described_replicates(),
        "topic_group": scores.chosen and scores.chosen.described(),
        "metrics": scores.labels,
        "asked": scores.label_by_expression,
        "runs": [
            {"name": run.name, "team": run.team, "late": scores.collection.is_late(run), "topics_missing": missing}
            for run, missing in zip(scores.runs, scores.topics_missing, strict=True)
        ],
        "comparisons": [pair.as_json() for pair in compared.pairs],
    }


def _csv(compared: ComparedRuns) -> Iterator[str]:
    yield csv_line(COMPARE_COLUMNS)
    for pair in compared.pairs:
        for topic, first, second, difference in pair.topics:
            yield csv_line((topic, pair.label, first, second, difference, *pair.names))

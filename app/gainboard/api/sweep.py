"""`/v1/collections/{collection}/sweep`: mean scores over a grid of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.scores import SweepAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, parameters_of, question_of
from gainboard.api.routes import CheckedRoute
from gainboard.errors import BadExpression, BadGains, JudgmentsHidden, NeedsIntents, NoQrels, TooManyDearRequests
from gainboard.evaluation.scoring.requests import Grid, SweptScores, sweep
from gainboard.exhibits import csv_line
from gainboard.notation.queries import SweepQuery

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)

CSV: dict[int, dict[str, Any]] = {
    200: {"description": "JSON or CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}
}


@router.get(
    "/sweep",
    response_model=SweepAnswer,
    responses=documented(
        BadExpression, NeedsIntents, BadGains, JudgmentsHidden, NoQrels, TooManyDearRequests, also=CSV
    ),
)
def read_sweep(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[SweepQuery, asked_by(SweepQuery)],
) -> Response:
    """Return mean scores of runs under every combination of the given values, computed in one pass (principals who may
    see scores under any parameters). Example: `?metric=Q&gains=3:2:1&gains=10:5:1&beta=0.1&beta=1&beta=10`.
    """
    question = question_of(asked)
    values = {name: list(dict.fromkeys(values)) for name, values in parameters_of(asked).items()}
    grid = Grid(question.metrics, values, question.runs, question.qrels, question.late, question.topics)
    swept = sweep(workspace, principal, collection, grid)
    if (asked.get("format") or ("csv" if accepts(request, "text/csv") else "json")) == "csv":
        return PlainTextResponse("".join(_csv(swept)), media_type="text/csv")
    points = zip(swept.points, swept.topics_scored, strict=True)
    shown = {
        "collection": swept.collection.name,
        "qrels_version": swept.qrels.version,
        "judgment_set": swept.qrels.judgments,
        "topic_group": swept.chosen and swept.chosen.described(),
        "grid": grid.values,
        "points": [
            {"label": point.metric.label, "asked": point.asked, "parameters": point.parameters, "topics_scored": topics}
            for point, topics in points
        ],
        "runs": [
            {
                "name": run.name,
                "team": run.team,
                "late": swept.collection.is_late(run),
                "means": swept.means[:, column].tolist(),
            }
            for column, run in enumerate(swept.runs)
        ],
    }
    return answer(shown)


def _csv(swept: SweptScores) -> Iterator[str]:
    names = list(dict.fromkeys(name for point in swept.points for name in point.parameters))
    yield csv_line(("run", "metric", *names, "mean"))
    for column, run in enumerate(swept.runs):
        for row, point in enumerate(swept.points):
            values = (point.parameters.get(name) for name in names)
            yield csv_line((run.name, point.metric.label, *values, float(swept.means[row, column])))

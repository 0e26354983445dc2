"""`/v1/collections/{collection}/sweep`: mean scores over a grid of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, create_model

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, VersionQuery, WorkspaceDep, accepts
from gainboard.api.models.collections import TOPICS_QUERY, TopicsAsked, group_of
from gainboard.api.models.runs import LATE_QUERY
from gainboard.api.models.scores import SweepAnswer
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.scores import Expressions
from gainboard.errors import BadExpression, BadGains, JudgmentsHidden, NeedsIntents, NoQrels, TooManyDearRequests
from gainboard.evaluation.scoring.sweep import MOST_POINTS, Grid, SweptScores, sweep
from gainboard.exhibits import csv_line
from gainboard.metrics import query_parameters
from gainboard.vocabulary import LateShown

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)

CSV: dict[int, dict[str, Any]] = {
    200: {"description": "JSON or CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}
}


class Varied(BaseModel):
    """Values for the parameters of all metrics of one request. A metric ignores parameters that it lacks."""

    def explicit_defaults(self) -> dict[str, list[str]]:
        """Return the values that were sent, each once, as text: the metric parser checks them."""
        sent = {name: getattr(self, name) for name in query_parameters()}
        return {name: list(dict.fromkeys(values)) for name, values in sent.items() if values}


# One list for each parameter that any metric has. The catalogue is the only list of them.
Values: type[Varied] = create_model(
    "Values",
    __base__=Varied,
    **{
        name: (
            list[Annotated[str, Field(max_length=1000)]],
            Field(
                default_factory=list,
                max_length=MOST_POINTS,
                description=f"{each.description} Each is {each.limits}.",
            ),
        )
        for name, each in query_parameters().items()
    },  # type: ignore[call-overload]
)


class SweepQuery(Values, VersionQuery):  # type: ignore[misc, valid-type]
    """The query of a request for a sweep."""

    metric: Expressions = Field(default_factory=list)
    run: Annotated[
        list[str] | None,
        Field(max_length=10_000, description="Names of runs; all runs that the token may see by default"),
    ] = None
    topics: Annotated[TopicsAsked | None, Field(description=TOPICS_QUERY)] = None
    late: Annotated[LateShown, Field(description=LATE_QUERY)] = "include"
    format: Annotated[Literal["json", "csv"] | None, Field(description="Overrides the Accept header")] = None


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
    asked: Annotated[SweepQuery, Query()],
) -> Response:
    """Return mean scores of runs under every combination of the given values, computed in one pass (principals who may
    see scores under any parameters). Example: `?metric=Q&gains=3:2:1&gains=10:5:1&beta=0.1&beta=1&beta=10`.
    """
    grid = Grid(
        asked.metric, asked.explicit_defaults(), asked.run, asked.version_name, asked.late, group_of(asked.topics)
    )
    found = sweep(workspace, principal, collection, grid)
    if (asked.format or ("csv" if accepts(request, "text/csv") else "json")) == "csv":
        return PlainTextResponse("".join(_csv(found)), media_type="text/csv")
    return answer(_json(found, grid))


def _json(found: SweptScores, grid: Grid) -> dict[str, Any]:
    points = zip(found.points, found.topics_scored, strict=True)
    return {
        "collection": found.collection.name,
        "qrels_version": found.qrels.version,
        "judgment_set": found.qrels.judgments,
        "topic_group": found.chosen and found.chosen.described(),
        "grid": grid.values,
        "points": [
            {"label": each.metric.label, "asked": each.asked, "parameters": each.parameters, "topics_scored": topics}
            for each, topics in points
        ],
        "runs": [
            {
                "name": run.name,
                "team": run.team,
                "late": found.collection.is_late(run),
                "means": found.means[:, column].tolist(),
            }
            for column, run in enumerate(found.runs)
        ],
    }


def _csv(found: SweptScores) -> Iterator[str]:
    names = list(dict.fromkeys(name for each in found.points for name in each.parameters))
    yield csv_line(("run", "metric", *names, "mean"))
    for column, run in enumerate(found.runs):
        for row, each in enumerate(found.points):
            values = (each.parameters.get(name) for name in names)
            yield csv_line((run.name, each.metric.label, *values, float(found.means[row, column])))

"""`/v1/collections/{collection}/scores`: as JSON, CSV, or trec_eval's text"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, create_model

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, SenderDep, VersionQuery, WorkspaceDep, accepts
from gainboard.api.models.collections import TOPICS_QUERY, TopicsAsked, group_of
from gainboard.api.models.runs import LATE_QUERY
from gainboard.api.models.scores import ScoresAnswer
from gainboard.api.problems import documented
from gainboard.api.response_cache import note_origin
from gainboard.api.routes import PolledRoute
from gainboard.errors import (
    BadExpression,
    BadGains,
    BudgetExhausted,
    Conflict,
    InvalidRequest,
    JudgmentsHidden,
    NeedsIntents,
    NoQrels,
    NotPreset,
    TooManyDearRequests,
)
from gainboard.evaluation.access.policy import is_late
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.cache_validity import origin_of
from gainboard.evaluation.scoring.binding import scale_of
from gainboard.evaluation.scoring.requests import MOST_METRICS, MOST_SCORES, Question, StoredScores, score
from gainboard.evaluation.scoring.tied_runs import ScoredTies, score_ties
from gainboard.evaluation.scoring.ties import TiesAsked, as_json
from gainboard.metrics import Names, notes_on_names, query_parameters
from gainboard.store.database import may_take_long
from gainboard.vocabulary import LateShown

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=PolledRoute
)

MOST_SHOWN = 2_000_000
"""The most scores of single topics in one answer. As text they need ten times the memory that they need as numbers."""

ON_SCORING = (
    BadExpression,
    NeedsIntents,
    BadGains,
    JudgmentsHidden,
    NotPreset,
    BudgetExhausted,
    NoQrels,
    TooManyDearRequests,
)

Format = Literal["json", "csv", "trec_eval"]
Expressions = Annotated[
    list[str],
    Field(
        max_length=MOST_METRICS,
        description="Metric expressions; the collection's defaults if none is given",
        examples=[["nDCG@10"]],
    ),
]


class ParameterDefaults(BaseModel):
    """Defaults for the parameters of all metrics of one request. A metric ignores parameters that it lacks."""

    def explicit_defaults(self) -> dict[str, str]:
        """Return the parameters that were sent, as text: the metric parser checks them."""
        return {name: text for name in query_parameters() if (text := getattr(self, name)) is not None}


# One optional text for each parameter that any metric has. The catalogue is the only list of them.
Defaults: type[ParameterDefaults] = create_model(
    "Defaults",
    __base__=ParameterDefaults,
    **{
        name: (
            str | None,
            Field(
                None,
                max_length=1000,
                description=f"{each.description} It is {each.limits}.",
                json_schema_extra={key: each.schema[key] for key in ("enum", "examples") if key in each.schema},
            ),
        )
        for name, each in query_parameters().items()
    },  # type: ignore[call-overload]
)


class ScoringQuery(Defaults, VersionQuery):  # type: ignore[misc, valid-type]
    """The query that every request for scores shares."""

    metric: Expressions = Field(default_factory=list)
    topics: Annotated[TopicsAsked | None, Field(description=TOPICS_QUERY)] = None
    late: Annotated[LateShown, Field(description=LATE_QUERY)] = "include"
    names: Annotated[
        Names,
        Field(
            description="The tool whose names the expressions use. Each name means what that tool computes, whatever "
            "the other parameters are"
        ),
    ] = "gainboard"


class ScoresQuery(ScoringQuery):
    """The query of a request for the scores of some runs."""

    run: Annotated[
        list[str] | None,
        Field(max_length=10_000, description="Names of runs; all runs that the token may see by default"),
    ] = None
    topics: Annotated[
        TopicsAsked | None,
        Field(
            description="`all` adds the score of each topic. The name of a topic group adds the score of each of its "
            "topics, and means are over these alone"
        ),
    ] = None
    ties: Annotated[
        TiesAsked | None,
        Field(
            description="Adds scores under other orders of documents with equal retrieval scores, as JSON: `range`, "
            "the worst and the best order, or `expected`, the mean over all orders. Only principals who may see the "
            "judgments get them"
        ),
    ] = None
    format: Annotated[Format | None, Field(description="Overrides the Accept header")] = None


CSV: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON, CSV or trec_eval's text",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "text/plain": {"schema": {"type": "string"}},
        },
    }
}


@router.get(
    "/scores",
    response_model=ScoresAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ON_SCORING, Conflict, also=CSV),
)
def read_scores(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[ScoresQuery, Query()],
) -> Response:
    """Return scores of stored runs under any parameters, computed from the judged rankings."""
    per_topic, form = asked.topics is not None, asked.format or _accepted(request)
    # Scores count against a team's budget, so the request must be known to be answerable before any is counted.
    if asked.ties and form != "json":
        raise InvalidRequest.at("query.ties", "json-only", f"The format {form} has no place for ties. Ask for JSON.")
    most, one_run = MOST_SHOWN if per_topic else MOST_SCORES, form == "trec_eval"
    question = Question(
        asked.metric,
        asked.run,
        asked.explicit_defaults(),
        asked.version_name,
        group_of(asked.topics),
        per_topic=per_topic,
        most=most,
        one_run=one_run,
        # other orders of tied documents tell more of the judgments
        admit=View.require_judgments if asked.ties else View.require_scores,
        late=asked.late,
        names=asked.names,
    )
    if asked.ties:
        may_take_long()
    scores = score(workspace, sender, collection, question)
    if asked.ties:
        # Ties tell more of the judgments than scores do, so these answers are not kept for others.
        return answer(_json(scores, per_topic, score_ties(workspace, scores, asked.ties)))
    note_origin(request, origin_of(scores))
    if form == "csv":
        return PlainTextResponse("".join(scores.csv(per_topic=per_topic)), media_type="text/csv")
    if form == "trec_eval":
        tags, scale = [run.tag for run in scores.runs], scale_of(scores.collection)
        return PlainTextResponse("".join(scores.trec_eval(tags, scale, per_topic=per_topic)))
    return answer(_json(scores, per_topic))


def _accepted(request: Request) -> Format:
    if accepts(request, "text/csv"):
        return "csv"
    return "trec_eval" if accepts(request, "text/plain") else "json"


def _json(scores: StoredScores, per_topic: bool, ties: Sequence[ScoredTies] = ()) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    for column, (run, missing) in enumerate(zip(scores.runs, scores.topics_missing, strict=True)):
        shown = {"name": run.name, "team": run.team, "late": is_late(scores.collection, run), "topics_missing": missing}
        shown |= scores.run_as_json(column, per_topic=per_topic)
        if ties:
            shown["ties"] = as_json(*ties[column], scores.labels, scores.topics, per_topic)
        runs.append(shown)
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.shown_version,
        "judgment_set": scores.qrels.judgments,
        **({"topic_group": scores.chosen.described()} if scores.chosen else {}),
        "metrics": scores.labels,
        "asked": scores.label_by_expression,
        "notes": notes_on_names(scores.metrics),
        "runs": runs,
        "decimals": scores.decimals,
        "topics_scored": scores.topics_scored(),
        "topics_undefined": scores.topics_undefined(),
        "withheld": scores.withheld,
    }

"""`/v1/collections/{collection}/scores`: as JSON, CSV, or trec_eval's text; and `/sweep`, means over a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.scores import ScoresAnswer, SweepAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, parameters_of, question_of
from gainboard.api.response_cache import note_origin
from gainboard.api.routes import CheckedRoute, KeptRoute, quick_or_in_thread
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
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.runs.run_properties import ScoredTies, score_ties
from gainboard.evaluation.scoring.binding import scale_of
from gainboard.evaluation.scoring.requests import MOST_SCORES, Grid, StoredScores, SweptScores, origin_of, score, sweep
from gainboard.evaluation.scoring.ties import as_json
from gainboard.exhibits import csv_line
from gainboard.metrics import notes_on_names
from gainboard.notation.queries import ScoresQuery, SweepQuery
from gainboard.store.database import may_take_long

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=KeptRoute
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
@quick_or_in_thread
def read_scores(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    sender: SenderDep,
    asked: Annotated[ScoresQuery, asked_by(ScoresQuery)],
) -> Response:
    """Return scores of stored runs under any parameters, computed from the judged rankings."""
    ties = asked.get("ties")
    per_topic, form = asked.get("topics") is not None, asked.get("format")
    if form is None:
        form = "csv" if accepts(request, "text/csv") else "trec_eval" if accepts(request, "text/plain") else "json"
    # Scores count against a team's budget, so the request must be known to be answerable before any is counted.
    refuse_beside(form, asked)
    most, one_run = MOST_SHOWN if per_topic else MOST_SCORES, form == "trec_eval"
    question = replace(
        question_of(asked),
        per_topic=per_topic,
        most=most,
        one_run=one_run,
        # other orders of tied documents tell more of the judgments
        admit=View.require_judgments if ties else View.require_scores,
    )
    if ties:
        may_take_long()
    scores = score(workspace, sender, collection, question)
    if ties:
        # Ties tell more of the judgments than scores do, so these answers are not kept for others.
        return answer(_json(scores, per_topic, score_ties(workspace, scores, ties)))
    note_origin(request, origin_of(scores))
    if form == "csv":
        return PlainTextResponse("".join(scores.csv(per_topic=per_topic)), media_type="text/csv")
    if form == "trec_eval":
        tags, scale = [run.tag for run in scores.runs], scale_of(scores.collection)
        return PlainTextResponse("".join(scores.trec_eval(tags, scale, per_topic=per_topic)))
    return answer(_json(scores, per_topic))


def refuse_beside(form: str | None, asked: Mapping[str, Any]) -> None:
    """Raise InvalidRequest if a query asks for numbers beside scores in a form that has no place for them."""
    for name in ("ties", "bounds", "cwl"):
        if asked.get(name) and form not in (None, "json"):
            message = f"The format {form} has no place for {name}. Ask for JSON."
            raise InvalidRequest.at(f"query.{name}", "json-only", message)


def _json(scores: StoredScores, per_topic: bool, ties: Sequence[ScoredTies] = ()) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    for column, (run, missing) in enumerate(zip(scores.runs, scores.topics_missing, strict=True)):
        shown = {"name": run.name, "team": run.team, "late": scores.collection.is_late(run), "topics_missing": missing}
        shown |= scores.run_as_json(column, per_topic=per_topic)
        shown |= {"numbers": scores.beside[column]} if scores.beside else {}
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


grids = APIRouter(
    prefix="/v1/collections/{collection}", tags=["scores"], responses=documented(), route_class=CheckedRoute
)

CSV_OF_GRID: dict[int, dict[str, Any]] = {
    200: {"description": "JSON or CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}
}


@grids.get(
    "/sweep",
    response_model=SweepAnswer,
    responses=documented(
        BadExpression, NeedsIntents, BadGains, JudgmentsHidden, NoQrels, TooManyDearRequests, also=CSV_OF_GRID
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
        return PlainTextResponse("".join(_csv_of_grid(swept)), media_type="text/csv")
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


def _csv_of_grid(swept: SweptScores) -> Iterator[str]:
    names = list(dict.fromkeys(name for point in swept.points for name in point.parameters))
    yield csv_line(("run", "metric", *names, "mean"))
    for column, run in enumerate(swept.runs):
        for row, point in enumerate(swept.points):
            values = (point.parameters.get(name) for name in names)
            yield csv_line((run.name, point.metric.label, *values, float(swept.means[row, column])))

"""`/v1/collections/{collection}/scores`: as JSON, CSV, or trec_eval's text"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName, SenderDep, WorkspaceDep, accepts
from gainboard.api.models.scores import ScoresAnswer
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by, question_of
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
from gainboard.evaluation.scoring.requests import MOST_SCORES, ScoreTable, score
from gainboard.evaluation.scoring.score_texts import csv_of, trec_eval_names, trec_eval_of
from gainboard.evaluation.scoring.tied_runs import ScoredTies, score_ties
from gainboard.evaluation.scoring.ties import as_json
from gainboard.metrics import notes_on_names
from gainboard.notation.queries import ScoresQuery
from gainboard.store.database import may_take_long

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
    asked: Annotated[ScoresQuery, asked_by(ScoresQuery)],
) -> Response:
    """Return scores of stored runs under any parameters, computed from the judged rankings."""
    ties = asked.get("ties")
    per_topic, form = asked.get("topics") is not None, asked.get("format") or _accepted(request)
    # Scores count against a team's budget, so the request must be known to be answerable before any is counted.
    if ties and form != "json":
        raise InvalidRequest.at("query.ties", "json-only", f"The format {form} has no place for ties. Ask for JSON.")
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
    found = score(workspace, sender, collection, question)
    if ties:
        # Ties tell more of the judgments than scores do, so these answers are not kept for others.
        return answer(_json(found, per_topic, score_ties(workspace, found, ties)))
    note_origin(request, origin_of(found))
    if form == "csv":
        return PlainTextResponse("".join(_csv(found, per_topic)), media_type="text/csv")
    if form == "trec_eval":
        return PlainTextResponse("".join(_trec_eval(found, per_topic)))
    return answer(_json(found, per_topic))


def _accepted(request: Request) -> Literal["json", "csv", "trec_eval"]:
    if accepts(request, "text/csv"):
        return "csv"
    return "trec_eval" if accepts(request, "text/plain") else "json"


def _json(found: ScoreTable, per_topic: bool, ties: Sequence[ScoredTies] = ()) -> dict[str, Any]:
    labels = found.labels()
    means, table = found.means(), found.by_topic()
    runs: list[dict[str, Any]] = []
    for column, run in enumerate(found.runs):
        shown: dict[str, Any] = {"name": run.name, "team": run.team, "late": is_late(found.collection, run)}
        shown["topics_missing"] = found.topics_missing[column]
        shown["mean"] = dict(zip(labels, means[:, column].tolist(), strict=True))
        if per_topic:
            shown["topics"] = {
                label: dict(zip(found.topics, table[row, column].tolist(), strict=True))
                for row, label in enumerate(labels)
            }
        if ties:
            shown["ties"] = as_json(*ties[column], labels, found.topics, per_topic)
        runs.append(shown)
    return {
        "collection": found.collection.name,
        "qrels_version": found.shown_version,
        "judgment_set": found.qrels.judgments,
        **({"topic_group": found.chosen.described()} if found.chosen else {}),
        "metrics": labels,
        "asked": found.label_by_expression,
        "notes": notes_on_names(found.metrics),
        "runs": runs,
        "decimals": found.decimals,
        "topics_scored": found.topics_scored(),
        "topics_undefined": found.topics_undefined(),
        "withheld": found.withheld,
    }


def _csv(found: ScoreTable, per_topic: bool) -> Iterator[str]:
    names = [run.name for run in found.runs]
    return csv_of(names, found.labels(), found.topics, found.means(), found.by_topic() if per_topic else None)


def _trec_eval(found: ScoreTable, per_topic: bool) -> Iterator[str]:
    scale = scale_of(found.collection)
    scored = max(counts.values()) if (counts := found.topics_scored()) else None
    by_topic = found.by_topic()[:, 0] if per_topic else None
    names = trec_eval_names(found.metrics, scale)
    return trec_eval_of(found.runs[0].tag, names, found.topics, scored, found.means()[:, 0], by_topic)

"""`/v1/collections/{collection}/leaderboard`"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from app.api.answers import answer
from app.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from app.api.problems import documented
from app.api.scores import ON_SCORING, Asked
from app.evaluation.leaderboard import Leaderboard, leaderboard
from app.evaluation.scoring import Question

router = APIRouter(prefix="/v1/collections/{collection}", tags=["scores"], responses=documented())


class AskedLeaderboard(Asked):
    """What a request for a leaderboard may say."""

    by: Annotated[str | None, Field(description="The metric that ranks; the first one if none")] = None


class LeaderboardRow(BaseModel):
    """One run's place; runs with equal means share a rank, runs without a mean come last."""

    rank: int
    name: str
    team: str
    mean: dict[str, float | None]
    interval: dict[str, tuple[float, float] | None] = Field(
        description="95 %, Student's t over topics; not cut to the metric's range"
    )
    groups: list[str] | None = Field(description="Letters of runs not significantly different; null until computed")


class LeaderboardAnswer(BaseModel):
    """Runs ranked by the mean of one metric."""

    collection: str
    qrels_version: int
    by: str
    metrics: list[str]
    asked: dict[str, str]
    rows: list[LeaderboardRow]
    topics_scored: dict[str, int]


@router.get("/leaderboard", response_model=LeaderboardAnswer, responses=documented(*ON_SCORING))
def read_leaderboard(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[AskedLeaderboard, Query()],
) -> Response:
    """All runs ranked by their mean under one metric, with those under others beside it."""
    question = Question(asked.metric, None, asked.given(), asked.qrels)
    return answer(_json(leaderboard(workspace, principal, collection, question, asked.by)))


def _json(found: Leaderboard) -> dict[str, object]:
    scores = found.scores
    labels = scores.labels()
    return {
        "collection": scores.collection.name,
        "qrels_version": scores.qrels.version,
        "by": found.by,
        "metrics": labels,
        "asked": scores.asked,
        "rows": [
            {
                "rank": row.rank,
                "name": row.run.name,
                "team": row.run.team,
                "mean": dict(zip(labels, row.means, strict=True)),
                "interval": dict(zip(labels, row.intervals, strict=True)),
                "groups": None,
            }
            for row in found.rows
        ],
        "topics_scored": scores.topics_scored(),
    }

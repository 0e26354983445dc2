"""`/v1/collections/{collection}/leaderboard`"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from app.api.answers import answer, place
from app.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from app.api.problems import documented
from app.api.scores import ON_SCORING, Asked
from app.evaluation.leaderboard import Leaderboard, leaderboard
from app.evaluation.scoring import Question
from app.jobs.groups import GroupsJob, groups_job
from app.store.records import JobState

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
    groups: list[str] | None = Field(
        description="Letters: runs that share one do not differ significantly. Null until `groups_job` has succeeded"
    )


class ShownGroupsJob(BaseModel):
    """The job of the groups: POST its `kind` and `params` to have it. Its `state` is null if nobody has."""

    kind: str
    params: dict[str, Any]
    id: str
    state: JobState | None
    url: str = Field(description="Where the job is once it has been asked for")


class LeaderboardAnswer(BaseModel):
    """Runs ranked by the mean of one metric."""

    collection: str
    qrels_version: int
    by: str
    metrics: list[str]
    asked: dict[str, str]
    rows: list[LeaderboardRow]
    topics_scored: dict[str, int] | None = Field(description="Null while the judgments are hidden")
    withheld: dict[str, str] = Field(description="Runs that get no score while the judgments are hidden, and why")
    groups_job: ShownGroupsJob | None = Field(
        description="Randomised Tukey HSD, 5000 permutations, alpha 0.05; null where there is nothing to compare"
    )


@router.get("/leaderboard", response_model=LeaderboardAnswer, responses=documented(*ON_SCORING))
def read_leaderboard(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[AskedLeaderboard, Query()],
) -> Response:
    """All runs ranked by their mean under one metric, with those under others beside it."""
    question = Question(asked.metric, None, asked.given(), asked.qrels)
    found = leaderboard(workspace, principal, collection, question, asked.by)
    return answer(_json(request, found, groups_job(workspace, found)))


def _json(request: Request, found: Leaderboard, grouping: GroupsJob | None) -> dict[str, object]:
    scores = found.scores
    labels = scores.labels()
    groups = (grouping and grouping.groups) or {}
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
                "groups": groups.get(row.run.name),
            }
            for row in found.rows
        ],
        "topics_scored": scores.topics_scored(),
        "withheld": scores.withheld,
        "groups_job": grouping and _show(request, grouping),
    }


def _show(request: Request, grouping: GroupsJob) -> ShownGroupsJob:
    url = place(request, f"/v1/jobs/{grouping.id}")
    return ShownGroupsJob(
        kind=grouping.kind, params=dict(grouping.params), id=grouping.id, state=grouping.state, url=url
    )

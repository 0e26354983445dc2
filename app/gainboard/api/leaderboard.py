"""`/v1/collections/{collection}/leaderboard`"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from pydantic_core import to_json

from gainboard.api.answers import address
from gainboard.api.dependencies import CollectionName, IdentifiedDep, WorkspaceDep
from gainboard.api.kept import note_origin
from gainboard.api.models.leaderboard import LeaderboardAnswer, ShownGroupsJob
from gainboard.api.pieces import Piece, Pieced, piece
from gainboard.api.problems import documented
from gainboard.api.scores import ON_SCORING, Asked
from gainboard.evaluation.leaderboard import RankedRuns, Row, leaderboard
from gainboard.evaluation.origins import origin_of
from gainboard.evaluation.scoring import Question, under
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.work.groups import GroupsJob, groups_job

ROWS: Cache[tuple[int, int, bytes], Piece] = Cache(32 << 20, lambda row: sum(map(len, row)) + 1024)
"""What is said of a run but for its place, by the ids of the qrels version and the run, and the metrics: some 5,000
under 43 metrics.
"""
router = APIRouter(prefix="/v1/collections/{collection}", tags=["scores"], responses=documented())


class AskedLeaderboard(Asked):
    """What a request for a leaderboard may say."""

    by: Annotated[str | None, Field(description="The metric that ranks; the first one if none")] = None


@router.get("/leaderboard", response_model=LeaderboardAnswer, responses=documented(*ON_SCORING))
def read_leaderboard(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    identified: IdentifiedDep,
    asked: Annotated[AskedLeaderboard, Query()],
) -> Response:
    """All runs ranked by their mean under one metric, with those under others beside it."""
    question = Question(asked.metric, None, asked.given(), asked.qrels)
    found = leaderboard(workspace, identified(), collection, question, asked.by)
    grouping = groups_job(workspace, found)
    note_origin(request, origin_of(found.scores, *((grouping.id, grouping.state) if grouping else ())))
    return Pieced(list(_json(request, workspace, found, grouping)))


def _json(request: Request, workspace: Workspace, found: RankedRuns, grouping: GroupsJob | None) -> Iterator[Piece]:
    scores = found.scores
    groups = (grouping and grouping.groups) or {}
    before = {
        "collection": scores.collection.name,
        "qrels_version": scores.qrels.version,
        "by": found.by,
        "metrics": scores.labels(),
        "asked": scores.asked,
    }
    after = {
        "topics_scored": scores.topics_scored(),
        "withheld": scores.withheld,
        "groups_job": grouping and _show(request, grouping),
    }
    between = b'%b,"rows":[' % to_json(before)[:-1]
    for row, said in _rows(workspace, found):
        yield piece(b'%b{"rank":%d,' % (between, row.rank))
        yield said
        between = b',"groups":%b},' % to_json(groups.get(row.run.name))
    yield piece(b"%b],%b" % (between.removesuffix(b","), to_json(after)[1:]))


def _rows(workspace: Workspace, found: RankedRuns) -> Iterator[tuple[Row, Piece]]:
    """Each row, and what is said of its run: nearly all of the answer, and the same wherever others place the run."""
    scores, labels = found.scores, found.scores.labels()
    metrics = under(labels)
    for row in found.rows:
        if scores.disclosure is not None:
            yield row, _row(found, labels, row)
        else:
            key = (scores.qrels.id, row.run.id, metrics)
            yield row, ROWS.of(workspace).get(key, partial(_row, found, labels, row))


def _row(found: RankedRuns, labels: Sequence[str], row: Row) -> Piece:
    """Members of a JSON object."""
    said = {
        "name": row.run.name,
        "team": row.run.team,
        "mean": dict(zip(labels, found.means_of(row), strict=True)),
        "interval": dict(zip(labels, found.intervals_of(row), strict=True)),
    }
    return piece(to_json(said, inf_nan_mode="null")[1:-1])


def _show(request: Request, grouping: GroupsJob) -> ShownGroupsJob:
    url = address(request, f"/v1/jobs/{grouping.id}")
    return ShownGroupsJob(
        kind=grouping.kind,
        params=dict(grouping.params),
        id=grouping.id,
        state=grouping.state,
        outdated=grouping.outdated,
        url=url,
    )

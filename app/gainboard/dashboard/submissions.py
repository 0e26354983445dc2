"""`/c/{collection}/submissions`: runs as they arrive, what a team has left, and the upload of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.runs import RunName, RunUploadQuery, in_slot, submit_run
from gainboard.api.uploads import ReadersDep
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import FormDep, UploaderDep, VisitorDep
from gainboard.errors import Refused
from gainboard.evaluation import runs, score_budget
from gainboard.evaluation.runs import RunDetails, SeenRun
from gainboard.evaluation.teams import list_teams, runs_left
from gainboard.evaluation.visibility import require_participation

router = pages()
MOST = 2000
FORMATS = "TREC's format: topic, Q0, document, rank, score, run tag; plain, gzip or zstd"


@dataclass(frozen=True)
class TeamRuns:
    """A team with its runs, the last one first, and how many it may still send (None without a quota)."""

    name: str
    runs: Sequence[SeenRun]
    left: int | None


@router.get("/c/{collection}/submissions")
def show_submissions(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, visitor: VisitorDep, sent: str | None = None
) -> Response:
    """Show the runs that this visitor may see, by team, and the place to upload one."""
    place = enter(workspace, visitor, collection)
    require_participation(place.view)
    principal = place.view.principal
    found = runs.list_runs(workspace, principal, collection, None, MOST)
    mine = [each for each in found if place.view.own_team in (None, each.run.team_id)]
    _, listed = list_teams(workspace, principal, collection, None, MOST)
    teams = [team for team in listed if place.view.own_team in (None, team.id)]
    left = runs_left(workspace, principal, collection, teams)
    return page(
        request,
        visitor,
        "submissions.html",
        PageLook(f"Submissions to {place.title}", place, "Submissions"),
        teams=[_of_team(team.name, mine, left[team.id]) for team in teams],
        count=len(mine),
        most=MOST,
        allowance=score_budget.allowance_of(workspace, principal),
        closed=_why_closed(workspace, visitor, collection),
        formats=FORMATS,
        sent=sent,
    )


def _of_team(name: str, found: Sequence[SeenRun], left: int | None) -> TeamRuns:
    own = [each for each in found if each.run.team == name]
    return TeamRuns(name, sorted(own, key=lambda each: each.run.created_at, reverse=True), left)


def _why_closed(workspace: WorkspaceDep, visitor: VisitorDep, collection: str) -> str | None:
    """Return why no file is accepted now, if that is so."""
    try:
        runs.admit(workspace, visitor.principal, collection, None, team_may_follow=True)
    except Refused as refusal:
        return refusal.message
    return None


@router.post("/c/{collection}/runs")
async def submit(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: UploaderDep,
    readers: ReadersDep,
    asked: Annotated[RunUploadQuery, Query()],
) -> Response:
    """Submit a run, as the API does."""
    return await submit_run(collection, request, workspace, visitor.principal, readers, asked)


@router.post("/c/{collection}/check")
async def check(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: UploaderDep,
    readers: ReadersDep,
    asked: Annotated[RunUploadQuery, Query()],
) -> Response:
    """Check a run file, and store nothing. Problems are the same as those of an upload."""
    principal = visitor.principal
    async with (
        readers.reading(principal),
        in_slot(workspace, principal, collection),
        uploads.received(request, workspace.limits.compressed_bytes, asked) as sent,
    ):
        details = RunDetails(**asked.model_dump())
        return answer(asdict(await run_in_threadpool(runs.check, workspace, principal, collection, sent.body, details)))


@router.post("/c/{collection}/runs/{run}/withdraw")
def withdraw(
    collection: CollectionName,
    run: RunName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
) -> Response:
    """Withdraw a run, and show the others."""
    runs.withdraw(workspace, visitor.principal, collection, run)
    return RedirectResponse(address(request, f"/c/{collection}/submissions"), 303)

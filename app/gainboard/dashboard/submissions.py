"""`/c/{collection}/submissions`: runs as they arrive, what a team has left, and the upload of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api import uploads
from gainboard.api.answers import answer
from gainboard.api.dependencies import CollectionName
from gainboard.api.queries import asked_by
from gainboard.api.runs import RunName, in_slot
from gainboard.api.uploads import ReadersDep
from gainboard.dashboard.places import Place, PlaceDep
from gainboard.dashboard.rendering import lead_to, page_of, pages
from gainboard.dashboard.sessions import FormDep, UploaderDep, VisitorDep
from gainboard.errors import NoQrels, Refused
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.access.score_news import shown_scores_changed_at
from gainboard.evaluation.access.teams import list_teams, runs_left
from gainboard.evaluation.access.visibility import require_participation
from gainboard.evaluation.boards.leaderboard import leaderboard
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.runs import RunDetails, SeenRun
from gainboard.evaluation.scoring.requests import Question
from gainboard.notation.queries import RunUploadQuery
from gainboard.vocabulary import OFFICIAL

router = pages()
MOST = 2000
FEW = 10
"""The runs of each team that organisers see at first, the newest."""
FORMATS = "TREC's format: topic, Q0, document, rank, score, run tag; plain, gzip or zstd"


@dataclass(frozen=True)
class TeamRuns:
    """A team with its runs, the last one first, and how many it may still send (None without a quota)."""

    name: str
    runs: Sequence[SeenRun]
    left: int | None


@router.get("/c/{collection}/submissions")
def show_submissions(place: PlaceDep, team: str | None = None) -> Response:
    """Show the runs that this visitor may see, by team, and the place to upload one."""
    require_participation(place.view)
    workspace, principal, collection = place.workspace, place.principal, place.name
    own_team = place.view.own_team
    seen = runs.list_runs(workspace, principal, collection, None, MOST)
    shown = [each for each in seen if own_team in (None, each.run.team_id)]
    shown.sort(key=lambda each: each.run.created_at, reverse=True)
    _, every_team = list_teams(workspace, principal, collection, None, MOST)
    teams = [each for each in every_team if own_team in (None, each.id)]
    left = runs_left(workspace, place.view, teams)
    closed = None
    try:
        # Organisers name the team in the form, which comes with the file.
        runs.admit(workspace, principal, collection, None, team_may_follow=True)
    except Refused as refusal:
        closed = refusal.message
    return page_of(
        place,
        "submissions.html",
        f"Submissions to {place.title}",
        "Submissions",
        teams=[
            TeamRuns(each.name, [run for run in shown if run.run.team == each.name], left[each.id]) for each in teams
        ],
        few=FEW if place.view.organises else MOST,
        shown_whole=team,
        count=len(shown),
        most=MOST,
        allowance=score_budget.allowance_of(workspace, principal),
        closed=closed,
        formats=FORMATS,
        may_withdraw=runs.may_withdraw(place.view, place.now),
        news=_judgment_news(place),
        scores_changed_at=_scores_changed_at(place),
    )


def _judgment_news(place: Place) -> dict[str, Any] | None:
    """Return the version of the judgments in use and the one that it replaced; None unless it replaced one.

    None also for whoever may not see the judgments.
    """
    if not place.view.sees_judgments:
        return None
    versions = qrels.list_versions(place.workspace, place.principal, place.name, OFFICIAL, None, MOST)
    published = sorted(
        (each.qrels for each in versions if each.qrels.published_at is not None),
        key=lambda version: version.published_at or version.created_at,
    )
    return {"now": published[-1], "before": published[-2]} if len(published) > 1 else None


def _scores_changed_at(place: Place) -> datetime | None:
    """Return when new judgments changed the scores that a team sees under the presets while they are hidden."""
    if place.view.own_team is None or place.view.sees_free_scores or not place.view.policy.presets:
        return None
    try:
        board = leaderboard(place.workspace, place.sender, place.name, Question(), None)
        return shown_scores_changed_at(place.workspace, board)
    except (NoQrels, Refused):
        return None


@router.post("/c/{collection}/check")
async def check(
    visitor: UploaderDep,
    place: PlaceDep,
    readers: ReadersDep,
    asked: Annotated[RunUploadQuery, asked_by(RunUploadQuery)],
) -> Response:
    """Check a run file, and store nothing. Problems are the same as those of an upload."""
    workspace, principal = place.workspace, place.principal
    async with (
        readers.reading(principal),
        in_slot(workspace, place.view),
        uploads.received(visitor.request, workspace.limits.compressed_bytes, RunUploadQuery, asked) as sent,
    ):
        details = RunDetails(**sent.query)
        checked = await run_in_threadpool(runs.check, workspace, principal, place.name, sent.body, details)
    return answer(asdict(checked))


@router.post("/c/{collection}/runs/{run}/withdraw")
def withdraw(collection: CollectionName, run: RunName, visitor: VisitorDep, form: FormDep) -> Response:
    """Withdraw a run, and show the others."""
    runs.withdraw(visitor.workspace, visitor.principal, collection, run)
    return lead_to(visitor.request, f"/c/{collection}/submissions")

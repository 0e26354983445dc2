"""`/v1/collections/{collection}/teams`"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response

from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import KeyedDep
from gainboard.api.models.admin import NewTeam, TeamAnswer
from gainboard.api.models.common import Page
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.errors import Conflict, Forbidden, KeyInUse, KeyReused, TeamExists, UnsupportedMediaType
from gainboard.evaluation.access import teams
from gainboard.evaluation.access.visibility import require_organiser
from gainboard.store.records import CountedTeam

router = APIRouter(
    prefix="/v1/collections/{collection}/teams", tags=["teams"], responses=documented(), route_class=CheckedRoute
)


def _show(team: CountedTeam, organises: bool) -> TeamAnswer:
    tokens = team.tokens if organises else None
    return TeamAnswer(name=team.name, created_at=team.created_at, runs=team.runs, tokens=tokens)


@router.post(
    "",
    status_code=201,
    response_model=TeamAnswer,
    responses=documented(Forbidden, TeamExists, UnsupportedMediaType, KeyReused, KeyInUse),
)
def create_team(collection: CollectionName, sent: NewTeam, keyed: KeyedDep) -> Response:
    """Create a team (organisers)."""

    def act() -> Response:
        made = teams.create(keyed.workspace, keyed.principal, collection, sent.name)
        location = address(keyed.request, f"/v1/collections/{collection}/teams/{made.name}")
        return answer(_show(made, organises=True), 201, Location=location)

    return keyed.answer_once(act, permit=partial(require_organiser, keyed.workspace, keyed.principal, collection))


@router.get("")
def list_teams(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[TeamAnswer]:
    """List the teams whose runs this token may see, by name."""
    view, members = teams.list_teams(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(members, lambda each: each.name, lambda each: _show(each, view.organises))


@router.delete("/{team}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict))
def delete_team(
    collection: CollectionName,
    team: Annotated[str, Path(description="The team's name")],
    workspace: WorkspaceDep,
    principal: PrincipalDep,
) -> None:
    """Delete a team that has sent no run, with its tokens and invitations (organisers)."""
    teams.delete(workspace, principal, collection, team)


@router.get("/{team}")
def read_team(
    collection: CollectionName,
    team: Annotated[str, Path(description="The team's name")],
    workspace: WorkspaceDep,
    principal: PrincipalDep,
) -> TeamAnswer:
    """Return one team (principals who may see its runs)."""
    view, record = teams.find_team(workspace, principal, collection, team)
    return _show(record, view.organises)

"""`/c/{collection}/teams`: the teams, invitations by link, and the tokens of each, for organisers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request, Response
from pydantic import ValidationError

from gainboard.api.answers import NEVER, server_address
from gainboard.api.dependencies import CollectionName
from gainboard.api.models.admin import NewToken
from gainboard.api.tokens import TokenId
from gainboard.dashboard.rendering import lead_to, page_of, pages
from gainboard.dashboard.schema_forms import told_by
from gainboard.dashboard.sessions import FormDep, Place, PlaceDep, VisitorDep, enter, forget_once, show_once, shown_once
from gainboard.errors import InvalidRequest
from gainboard.evaluation.access import invitations, tokens
from gainboard.evaluation.access.teams import delete, list_teams, runs_left
from gainboard.evaluation.runs import runs
from gainboard.exhibits import csv_line
from gainboard.store.records import CountedTeam, Token

router = pages()
MOST = 1000
MOST_RUNS = 10_000


@dataclass(frozen=True)
class ShownInvitation:
    """An open invitation, and its link if this session has made it."""

    record: Token
    link: str | None


@dataclass(frozen=True)
class ShownTeam:
    """A team with its valid tokens, its open invitation, the time of its last run, and how many it may still send."""

    counted: CountedTeam
    tokens: Sequence[Token]
    invitation: ShownInvitation | None
    last: datetime | None
    left: int | None


@router.get("/c/{collection}/teams")
def show_teams(place: PlaceDep) -> Response:
    """Show the teams, with the form to invite some."""
    place.view.require_organiser()
    return _show_page(place)


def _show_page(place: Place, wanted: str = "", fault: str = "") -> Response:
    request = place.request
    workspace, principal, name = place.workspace, place.principal, place.name
    _, counted = list_teams(workspace, principal, name, None, MOST)
    left = runs_left(workspace, place.view, counted)
    last: dict[str, datetime] = {}
    for seen in runs.list_runs(workspace, principal, name, None, MOST_RUNS):
        last[seen.run.team] = max(seen.run.created_at, last.get(seen.run.team, seen.run.created_at))
    every = tokens.list_tokens(workspace, principal, name, None, MOST_RUNS)
    valid = [token for token in every if token.is_live(place.now) and not token.is_invitation]
    invitations_shown = _list_invitations(place)
    invited = {invitation.record.team: invitation for invitation in invitations_shown if invitation.record.team}
    teams = [
        ShownTeam(
            team,
            [token for token in valid if token.team == team.name],
            invited.get(team.name),
            last.get(team.name),
            left[team.id],
        )
        for team in counted
    ]
    answer = page_of(
        place,
        "teams.html",
        f"Teams of {place.title}",
        "Teams",
        status=422 if fault else 200,
        teams=teams,
        organisers=[invitation for invitation in invitations_shown if invitation.record.team is None],
        wanted=wanted,
        fault=fault,
        secret=shown_once(request),
        most=MOST,
    )
    forget_once(request, answer)
    return answer


def _list_invitations(place: Place) -> list[ShownInvitation]:
    # A code is stored as its hash alone, so only the session that made an invitation can show its link.
    assert place.visitor.session is not None, "only organisers come here"
    return [
        ShownInvitation(record, f"{server_address(place.request)}/join#{code}" if code else None)
        for record, code in invitations.list_invitations(place.workspace, place.visitor.session, place.name)
    ]


@router.get("/c/{collection}/teams/invitations.csv")
def read_invitations(place: PlaceDep) -> Response:
    """Return the links of open invitations as CSV, those that this session has made."""
    place.view.require_organiser()
    lines = [csv_line(["team", "link", "until"])]
    for invitation in _list_invitations(place):
        if invitation.link and invitation.record.team:
            until = f"{invitation.record.expires_at:%Y-%m-%dT%H:%MZ}"
            lines.append(csv_line([invitation.record.team, invitation.link, until]))
    return Response("".join(lines), headers={"cache-control": NEVER}, media_type="text/csv")


@router.post("/c/{collection}/teams")
def invite(collection: CollectionName, visitor: VisitorDep, form: FormDep) -> Response:
    """Invite the teams of a list, one in each line."""
    wanted = form.get("teams")
    # A space does not part names: "Golf Team" is a mistake, and not two teams.
    names = [line.strip() for line in wanted.replace(",", "\n").splitlines() if line.strip()]
    assert visitor.session is not None, "a form belongs to a session"
    try:
        invitations.invite(visitor.workspace, visitor.session, collection, names)
    except InvalidRequest as error:
        return _show_page(enter(visitor, collection), wanted, f"Nobody was invited. {error.message}")
    return _lead_back(visitor.request, collection)


@router.post("/c/{collection}/teams/organisers")
def invite_organiser(place: PlaceDep, visitor: VisitorDep, form: FormDep) -> Response:
    """Invite a person to organise the collection, too."""
    assert visitor.session is not None, "a form belongs to a session"
    try:
        sent = NewToken.model_validate({"role": "organiser", "holder": form.get("holder")})
        invitations.invite_organiser(visitor.workspace, visitor.session, place.name, sent.holder or "")
    except (ValidationError, InvalidRequest) as error:
        return _show_page(place, fault=f"Nobody was invited. {told_by(error)}")
    return _lead_back(place.request, place.name)


def _lead_back(request: Request, collection: str) -> Response:
    return lead_to(request, f"/c/{collection}/teams")


@router.post("/c/{collection}/teams/{team}/delete")
def remove(collection: CollectionName, team: str, visitor: VisitorDep, form: FormDep) -> Response:
    """Delete a team that has sent no run."""
    delete(visitor.workspace, visitor.principal, collection, team)
    return _lead_back(visitor.request, collection)


@router.post("/c/{collection}/teams/{token}/rotate")
def rotate(collection: CollectionName, token: TokenId, visitor: VisitorDep, form: FormDep) -> Response:
    """Give a team's token a new secret, and show it this once."""
    issued = tokens.rotate(visitor.workspace, visitor.principal, collection, token)
    answer = _lead_back(visitor.request, collection)
    show_once(visitor.request, answer, issued.token)
    return answer

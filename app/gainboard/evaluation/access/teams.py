"""Teams of a collection: created by its organisers, or by the first run or token for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gainboard.errors import Conflict, NotFound, TeamExists
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, changing, open_collection
from gainboard.evaluation.runs import upload_quota
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug
from gainboard.store import teams
from gainboard.store.database import Transaction
from gainboard.store.records import CountedTeam, TeamRecord


def ensure(tx: Transaction, view: View, name: str, now: datetime) -> TeamRecord:
    """Return the team of this name, created if it is missing. The caller has locked the collection."""
    if team := teams.find(tx, view.collection.id, name):
        return team
    audit.record(tx, view.principal, "team-created", name, view.collection)
    return teams.create(tx, view.collection.id, name, now)


def create(workspace: Workspace, principal: Principal, name: str, team: str) -> CountedTeam:
    """Create a team, for the collection's organisers. Raise TeamExists."""
    now = workspace.now()
    with changing(workspace, principal, name) as (tx, view):
        if teams.find(tx, view.collection.id, team):
            raise TeamExists(f"{name!r} already has a team {team!r}. Choose another name.")
        record = ensure(tx, view, team, now)
    return CountedTeam(record.id, record.name, record.created_at, runs=0, tokens=0)


def delete(workspace: Workspace, principal: Principal, name: str, team: str) -> None:
    """Delete a team that was created by mistake, with its tokens and invitations, for the collection's organisers.

    Raise NotFound if there is none, and Conflict if it has sent a run: names of runs and teams stay as they were known.
    """
    now = workspace.now()
    with changing(workspace, principal, name) as (tx, view):
        record = teams.find(tx, view.collection.id, team) if is_slug(team) else None
        if record is None:
            raise NotFound(f"There is no team {team!r} here.")
        if teams.has_uploads(tx, record.id):
            raise Conflict(f"The team {team!r} has sent runs, so it stays. Withdraw its runs, and revoke its tokens.")
        teams.delete_unused(tx, record.id, now)
        audit.record(tx, view.principal, "team-deleted", team, view.collection)


def list_teams(
    workspace: Workspace, principal: Principal, name: str, after: str | None, limit: int
) -> tuple[View, list[CountedTeam]]:
    """Return the teams whose runs this principal sees, by name, and its view of the collection."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        now, here = workspace.now(), view.collection.id
        return view, teams.page(tx, now, collection_id=here, team_id=view.only_team, after=after, limit=limit)


def runs_left(workspace: Workspace, view: View, counted: Sequence[CountedTeam]) -> dict[int, int | None]:
    """Return the number of runs that each of these teams may still send, by id; None without a quota."""
    with workspace.database.reading() as tx:
        return upload_quota.runs_left(tx, view, [team.id for team in counted], workspace.now())


def find_team(workspace: Workspace, principal: Principal, name: str, team: str) -> tuple[View, CountedTeam]:
    """Return one team and the view. Raise NotFound both if it is absent and if the principal may not see it."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        here, record = view.collection.id, teams.find(tx, view.collection.id, team) if is_slug(team) else None
        if record is None or view.only_team not in (None, record.id):
            raise NotFound(f"There is no team {team!r} here, or this token may not see it.")
        (counted,) = teams.page(tx, workspace.now(), collection_id=here, team_id=record.id, after=None, limit=1)
        return view, counted

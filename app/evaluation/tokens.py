"""Tokens of a collection: made, listed and revoked by its organisers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.errors import InvalidRequest, NotFound, TeamRequired
from app.evaluation.names import is_slug
from app.evaluation.principals import Principal, new_token
from app.evaluation.visibility import open_collection, open_locked
from app.evaluation.workspace import Workspace
from app.store import teams, tokens
from app.store.records import Role, Token


@dataclass(frozen=True)
class NewToken:
    """A token's record, and the token itself, which is known to nobody else and shown this once."""

    record: Token
    token: str


def create(
    workspace: Workspace,
    principal: Principal,
    name: str,
    role: Role,
    team: str | None,
    expires_at: datetime | None,
) -> NewToken:
    """A token for the collection. A participant's belongs to a team, which is made where there is none."""
    now = workspace.now()
    _check(role, team, expires_at, now)
    token = new_token()
    with workspace.database.writing() as tx:
        view = open_locked(tx, principal, name)
        view.require_organiser()
        owner = teams.find_or_create(tx, view.collection.id, team, now) if team else None
        place, team_id = view.collection.id, owner.id if owner else None
        record = tokens.create(tx, token, now, role=role, collection_id=place, team_id=team_id, expires_at=expires_at)
    return NewToken(record, token)


def _check(role: Role, team: str | None, expires_at: datetime | None, now: datetime) -> None:
    if role == "participant" and team is None:
        raise TeamRequired("A participant's token belongs to a team: give `team`.")
    if role != "participant" and team is not None:
        raise InvalidRequest.at("body.team", "unexpected", f"Only a participant's token has a team, no {role}'s.")
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest.at("body.expires_at", "past", f"The token would have expired at {expires_at.isoformat()}.")


def listed(workspace: Workspace, principal: Principal, name: str, after: str | None, limit: int) -> list[Token]:
    """The collection's tokens, revoked ones too."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        return tokens.page(tx, view.collection.id, after=after, limit=limit)


def revoke(workspace: Workspace, principal: Principal, name: str, identity: str) -> None:
    """Ends a token of the collection; raises NotFound where it has none of this id."""
    with workspace.database.writing() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        if not is_slug(identity) or tokens.find_by_id(tx, view.collection.id, identity) is None:
            raise NotFound(f"{name!r} has no token {identity!r}.")
        tokens.revoke(tx, identity, workspace.now())

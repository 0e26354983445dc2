"""Tokens of a collection: created, listed, rotated and revoked by its organisers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gainboard.errors import Conflict, InvalidRequest, NotFound, TeamRequired
from gainboard.evaluation import audit
from gainboard.evaluation.access import teams
from gainboard.evaluation.access.invitations import end_invitations_by
from gainboard.evaluation.access.principals import Principal, new_token
from gainboard.evaluation.access.visibility import View, changing, open_collection, open_locked, organising
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug
from gainboard.store import tokens
from gainboard.store.database import Transaction
from gainboard.store.records import Token
from gainboard.vocabulary import Action, Role


@dataclass(frozen=True)
class IssuedToken:
    """A token's record, and the token itself. Nobody else knows the token, and it is shown only once."""

    record: Token
    token: str


@dataclass(frozen=True)
class Wish:
    """The wish for a token. `holder` is the organisers' note on its holder, which only they see."""

    role: Role
    team: str | None = None
    holder: str | None = None
    expires_at: datetime | None = None

    def check(self, now: datetime) -> None:
        """Raise TeamRequired, or InvalidRequest with the wrong location."""
        if self.role == "participant" and self.team is None:
            raise TeamRequired('A participant\'s token belongs to a team. Give the team, for example "team": "lemur".')
        if self.role != "participant" and self.team is not None:
            message = f"Only a participant's token has a team. Leave `team` out for role {self.role!r}."
            raise InvalidRequest.at("body.team", "unexpected", message)
        require_future(self.expires_at, now)


def require_future(expires_at: datetime | None, now: datetime) -> None:
    """Raise InvalidRequest for a token that would never be valid."""
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest.at(
            "body.expires_at",
            "past",
            f"The token would have expired already at {expires_at.isoformat()}. Give a later time.",
        )


def create(workspace: Workspace, principal: Principal, name: str, wish: Wish) -> IssuedToken:
    """Create a token for the collection. A participant's team is created if it is missing."""
    now = workspace.now()
    wish.check(now)
    token = new_token(workspace)
    with changing(workspace, principal, name) as (tx, view):
        record = tokens.create(
            tx,
            tokens.digest(token),
            now,
            role=wish.role,
            collection_id=view.collection.id,
            team_id=teams.ensure(tx, view, wish.team, now).id if wish.team else None,
            expires_at=wish.expires_at,
            holder=wish.holder,
        )
        _record(tx, view, "token-created", record, expires_at=wish.expires_at)
    return IssuedToken(record, token)


def _record(tx: Transaction, view: View, action: Action, token: Token, **details: Any) -> None:
    of_team = {"of_team": token.team} if token.team else {}
    audit.record(tx, view.principal, action, token.id, view.collection, of_role=token.role, **of_team, **details)


def list_tokens(workspace: Workspace, principal: Principal, name: str, after: str | None, limit: int) -> list[Token]:
    """List the collection's tokens, with revoked ones."""
    with organising(workspace, principal, name) as (tx, view):
        return tokens.page(tx, view.collection.id, after=after, limit=limit)


def find_token(workspace: Workspace, principal: Principal, name: str, identity: str) -> Token:
    """Return one token of the collection. Raise NotFound if it has none with this id."""
    with workspace.database.reading() as tx:
        return _find(tx, open_collection(tx, principal, name), identity)


def find_live(workspace: Workspace, principal: Principal, name: str, identity: str) -> Token:
    """Return one token of the collection that can be rotated. Raise NotFound, or Conflict as `rotate` does."""
    token = find_token(workspace, principal, name, identity)
    _require_live(token, workspace.now())
    return token


def _find(tx: Transaction, view: View, identity: str) -> Token:
    view.require_organiser()
    token = tokens.find_by_id(tx, view.collection.id, identity) if is_slug(identity) else None
    if token is None:
        raise NotFound(f"{view.collection.name!r} has no token with the id {identity!r}.")
    return token


def rotate(
    workspace: Workspace, principal: Principal, name: str, identity: str, **expiry: datetime | None
) -> IssuedToken:
    """Replace the secret of a token; the rest stays the same, except `expires_at` if it is given.

    The old secret ends at once. Raise Conflict for a token that is revoked or has expired.
    """
    now = workspace.now()
    require_future(expiry.get("expires_at"), now)
    secret = new_token(workspace)
    with workspace.database.writing() as tx:
        view = open_locked(tx, principal, name)
        before = _find(tx, view, identity)
        _require_live(before, now)
        # An invitation becomes the token that it promised, which does not end as invitations do.
        accepted = {"origin": "created", "expires_at": None} if before.is_invitation else {}
        token = tokens.rotate(tx, before.id, secret, **accepted | expiry)
        _record(tx, view, "token-rotated", token, **expiry)
    return IssuedToken(token, secret)


def _require_live(token: Token, now: datetime) -> None:
    if token.revoked_at is not None:
        raise Conflict(f"The token was revoked at {token.revoked_at:%Y-%m-%dT%H:%M:%SZ} for good. Create a new one.")
    if token.expires_at is not None and token.expires_at <= now:
        raise Conflict(f"The token expired at {token.expires_at:%Y-%m-%dT%H:%M:%SZ}. Create a new one.")


def revoke(workspace: Workspace, principal: Principal, name: str, identity: str) -> None:
    """Revoke a token of the collection, with its open invitations. Raise NotFound if it has none with this id."""
    with workspace.database.writing() as tx:
        view = open_locked(tx, principal, name)
        token = _find(tx, view, identity)
        if token.revoked_at is None:
            now = workspace.now()
            tokens.revoke(tx, identity, now)
            _record(tx, view, "token-revoked", token)
            end_invitations_by(tx, view.principal, identity, now)

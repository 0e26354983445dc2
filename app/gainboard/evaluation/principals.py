"""Who is asking: the principal behind a bearer token."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gainboard.errors import DatabaseBusy, Forbidden, NotAuthenticated
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.store import tokens
from gainboard.store.records import Token

TOKEN_PREFIX = "gainboard_"
USE_NOTED_EVERY = timedelta(minutes=1)
USES: Cache[str, datetime] = Cache(10_000)
"""When this process last noted that a token was used, by its id."""


NO_TOKEN = "Send a token: `Authorization: Bearer gainboard_...`."


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends a request: a token that has yet to be looked up, or None and the reason."""

    token: str | None = None
    why_anonymous: str = NO_TOKEN


@dataclass(frozen=True, slots=True)
class Principal:
    """A role, and what it is confined to: a collection (unless organiser of the instance) and a team."""

    role: Literal["anonymous", "reader", "participant", "organiser"]
    token: Token | None = None
    why_anonymous: str = NO_TOKEN

    @property
    def organises_instance(self) -> bool:
        """Whether this is an organiser of every collection, who alone creates them."""
        return self.role == "organiser" and self.collection_id is None

    @property
    def collection_id(self) -> int | None:
        """The one collection that the token belongs to."""
        return self.token.collection_id if self.token else None

    @property
    def team_id(self) -> int | None:
        """The one team that the token belongs to."""
        return self.token.team_id if self.token else None

    def require_token(self) -> Token:
        """The token; raises NotAuthenticated where there is no valid one."""
        if self.token is None:
            raise NotAuthenticated(self.why_anonymous)
        return self.token

    def require_instance_organiser(self) -> None:
        """For what only organisers of the instance do."""
        self.require_token()
        if not self.organises_instance:
            raise Forbidden("Only organisers of the instance may do this.")


def new_token() -> str:
    """256 random bits behind a prefix by which a leaked token is recognised."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def authenticate(workspace: Workspace, sender: Sender) -> Principal:
    """The principal behind a token. Without a valid one it is anonymous, and says why should that not suffice."""
    found = None
    if sender.token is not None:
        with workspace.database.reading() as tx:
            found = tokens.find(tx, sender.token)
    principal = behind(sender, found, workspace.now())
    note_use(workspace, principal)
    return principal


def behind(sender: Sender, found: Token | None, now: datetime) -> Principal:
    """Return who sends a request, by the record of the token that it came with; None: there is no such record."""
    if sender.token is None:
        return Principal("anonymous", why_anonymous=sender.why_anonymous)
    return holder(found, now)


def holder(found: Token | None, now: datetime) -> Principal:
    """Return the principal who holds the token of this record; anonymous if there is none, or if it is not valid."""
    if found is None:
        return Principal("anonymous", why_anonymous="The token is not known here.")
    if found.revoked_at is not None:
        return Principal("anonymous", why_anonymous="The token was revoked.")
    if found.expires_at is not None and found.expires_at <= now:
        return Principal("anonymous", why_anonymous=f"The token expired at {found.expires_at:%Y-%m-%dT%H:%M:%SZ}.")
    return Principal(found.role, found)


def is_use_noted(workspace: Workspace, token: Token) -> bool:
    """Whether it has been noted, by whichever process, that the token was used about now."""
    noted = (token.last_used_at, USES.of(workspace).find(token.id))
    return any(time is not None and workspace.now() - time < USE_NOTED_EVERY for time in noted)


def note_use(workspace: Workspace, principal: Principal) -> None:
    """Notes that the principal's token is used, outside of transactions, unless that was done lately."""
    token = principal.token
    if token is None or is_use_noted(workspace, token):
        return
    # Worth knowing, and worth nobody's waiting: where the database is busy it is left for another minute.
    now = workspace.now()
    USES.of(workspace).keep(token.id, now)
    with suppress(DatabaseBusy), workspace.database.hurrying() as tx:
        tokens.note_use(tx, token.id, now, before=now - USE_NOTED_EVERY)

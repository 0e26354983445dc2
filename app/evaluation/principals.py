"""Who is asking: the principal behind a bearer token."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from typing import Literal

from app.errors import NotAuthenticated
from app.evaluation.workspace import Workspace
from app.store import tokens
from app.store.database import exclude_others
from app.store.records import Token

log = logging.getLogger("gainboard")

TOKEN_PREFIX = "gainboard_"


@dataclass(frozen=True, slots=True)
class Principal:
    """A role, and what it is confined to: a collection (unless organiser of the instance) and a team."""

    role: Literal["anonymous", "reader", "participant", "organiser"]
    token: Token | None = None
    why_anonymous: str = "Send a token: `Authorization: Bearer gainboard_...`."

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


def new_token() -> str:
    """256 random bits behind a prefix by which a leaked token is recognised."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def authenticate(workspace: Workspace, token: str | None) -> Principal:
    """The principal behind a token. Without a valid one it is anonymous, and says why should that not suffice."""
    if token is None:
        return Principal("anonymous")
    with workspace.database.reading() as tx:
        found = tokens.find(tx, token)
    if found is None:
        return Principal("anonymous", why_anonymous="The token is not known here.")
    if found.revoked_at is not None:
        return Principal("anonymous", why_anonymous="The token was revoked.")
    if found.expires_at is not None and found.expires_at <= workspace.now():
        return Principal("anonymous", why_anonymous=f"The token expired at {found.expires_at:%Y-%m-%dT%H:%M:%SZ}.")
    return Principal(found.role, found)


def ensure_organiser(workspace: Workspace, admin_token: str | None) -> str | None:
    """Makes sure that somebody can organise the instance.

    `admin_token` (from the environment) becomes an organiser's token, in place of an earlier value. Without it,
    and with no organiser in the database, a token is made and returned, for the caller to show once.
    """
    with workspace.database.writing() as tx:
        exclude_others(tx)
        if admin_token is not None:
            if tokens.replace_environment_token(tx, admin_token, workspace.now()):
                log.warning("the admin token was replaced; the one before it is no longer valid")
            return None
        if tokens.instance_organisers(tx):
            return None
        made = new_token()
        tokens.create(tx, made, workspace.now(), role="organiser", origin="first-start")
        return made

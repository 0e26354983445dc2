"""Organisers of the instance: the tokens that govern every collection, and the token of a first start."""

from __future__ import annotations

import logging
from datetime import datetime

from gainboard.errors import Conflict, NotFound
from gainboard.evaluation import audit
from gainboard.evaluation.access.invitations import end_invitations_by
from gainboard.evaluation.access.principals import Principal, new_token
from gainboard.evaluation.access.tokens import IssuedToken, require_future
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug
from gainboard.store import tokens
from gainboard.store.database import Transaction, exclude_others
from gainboard.store.records import Token

log = logging.getLogger("gainboard")


def ensure_organiser(workspace: Workspace, admin_token: str | None) -> str | None:
    """Make sure that the instance has an organiser.

    `admin_token` (from the environment) becomes an organiser's token and replaces an earlier value. Without it, and
    without an organiser in the database, a token is created and returned. The caller shows it once.
    """
    with workspace.database.writing() as tx:
        # Of several servers that start on an empty database at once, only one may make the first token.
        exclude_others(tx)
        if admin_token is not None:
            done = tokens.replace_environment_token(tx, admin_token, workspace.now())
            if done.is_new:
                audit.record(tx, None, "admin-token-set", done.record.id, None, replaced=done.replaced)
            if done.replaced:
                log.warning("the admin token was replaced; the previous one is no longer valid")
            return None
        if tokens.live_organisers(tx, workspace.now()):
            return None
        token = new_token(workspace)
        record = tokens.create(tx, tokens.digest(token), workspace.now(), role="organiser", origin="first-start")
        audit.record(tx, None, "first-token-made", record.id, None)
        return token


def create(workspace: Workspace, principal: Principal, holder: str | None, expires_at: datetime | None) -> IssuedToken:
    """Create a token for another organiser of the instance."""
    principal.require_instance_organiser()
    now = workspace.now()
    require_future(expires_at, now)
    token = new_token(workspace)
    with workspace.database.writing() as tx:
        record = tokens.create(tx, tokens.digest(token), now, role="organiser", expires_at=expires_at, holder=holder)
        audit.record(tx, principal, "token-created", record.id, None, of_role="organiser", expires_at=expires_at)
    return IssuedToken(record, token)


def list_organisers(workspace: Workspace, principal: Principal, after: str | None, limit: int) -> list[Token]:
    """List the tokens of the instance's organisers, with revoked ones."""
    principal.require_instance_organiser()
    with workspace.database.reading() as tx:
        return tokens.page(tx, None, after=after, limit=limit)


def find_organiser(workspace: Workspace, principal: Principal, identity: str) -> Token:
    """Return one organiser's token. Raise NotFound."""
    principal.require_instance_organiser()
    with workspace.database.reading() as tx:
        return _find(tx, identity)


def _find(tx: Transaction, identity: str) -> Token:
    token = tokens.find_by_id(tx, None, identity) if is_slug(identity) else None
    if token is None:
        raise NotFound(f"No organiser of the instance has the token id {identity!r}. GET /v1/tokens lists all ids.")
    return token


def revoke(workspace: Workspace, principal: Principal, identity: str) -> None:
    """Revoke a token for good, with its open invitations.

    Raise Conflict for the environment's token, and for the last valid one.
    """
    principal.require_instance_organiser()
    now = workspace.now()
    with workspace.database.writing() as tx:
        # Of two requests that revoke the last two tokens, one must fail.
        exclude_others(tx)
        token = _find(tx, identity)
        if token.revoked_at is not None:
            return
        if token.origin == "environment":
            raise Conflict(
                "This is the admin token of the environment. To replace it, start the service with another value of "
                "GAINBOARD_ADMIN_TOKEN."
            )
        if tokens.live_organisers(tx, now) == [token.id]:
            raise Conflict("This is the last valid token of an organiser of the instance. Create another one first.")
        tokens.revoke(tx, token.id, now)
        audit.record(tx, principal, "token-revoked", token.id, None, of_role="organiser")
        end_invitations_by(tx, principal, token.id, now)

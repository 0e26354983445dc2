"""Sessions of browsers: a secret in a cookie stands for a token, which browsers would otherwise have to keep."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from gainboard.errors import NotAuthenticated
from gainboard.evaluation.principals import Principal, Sender, authenticate
from gainboard.evaluation.workspace import Workspace
from gainboard.store import sessions

LIFETIME = timedelta(hours=12)


@dataclass(frozen=True)
class Session:
    """A session that holds: its principal, and a sender for use cases that look up the token themselves."""

    secret: str
    sender: Sender
    principal: Principal

    @property
    def csrf(self) -> str:
        """A text that only pages of this session know. It is made of the secret, so nothing needs to be stored."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def sign_in(workspace: Workspace, token: str) -> Session:
    """Begin a session of 12 hours. Raise NotAuthenticated, with the reason, for a token that is not valid."""
    sender = Sender.of(token)
    principal = authenticate(workspace, sender)
    secret = secrets.token_urlsafe(32)
    assert sender.hash is not None
    with workspace.database.writing() as tx:
        sessions.create(tx, secret, sender.hash, workspace.now() + LIFETIME, workspace.now())
    return Session(secret, sender, principal)


def resume(workspace: Workspace, secret: str) -> Session | None:
    """Return the session; None if it has ended, or if its token has: expired, revoked or replaced."""
    with workspace.database.reading() as tx:
        token_hash = sessions.find(tx, secret, workspace.now())
    if token_hash is None:
        return None
    sender = Sender(token_hash)
    try:
        return Session(secret, sender, authenticate(workspace, sender))
    except NotAuthenticated:
        return None


def sign_out(workspace: Workspace, secret: str) -> None:
    """End the session."""
    with workspace.database.writing() as tx:
        sessions.end(tx, secret)

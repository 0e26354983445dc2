"""Sessions of browsers: a secret in a cookie stands for a token, which browsers would otherwise have to keep."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from gainboard.errors import NotAuthenticated, Unavailable
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import USE_NOTED_EVERY, Principal, Sender, authenticate
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, tokens
from gainboard.store.database import Transaction
from gainboard.store.tokens import Past, StoredSession
from gainboard.vocabulary import Action

LIFETIME = timedelta(hours=12)
IDLE = timedelta(hours=2)
"""The time without a use after which a session ends."""
MOST = 10
"""The most sessions of one token."""


@dataclass(frozen=True)
class Session:
    """A session that holds: its principal, and a sender for use cases that look up the token themselves."""

    secret: str
    stored: StoredSession
    principal: Principal

    @property
    def sender(self) -> Sender:
        return Sender(self.stored.token_hash)

    @property
    def csrf(self) -> str:
        """A text that only pages of this session know. It is made of the secret, so nothing needs to be stored."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def sign_in(workspace: Workspace, sender: Sender, before: Session | None = None) -> Session:
    """Begin a session, and end the one that this browser had `before`, and the oldest of the token if it has 10.

    Raise NotAuthenticated, with the reason, for a token that is not valid.
    """
    try:
        principal = authenticate(workspace, sender)
    except NotAuthenticated:
        # A token that has ended has an entry. One that nobody knows has no id, so there is none.
        with workspace.database.reading() as tx:
            token = tokens.find(tx, sender.hash or "")
        if token is not None:
            why = "revoked" if token.revoked_at else "expired"
            with workspace.database.writing() as tx:
                _record(tx, Principal(token.role, token), "sign-in-refused", why=why)
        raise
    secret, now = workspace.database.machine.new_secret(), workspace.now()
    assert sender.hash is not None
    with workspace.database.writing() as tx:
        # Two sign-ins at once would each see one place left for a session, and both take it.
        tokens.lock_sessions(tx, sender.hash)
        tokens.forget_sessions(tx, _past(now))
        if before is not None:
            _end(tx, before.principal, [before.stored.id])
        # One place is for the new session.
        _end(tx, principal, [older.id for older in tokens.sessions_of(tx, sender.hash, _past(now))[MOST - 1 :]])
        stored = tokens.create_session(tx, secret, sender.hash, now)
        _record(tx, principal, "signed-in")
    return Session(secret, stored, principal)


def _past(now: datetime) -> Past:
    return Past(now - LIFETIME, now - IDLE)


def _record(tx: Transaction, principal: Principal, action: Action, **details: str | int) -> None:
    token = principal.require_token()
    collection = collections.of_id(tx, token.collection_id) if token.collection_id is not None else None
    audit.record(tx, principal, action, token.id, collection, **details)


def _end(tx: Transaction, principal: Principal, identities: Collection[str]) -> None:
    if ended := tokens.end_sessions(tx, identities):
        _record(tx, principal, "signed-out", sessions=ended)


def resume(workspace: Workspace, secret: str, *, is_use: bool) -> Session | None:
    """Return the session; None if it has ended, or if its token has: expired, revoked or replaced.

    `is_use` says whether the session was used now, and not only asked about.
    """
    now = workspace.now()
    with workspace.database.reading() as tx:
        stored = tokens.find_session(tx, secret, _past(now))
    if stored is None:
        return None
    try:
        # A session lasts no longer than its token, so the token is looked up each time.
        principal = authenticate(workspace, Sender(stored.token_hash))
    except NotAuthenticated:
        return None
    before = now - USE_NOTED_EVERY
    if is_use and stored.used_at <= before:
        # No request waits for the note: if the database is busy, the next use is noted.
        with suppress(Unavailable), workspace.database.hurrying() as tx:
            tokens.note_session_use(tx, stored.id, now, before=before)
    return Session(secret, stored, principal)


def list_sessions(workspace: Workspace, session: Session) -> list[StoredSession]:
    """List the sessions of the session's token, newest first."""
    with workspace.database.reading() as tx:
        return tokens.sessions_of(tx, session.stored.token_hash, _past(workspace.now()))


def sign_out(workspace: Workspace, session: Session, identities: Collection[str]) -> None:
    """End those sessions of the session's token that have these ids. One that has ended already is no fault."""
    with workspace.database.writing() as tx:
        sessions = tokens.sessions_of(tx, session.stored.token_hash, _past(workspace.now()))
        _end(tx, session.principal, [stored.id for stored in sessions if stored.id in identities])

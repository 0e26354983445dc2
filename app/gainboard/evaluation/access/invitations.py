"""Invitations: a team or an organiser gets a link with a code, which whoever has it exchanges for a token, once.

An invitation is the record of a token that nobody has yet. Instead of a token's hash it has that of its code, which is
made another way, so that a code is no token. Its acceptance replaces the hash by that of a new token.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation import audit
from gainboard.evaluation.access import teams
from gainboard.evaluation.access.principals import Caller, Principal, Sender, new_token, note_failure
from gainboard.evaluation.access.sessions import Session, sign_in
from gainboard.evaluation.access.visibility import View, changing, organising
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import SLUG_RULE, is_slug
from gainboard.store import audit as audit_log
from gainboard.store import collections, tokens
from gainboard.store.database import Transaction
from gainboard.store.records import INVITED, Collection, Token

LIFETIME: Final = timedelta(days=14)
MOST_INVITED: Final = 200
"""The most teams in one request."""


@dataclass(frozen=True)
class Invitation:
    """An invitation that holds: the record of the token that it promises, and its collection."""

    record: Token
    collection: Collection


@dataclass(frozen=True)
class AcceptedInvitation:
    """A new token of a team or an organiser, and the session that begins with it."""

    token: str
    session: Session
    collection: Collection


def code_of(session: Session, identity: str) -> str:
    """Return the code of an invitation that this session has made.

    It follows from the session's secret, so it is stored nowhere, and the session can show it as long as it lasts.
    """
    code = hmac.digest(session.secret.encode(), f"invitation {identity}".encode(), "sha256")
    return urlsafe_b64encode(code[:24]).decode()


def _hashed(code: str) -> str:
    # No SHA-256, by which tokens are found: sent as a token, a code is unknown.
    return hashlib.blake2s(code.encode()).hexdigest()


def invite(workspace: Workspace, session: Session, name: str, wanted: Sequence[str]) -> None:
    """Invite teams, which are created if they are missing. An open invitation of a team ends with its next one.

    Raise InvalidRequest for names that no team can have.
    """
    if not 0 < len(wanted) <= MOST_INVITED:
        message = f"{len(wanted)} teams are named. Name at least one, and at most {MOST_INVITED}."
        raise InvalidRequest.at("body.teams", "bad-count", message)
    for team, count in Counter(wanted).items():
        if not is_slug(team):
            raise InvalidRequest.at("body.teams", "bad-name", f"{team!r} cannot be the name of a team ({SLUG_RULE}).")
        if count > 1:
            raise InvalidRequest.at("body.teams", "repeated-name", f"{team!r} is named twice. Name each team once.")
    now = workspace.now()
    with changing(workspace, session.principal, name) as (tx, view):
        here = view.collection.id
        for invitation in tokens.open_invitations(tx, here, now):
            if invitation.team in wanted:
                _end(tx, view.principal, view.collection, invitation, now)
        for team in wanted:
            _create(tx, session, view, now, role="participant", team_id=teams.ensure(tx, view, team, now).id)


def invite_organiser(workspace: Workspace, session: Session, name: str, holder: str) -> None:
    """Invite a person to organise the collection. `holder` is the note that tells organisers' tokens apart."""
    if not holder:
        raise InvalidRequest.at("body.holder", "missing", "Name the person: the list of tokens says whose each is.")
    with changing(workspace, session.principal, name) as (tx, view):
        _create(tx, session, view, workspace.now(), role="organiser", holder=holder)


def _create(tx: Transaction, session: Session, view: View, now: datetime, **values: Any) -> None:
    # The id is chosen here, because the code is made of it.
    identity, expires_at = tokens.new_id(tx), now + LIFETIME
    hashed = _hashed(code_of(session, identity))
    values |= {"identity": identity, "origin": INVITED, "collection_id": view.collection.id, "expires_at": expires_at}
    details = _describe(tokens.create(tx, hashed, now, **values)) | {"expires_at": expires_at, "invited": True}
    audit.record(tx, view.principal, "token-created", identity, view.collection, **details)


def _describe(record: Token) -> dict[str, Any]:
    """Return what the audit log says of a token: its role, and its team if it has one."""
    return {"of_role": record.role} | ({"of_team": record.team} if record.team else {})


def _end(tx: Transaction, principal: Principal, collection: Collection, invitation: Token, now: datetime) -> None:
    tokens.revoke(tx, invitation.id, now)
    audit.record(tx, principal, "token-revoked", invitation.id, collection, **_describe(invitation))


def end_invitations_by(tx: Transaction, principal: Principal, inviter: str, now: datetime) -> None:
    """End the open invitations that a token made, wherever: whoever had it would still get in through them."""
    for here, identity in audit_log.subjects_by(tx, "token-created", inviter):
        for invitation in tokens.open_invitations(tx, here, now):
            if invitation.id == identity:
                _end(tx, principal, collections.of_id(tx, here), invitation, now)


def list_invitations(workspace: Workspace, session: Session, name: str) -> list[tuple[Token, str | None]]:
    """Return the open invitations of a collection by team, each with its code if this session has made it."""
    with organising(workspace, session.principal, name) as (tx, view):
        invitations = tokens.open_invitations(tx, view.collection.id, workspace.now())
        codes = [code_of(session, invitation.id) for invitation in invitations]
        # A code that another session would have made has another hash, so nothing is found by it.
        shown_codes = [code if tokens.find(tx, _hashed(code)) else None for code in codes]
        return list(zip(invitations, shown_codes, strict=True))


def look_at(workspace: Workspace, code: str, caller: Caller) -> Invitation:
    """Return the invitation with this code, which stays as it is.

    Raise NotFound if there is none, or none any more, and TooManyFailures for an address that has sent many such codes.
    """
    with workspace.database.reading() as tx:
        record = tokens.find(tx, _hashed(code))
        if record is not None and record.collection_id is not None and record.is_live(workspace.now()):
            collection = collections.of_id(tx, record.collection_id)
            if collection.deleted_at is None:
                return Invitation(record, collection)
    note_failure(workspace, caller.address)
    # Whoever has the code had the link. After its use, nothing is found by the code.
    if record is None:
        what = "There is no such invitation: the link is not complete, or it was used already."
    elif record.revoked_at is not None:
        what = f"The organisers withdrew this invitation on {record.revoked_at:%Y-%m-%d at %H:%M} UTC."
    else:
        what = "This invitation has ended."
    raise NotFound(f"{what} Ask the organisers for a new one.")


def accept(workspace: Workspace, code: str, caller: Caller, before: Session | None = None) -> AcceptedInvitation:
    """Exchange the code for a token, and begin a session with it. Raise what `look_at` raises."""
    invitation, token = look_at(workspace, code, caller), new_token(workspace)
    with workspace.database.writing() as tx:
        # Somebody else may have used the link since the look at it, and a code gives one token only.
        if not tokens.exchange(tx, invitation.record.id, token):
            raise NotFound("The invitation was used in the meantime. Ask the organisers for a new one.")
        principal = Principal(invitation.record.role, tokens.of_id(tx, invitation.record.id))
        details = _describe(invitation.record) | {"accepted": True}
        audit.record(tx, principal, "token-rotated", invitation.record.id, invitation.collection, **details)
    return AcceptedInvitation(token, sign_in(workspace, Sender.of(token), before), invitation.collection)

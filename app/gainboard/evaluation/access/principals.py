"""The principal behind a bearer token. Invalid tokens are counted by the address that sends them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from time import monotonic
from typing import Literal

from gainboard.errors import Forbidden, NotAuthenticated, TooManyFailures, Unavailable
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.store import tokens
from gainboard.store.database import may_take_long
from gainboard.store.records import Token

MOST_FAILURES, FAILURE_SECONDS = 20, 60
FAILURES: WorkspaceCache[str, tuple[float, ...]] = WorkspaceCache(10_000)
"""The times of the last failures, at most 20, by address."""
# To read the times and to add one must be one step.
_counting = Lock()


def note_failure(workspace: Workspace, address: str) -> None:
    """Count an invalid token. Raise TooManyFailures if the address has sent 20 others within a minute."""
    # By a clock that nobody can set back.
    failures, sender, now = FAILURES.of(workspace), _network(address), monotonic()
    with _counting:
        recent = tuple(time for time in failures.find(sender) or () if now - time < FAILURE_SECONDS)
        # Refused ones do not count, so an address is heard again a minute after the others, whatever it sends
        # meanwhile.
        if len(recent) < MOST_FAILURES:
            failures.keep(sender, (*recent, now))
            return
    raise TooManyFailures(
        f"This address has sent {MOST_FAILURES} invalid tokens within a minute, and now another one. Check the token, "
        "and try again in a minute."
    )


def _network(address: str) -> str:
    """Return what one sender has: an address, or of IPv6 a network of 64 bits, in which each may choose addresses."""
    try:
        ip = ip_address(address)
    # A socket of this machine has no address.
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        # A socket for both versions shows IPv4 addresses as mapped ones, which would all be of one network.
        return str(ip.ipv4_mapped or ip_network((ip, 64), strict=False))
    return address


TOKEN_PREFIX = "gainboard_"
USE_NOTED_EVERY = timedelta(minutes=1)
USES: WorkspaceCache[str, datetime] = WorkspaceCache(10_000)
"""The time when this process last noted the use of a token, by the token's id."""


NO_TOKEN = "Send a token in the header `Authorization: Bearer gainboard_...`."


@dataclass(slots=True)
class Caller:
    """The address that a request comes from, and the id of its token once that is found, valid or not."""

    address: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request: the hash of a token that is not looked up yet, or None with the reason.

    With a caller, the token is one that the request itself has: its id is noted there, and a failure counts.
    """

    hash: str | None = None
    why_anonymous: str = NO_TOKEN
    caller: Caller | None = field(default=None, compare=False)

    @classmethod
    def of(cls, token: str, caller: Caller | None = None) -> Sender:
        """Return the sender of a request with this token."""
        return cls(tokens.digest(token), caller=caller)


@dataclass(frozen=True, slots=True)
class Principal:
    """A role and its limits: a collection (unless it organises the instance), and a team."""

    role: Literal["anonymous", "reader", "participant", "organiser"]
    token: Token | None = None
    why_anonymous: str = NO_TOKEN
    importing: str | None = None
    """The hidden name of the collection that this principal imports. Nobody else finds a collection by such a name."""

    @property
    def organises_instance(self) -> bool:
        """Return whether this is an organiser of every collection. Only these create collections."""
        return self.role == "organiser" and self.collection_id is None

    @property
    def collection_id(self) -> int | None:
        """The only collection of the token."""
        return self.token.collection_id if self.token else None

    @property
    def team_id(self) -> int | None:
        """The only team of the token."""
        return self.token.team_id if self.token else None

    def require_token(self) -> Token:
        """Return the token. Raise NotAuthenticated if there is no valid one."""
        if self.token is None:
            raise NotAuthenticated(self.why_anonymous)
        return self.token

    def require_instance_organiser(self) -> None:
        """Raise Forbidden unless the principal organises the instance."""
        self.require_token()
        if not self.organises_instance:
            raise Forbidden("Only organisers of the instance may do this. Use a token of theirs.")


def new_token(workspace: Workspace) -> str:
    """Return 256 random bits behind a prefix by which scanners recognise a leaked token."""
    return TOKEN_PREFIX + workspace.database.machine.new_secret()


def authenticate(workspace: Workspace, sender: Sender) -> Principal:
    """Return the principal behind a token; anonymous without one. Raise NotAuthenticated for one that is not valid."""
    token = None
    if sender.hash is not None:
        with workspace.database.reading() as tx:
            token = tokens.find(tx, sender.hash)
    principal = identify(workspace, sender, token)
    note_use(workspace, principal)
    return principal


def identify(workspace: Workspace, sender: Sender, token: Token | None) -> Principal:
    """Return the principal that sends a request, from the record of its token; None if there is no record.

    Raise NotAuthenticated for a token that is not valid, also where no token is needed: whoever sends one should not
    take what everybody sees for all that there is. Raise TooManyFailures after many such tokens.
    """
    if sender.hash is None:
        return Principal("anonymous", why_anonymous=sender.why_anonymous)
    principal = principal_of(token, workspace.now())
    if sender.caller is not None:
        sender.caller.token = token.id if token is not None else None
        if principal.token is None:
            # Only invalid tokens count, so a valid one passes whatever else comes from the same address.
            note_failure(workspace, sender.caller.address)
    principal.require_token()
    return principal


def principal_of(token: Token | None, now: datetime) -> Principal:
    """Return the principal with this token record; anonymous if there is none, or if it is not valid."""
    if token is None:
        return Principal(
            "anonymous",
            why_anonymous="This service does not know the token. Check that it is complete, and meant for this server.",
        )
    if token.revoked_at is not None:
        return Principal("anonymous", why_anonymous="The token was revoked. Ask an organiser for a new one.")
    if token.expires_at is not None and token.expires_at <= now:
        return Principal(
            "anonymous",
            why_anonymous=f"The token expired at {token.expires_at:%Y-%m-%dT%H:%M:%SZ}. Ask an organiser for a new "
            "one.",
        )
    return Principal(token.role, token)


def is_use_noted(workspace: Workspace, token: Token) -> bool:
    """Return whether any process has noted recently that the token was used."""
    # By another process, or by this one, even if its note failed: it tries again in a minute.
    noted = (token.last_used_at, USES.of(workspace).find(token.id))
    return any(time is not None and workspace.now() - time < USE_NOTED_EVERY for time in noted)


def note_use(workspace: Workspace, principal: Principal) -> None:
    """Note that the principal's token is used, outside of transactions, unless that was done recently."""
    token = principal.token
    if token is None or is_use_noted(workspace, token):
        return
    may_take_long()
    # The note is useful, but no request should wait for it: if the database is busy, it is tried again in a minute.
    now = workspace.now()
    USES.of(workspace).keep(token.id, now)
    with suppress(Unavailable), workspace.database.hurrying() as tx:
        tokens.note_use(tx, token.id, now, before=now - USE_NOTED_EVERY)

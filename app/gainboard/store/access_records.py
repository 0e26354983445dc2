"""The records of who may do what, and who did: teams, tokens and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gainboard.vocabulary import Role

INVITED: Final = "invited"
"""The origin of a token that a team was invited to, and that nobody has yet."""


@dataclass(frozen=True, slots=True)
class TeamRecord:
    """A participating team of one collection."""

    id: int
    collection_id: int
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """The record of a bearer token. Only the token's hash is stored, and even that does not leave the store."""

    id: str
    role: Role
    collection_id: int | None
    team_id: int | None
    team: str | None
    origin: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    holder: str | None
    last_used_at: datetime | None

    @property
    def is_invitation(self) -> bool:
        """True if nobody has the token yet: a team was invited, and has not accepted."""
        return self.origin == INVITED

    def is_live(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor expired: a valid token, or an open invitation."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class CountedTeam:
    """A team, with the numbers of its runs that are not withdrawn and of its valid tokens."""

    id: int
    name: str
    created_at: datetime
    runs: int
    tokens: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit log: its fields as in its export, and the hash of all other fields.

    `at` is the text that was hashed. `previous` is the hash of the entry before.
    """

    number: int
    at: str
    collection: str | None
    collection_uuid: str | None
    token: str | None
    role: str
    action: str
    subject: str
    details: dict[str, Any]
    previous: str
    hash: str

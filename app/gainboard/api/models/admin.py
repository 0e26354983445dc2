"""Tokens, teams, and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.common import Model, Page
from gainboard.notation.types import JsonBody, Slug, Text, Time
from gainboard.vocabulary import Action, Role


class NewToken(JsonBody):
    """The person or program that the token is for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "participant", "team": "lemur"}]})

    role: Role
    team: Slug | None = Field(None, description="The participant's team; a new name creates the team")
    holder: Text | None = Field(None, description="A note on who holds the token; only organisers see it")
    expires_at: Time | None = None


class Rotation(JsonBody):
    """The change that comes with the new secret: none, or another expiry time (null: the token does not expire)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    expires_at: Time | None = None


class TokenAnswer(Model):
    """A token's record. The service does not know the token itself."""

    id: str
    role: Role
    team: str | None
    holder: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute; an earlier time if the service was busy")
    is_invitation: bool = Field(
        False, description="Whether a team was invited to it and has not accepted: nobody has the token yet"
    )


class CreatedToken(TokenAnswer):
    """A new token. `token` is shown only this once."""

    token: str


class Me(Model):
    """The holder of this token: role, collection, team."""

    id: str
    role: Role
    collection: str | None = Field(description="The token's collection; null means every collection")
    team: str | None
    expires_at: datetime | None


class NewOrganiser(JsonBody):
    """Another organiser of the instance, who may do everything."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"holder": "R. Mokoena"}]})

    holder: Text | None = Field(None, description="A note on who holds the token")
    expires_at: Time | None = None


class OrganiserAnswer(Model):
    """The record of an organiser's token. The service does not know the token itself."""

    id: str
    role: Literal["organiser"]
    origin: str = Field(
        description="`environment` (GAINBOARD_ADMIN_TOKEN), `first-start`, or `created` by an organiser"
    )
    holder: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute; an earlier time if the service was busy")


class CreatedOrganiser(OrganiserAnswer):
    """A new organiser's token. `token` is shown only this once."""

    token: str


class NewTeam(JsonBody):
    """A team of the collection. The first run or token for a new team creates it, too."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "lemur"}]})

    name: Slug


class TeamAnswer(Model):
    """A team. Only organisers see its number of tokens; it is null for others."""

    name: str
    created_at: datetime
    runs: int = Field(description="Runs that are not withdrawn")
    tokens: int | None = Field(description="Tokens that are neither revoked nor expired")


class EntryAnswer(Model):
    """A change. `token` is the id of the token that made it; null: the service made it when it started."""

    number: int
    at: str = Field(description="RFC 3339, in UTC", examples=["2026-11-21T12:00:00.000000Z"])
    collection: str | None = Field(description="Null for changes to the instance")
    collection_uuid: str | None = Field(description="Unique, even if the collection's name is used again later")
    token: str | None
    role: str
    action: Action | str = Field(description="What was done; another text is of a later version, or of a changed row")
    subject: str = Field(description="The name, version or id of what was changed")
    details: dict[str, Any]
    previous: str = Field(description="The hash of the entry before it, in the chain of the whole instance")
    hash: str


class AuditPage(Page[EntryAnswer]):
    """A page of entries, oldest first."""

    verification: str = Field(description="How to check that no entry was changed")

"""Tokens of collections, and of organisers of the instance."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.api.models.texts import Slug, Text
from gainboard.notation.types import JsonBody, Time
from gainboard.store.records import Role


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


class ShownToken(Model):
    """A token's record. The service does not know the token itself."""

    id: str
    role: Role
    team: str | None
    holder: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute; an earlier time if the service was busy")


class CreatedToken(ShownToken):
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


class ShownOrganiser(Model):
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


class CreatedOrganiser(ShownOrganiser):
    """A new organiser's token. `token` is shown only this once."""

    token: str

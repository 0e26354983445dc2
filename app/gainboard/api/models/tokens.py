"""Tokens of collections, and of organisers of the instance."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.api.models.texts import Slug, Text, in_utc
from gainboard.store.records import Role

Expiry = Annotated[AwareDatetime | None, AfterValidator(in_utc)]


class NewToken(BaseModel):
    """Whom the token is for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "participant", "team": "lemur"}]}
    )

    role: Role
    team: Slug | None = Field(None, description="Of a participant; a new name creates the team")
    holder: Text | None = Field(None, description="Who holds it, in your words; shown to organisers alone")
    expires_at: Expiry = None


class Rotation(BaseModel):
    """What changes besides the secret: nothing, or when the token ends (null: it does not)."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}]})

    expires_at: Expiry = None


class ShownToken(Model):
    """A token's record; the token itself is not known to the service."""

    id: str
    role: Role
    team: str | None
    holder: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute, or an earlier time where the service was busy")


class CreatedToken(ShownToken):
    """A new token: `token` is shown this once."""

    token: str


class Me(Model):
    """Who the token is."""

    id: str
    role: Role
    collection: str | None = Field(description="The one it belongs to; null: every collection")
    team: str | None
    expires_at: datetime | None


class NewOrganiser(BaseModel):
    """A further organiser of the instance, who may do everything."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"holder": "R. Mokoena"}]})

    holder: Text | None = Field(None, description="Who holds it, in your words")
    expires_at: Expiry = None


class ShownOrganiser(Model):
    """The record of an organiser's token; the token itself is not known to the service."""

    id: str
    role: Literal["organiser"]
    origin: str = Field(description="`environment`: GAINBOARD_ADMIN_TOKEN; `first-start`; or `created` here")
    holder: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute, or an earlier time where the service was busy")


class CreatedOrganiser(ShownOrganiser):
    """A new organiser's token: `token` is shown this once."""

    token: str

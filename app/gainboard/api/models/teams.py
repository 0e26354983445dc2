"""Teams of a collection."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.api.models.texts import Slug
from gainboard.notation.types import JsonBody


class NewTeam(JsonBody):
    """A team of the collection. The first run or token for a new team creates it, too."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "lemur"}]})

    name: Slug


class ShownTeam(Model):
    """A team. Only organisers see its number of tokens; it is null for others."""

    name: str
    created_at: datetime
    runs: int = Field(description="Runs that are not withdrawn")
    tokens: int | None = Field(description="Tokens that are neither revoked nor expired")
